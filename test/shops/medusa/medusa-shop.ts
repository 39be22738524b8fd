import { execFile, spawn } from 'node:child_process';
import { openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../support/free-port.ts';
import { eventually, type RunningSandbox } from '../../support/running-sandbox.ts';
import { installedMedusa, readmeBlock } from './install.ts';
import { startPostgres } from './postgres.ts';
import { startServiceProxy, type ServiceProxy } from './service-proxy.ts';

const run = promisify(execFile);
const READY_MS = 240_000;
const ADMIN = { email: 'admin@shop.example', password: 'a-long-password' };

const JOB = `const path = require('node:path').join(
  require('node:path').dirname(require.resolve('@quittance/medusa')), 'jobs/compare-payments.js');
module.exports.default = ({ container }) => require(path).default(container);
`;

/** A call of the shop; throws unless the status is that expected. */
export type Call = <Answer = object>(method: string, path: string, body?: object, expected?: number) => Promise<Answer>;

export interface MedusaShop {
  readonly url: string;
  readonly proxy: ServiceProxy;
  readonly store: Call;
  readonly admin: Call;
  readonly channelId: string;
  readonly folder: string;
  /** Runs the comparing job once, in a Medusa of its own. */
  runJob(): Promise<void>;
  output(): string;
  stop(): Promise<void>;
}

/** The shop by the words of the README: its configuration with the parts that every shop has. */
export async function startMedusaShop(sandbox: RunningSandbox): Promise<MedusaShop> {
  const folder = installedMedusa();
  const postgres = await startPostgres();
  const proxy = await startServiceProxy(sandbox.facts.base_url);
  const port = await freePort();
  const { merchant } = sandbox.facts;
  const env = {
    ...process.env,
    NODE_ENV: 'production',
    PORT: String(port),
    DATABASE_URL: postgres.url,
    MEDUSA_DISABLE_TELEMETRY: 'true',
    QUITTANCE_URL: proxy.url,
    QUITTANCE_API_KEY: merchant.api_key,
    QUITTANCE_API_SECRET: merchant.api_secret,
    QUITTANCE_WEBHOOK_SECRET: merchant.webhook_secret,
  };
  writeFileSync(join(folder, 'medusa-config.js'), configuration());
  writeFileSync(join(folder, 'run-job.js'), JOB);
  // The proxy answers meanwhile.
  const medusa = (...args: string[]) =>
    run(process.execPath, [join(folder, 'node_modules/@medusajs/cli/cli.js'), ...args], { cwd: folder, env });
  await run('psql', [postgres.url.replace(/shop$/, 'postgres'), '-qc', 'create database shop']);
  console.log('  migrating the database of Medusa');
  await medusa('db:migrate', '--skip-scripts');
  await medusa('user', '-e', ADMIN.email, '-p', ADMIN.password);
  const logFile = join(folder, 'output.log');
  const log = openSync(logFile, 'w');
  const server = spawn(process.execPath, [join(folder, 'node_modules/@medusajs/cli/cli.js'), 'start'], {
    cwd: folder,
    env,
    stdio: ['ignore', log, log],
  });
  const output = (): string => readFileSync(logFile, 'utf8');
  const ended = new Promise<void>((done) => server.once('exit', () => done()));
  const url = `http://127.0.0.1:${port}`;
  const stop = async (): Promise<void> => {
    server.kill('SIGTERM');
    const late = setTimeout(() => server.kill('SIGKILL'), 10_000);
    await ended;
    clearTimeout(late);
    proxy.stop();
    postgres.stop();
  };
  try {
    await eventually(
      'Medusa is ready',
      async () => {
        if (server.exitCode !== null) throw new Error(`Medusa ended:\n${output().slice(-4_000)}`);
        return fetch(`${url}/health`).then(
          ({ ok }) => ok,
          () => false,
        );
      },
      READY_MS,
    );
    const calls = await callsOf(url);
    return {
      url,
      proxy,
      ...calls,
      folder,
      runJob: async () => void (await medusa('exec', './run-job.js')),
      output,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function configuration(): string {
  const project = `projectConfig: {
    databaseUrl: process.env.DATABASE_URL,
    databaseDriverOptions: { connection: { ssl: false } },
    http: { storeCors: '*', adminCors: '*', authCors: '*', jwtSecret: 'jwt', cookieSecret: 'cookie' },
  },
  admin: { disable: true },`;
  const written = readmeBlock('js', '// medusa-config.ts')
    .replace('// ...', project)
    .replace("resolve: '@medusajs/medusa/payment',\n      options: {", '$&\n        webhook_delay: 2500,');
  return `const { defineConfig } = require('@medusajs/framework/utils');\n${written}`;
}

interface Named {
  readonly id: string;
  readonly token: string;
}

const callsWith =
  (url: string, headers: Record<string, string>): Call =>
  async <Answer>(method: string, path: string, body?: object, expected = 200) => {
    const response = await fetch(url + path, {
      method,
      headers: { 'Content-Type': 'application/json', ...headers },
      ...(body === undefined ? undefined : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (response.status !== expected) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 600)}`);
    return (text.startsWith('{') ? JSON.parse(text) : { text }) as Answer;
  };

async function callsOf(url: string): Promise<Pick<MedusaShop, 'store' | 'admin' | 'channelId'>> {
  const { token } = await callsWith(url, {})<Named>('POST', '/auth/user/emailpass', ADMIN);
  const admin = callsWith(url, { Authorization: `Bearer ${token}` });
  const { api_key: key } = await admin<{ api_key: Named }>('POST', '/admin/api-keys', {
    title: 'shop',
    type: 'publishable',
  });
  const { sales_channel: channel } = await admin<{ sales_channel: Named }>('POST', '/admin/sales-channels', {
    name: 'shop',
  });
  await admin('POST', `/admin/api-keys/${key.id}/sales-channels`, { add: [channel.id] });
  return { admin, store: callsWith(url, { 'x-publishable-api-key': key.token }), channelId: channel.id };
}
