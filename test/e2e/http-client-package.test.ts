import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../support/http-api.ts';

const ROOT = join(import.meta.dirname, '../..');
const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
/** As `package.json` must have them. */
const EXPORTS = {
  './client': { types: './dist/client/client.d.ts', default: './dist/client/client.js' },
  './errors': { types: './dist/client/errors.d.ts', default: './dist/client/errors.js' },
  './signing': { types: './dist/client/signing.d.ts', default: './dist/client/signing.js' },
  './webhooks': { types: './dist/client/webhooks.d.ts', default: './dist/client/webhooks.js' },
};

const { exports: NAMED } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { exports?: Record<string, unknown> };

let project: string;
let service: TestServer;

/** What the compiler says of the project; empty when it has nothing to say. */
function compilerOutput(): string {
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.json'], { cwd: project, encoding: 'utf8' });
  return stdout;
}

beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), 'quittance-client-'));
  const installed = join(project, 'node_modules/quittance');
  mkdirSync(installed, { recursive: true });
  execFileSync(process.execPath, [tsc, '-p', join(ROOT, 'src/client/tsconfig.json'), '--outDir', join(installed, 'dist')], { stdio: 'inherit' });
  writeFileSync(join(installed, 'package.json'), JSON.stringify({ name: 'quittance', version: '0.0.0', type: 'module', exports: EXPORTS }));
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'shop', private: true, type: 'module' }));
  service = await startTestServer();
});
afterAll(async () => {
  rmSync(project, { recursive: true, force: true });
  await service?.close();
});

describe('the client as it is packed', () => {
  it.skipIf(NAMED === undefined)('has the entries that package.json names', () => expect(NAMED).toMatchObject(EXPORTS));

  it('runs in an empty project without any other package', async () => {
    writeFileSync(
      join(project, 'shop.mjs'),
      `import { createClient } from 'quittance/client';
import { NotFoundError } from 'quittance/errors';
import { verifyWebhook } from 'quittance/webhooks';
const quittance = createClient({ baseUrl: process.env.BASE, apiKey: process.env.KEY, apiSecret: process.env.SECRET });
const session = await quittance.sessions.create({ amount: '10.00', currency: 'USD', order_id: 'packed' });
const missing = await quittance.refunds.get('re_x').catch((error) => error instanceof NotFoundError);
const refused = await verifyWebhook('{}', {}, { secret: 's' }).catch((error) => error.name);
console.log(JSON.stringify([session.payment_status, missing, refused]));`,
    );
    const env = { PATH: process.env.PATH, BASE: service.base, KEY: service.key.apiKey, SECRET: service.key.secret };
    const { stdout } = await promisify(execFile)(process.execPath, ['shop.mjs'], { cwd: project, env });
    expect(JSON.parse(stdout)).toEqual(['unpaid', true, 'WebhookVerificationError']);
  });

  it('imports nothing but its own files and the web platform', () => {
    const sources = ['client', 'webhooks', 'transport', 'signing', 'errors'].map((name) =>
      readFileSync(join(project, `node_modules/quittance/dist/client/${name}.js`), 'utf8'),
    );
    for (const source of sources) {
      const imports = [...source.matchAll(/from '([^']+)'/g)].map((match) => match[1]!);
      expect(imports.filter((name) => !/^\.\/\w+\.js$/.test(name))).toEqual([]);
      expect(source).not.toMatch(/\b(process|Buffer|require|__dirname)\b/);
    }
  });

  it.each(['nodenext', 'bundler'])('has types that a strict project can use with %s resolution', (resolution) => {
    cpSync(join(ROOT, 'node_modules/zod'), join(project, 'node_modules/zod'), { recursive: true });
    writeFileSync(
      join(project, 'shop.ts'),
      `import { createClient, type PaymentSession } from 'quittance/client';
import { verifyWebhook } from 'quittance/webhooks';
const quittance = createClient({ baseUrl: 'https://pay.example', apiKey: 'k', apiSecret: 's' });
export const session: PaymentSession = await quittance.sessions.create({ amount: '10.00', currency: 'USD', order_id: 'o' });
export const address: string | undefined = session.payment_options[0]?.address;
for await (const refund of quittance.refunds.all({ status: 'COMPLETED' })) console.log(refund.tx_hash satisfies string | null);
const event = await verifyWebhook('{}', new Headers(), { secret: 's' });
if (event.type === 'payment.completed') console.log(event.data.object.order_id satisfies string);
// @ts-expect-error a number is no amount
void quittance.sessions.create({ amount: 10, currency: 'USD', order_id: 'o' });
// @ts-expect-error no such field
void quittance.sessions.create({ amount: '10', currency: 'USD', order_id: 'o', colour: 'red' });
// @ts-expect-error no such status
void quittance.refunds.page({ status: 'LOST' });
`,
    );
    const module = resolution === 'bundler' ? 'esnext' : 'nodenext';
    const compilerOptions = {
      noEmit: true,
      strict: true,
      target: 'es2022',
      lib: ['es2023', 'dom', 'dom.iterable'],
      module,
      moduleResolution: resolution,
      types: [],
      skipLibCheck: true,
    };
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['shop.ts'] }));
    expect(compilerOutput()).toBe('');
  });
});
