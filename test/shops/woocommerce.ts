import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../support/free-port.ts';
import { REPOSITORY } from '../support/repository.ts';
import { eventually, type RunningSandbox } from '../support/running-sandbox.ts';
import { openGate } from './gate.ts';
import type { Shop } from './shop.ts';
import { woocommerceCases } from './woocommerce/cases.ts';

const PLUGIN = join(REPOSITORY, 'plugins/woocommerce');
const REQUEST = join(import.meta.dirname, 'woocommerce/shop.php');
const NEEDED = ['php', 'mariadbd', 'mariadb-install-db', 'zip', 'unzip'];

/** A WordPress with WooCommerce from `WORDPRESS_DIR`, with Debian's PHP and MariaDB. */
export const woocommerce: Shop = {
  name: 'woocommerce',
  missing() {
    const folder = process.env['WORDPRESS_DIR'];
    if (folder === undefined || !existsSync(join(folder, 'wp-content/plugins/woocommerce')))
      return 'WORDPRESS_DIR must name a folder with WordPress and WooCommerce';
    const absent = NEEDED.filter((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0);
    return absent.length === 0 ? null : `${absent.join(', ')} must be in the path`;
  },
  async start(sandbox) {
    const folder = mkdtempSync(join(tmpdir(), 'quittance-woocommerce-'));
    const site = join(folder, 'wordpress');
    const host = `127.0.0.1:${await freePort()}`;
    const gate = await openGate(sandbox.facts.base_url);
    const processes = [await startDatabase(folder)];
    async function ask<Answer>(command: string, input: object = {}): Promise<Answer> {
      const options = { env: { ...process.env, SHOP_HOST: host }, maxBuffer: 16 * 1024 * 1024 };
      const { stdout } = await promisify(execFile)('php', [REQUEST, site, command, JSON.stringify(input)], options);
      return JSON.parse(stdout.trim().split('\n').at(-1)!) as Answer;
    }
    cpSync(process.env['WORDPRESS_DIR']!, site, { recursive: true, dereference: true });
    writeFileSync(join(site, 'wp-config.php'), configuration(folder, host));
    rmSync(join(site, 'wp-content/plugins/quittance'), { recursive: true, force: true });
    await ask('install');
    await ask('activate', { plugin: 'woocommerce/woocommerce.php' });
    console.log(`  WooCommerce ${await ask<string>('tables')}`);
    processes.push(await serve(site, host));
    await followTheReadme(folder, site, host, sandbox, gate.url, ask);
    return {
      cases: woocommerceCases({ ask, gate, facts: sandbox.facts }),
      async stop() {
        for (const one of processes.toReversed()) await ended(one);
        await gate.stop();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  },
};

/** "Install" of the plugin's README, its commands to the letter but for names of hosts, folders and ids. */
async function followTheReadme(
  folder: string,
  site: string,
  host: string,
  sandbox: RunningSandbox,
  serviceUrl: string,
  ask: (command: string, input?: object) => Promise<unknown>,
): Promise<void> {
  const blocks = [...readFileSync(join(PLUGIN, 'README.md'), 'utf8').matchAll(/```sh\n([\s\S]*?)```/g)].map(
    ([, text = '']) => text,
  );
  const run = (part: string): void => {
    const command = blocks.find((text) => text.includes(part));
    if (command === undefined) throw new Error(`no command of the README has ${part}`);
    const ours = command
      .replaceAll('/tmp/quittance.zip', join(folder, 'quittance.zip'))
      .replaceAll('https://shop.example', `http://${host}`)
      .replaceAll('mer_...', sandbox.facts.merchant.id)
      .replaceAll('npx quittance', `${process.execPath} bin/quittance.mjs`);
    const options = { cwd: REPOSITORY, env: { ...process.env, DATA_DIR: sandbox.dataDir }, encoding: 'utf8' } as const;
    const { status, stderr } = spawnSync('sh', ['-c', ours], options);
    if (status !== 0) throw new Error(`${part}: ${stderr}`);
  };
  run('zip -r');
  spawnSync('unzip', ['-q', join(folder, 'quittance.zip'), '-d', join(site, 'wp-content/plugins/quittance')]);
  await ask('activate', { plugin: 'quittance/quittance.php' });
  await ask('option', {
    name: 'woocommerce_quittance_settings',
    value: {
      enabled: 'yes',
      mode: 'test',
      test_base_url: serviceUrl,
      test_api_key: sandbox.facts.merchant.api_key,
      test_api_secret: sandbox.facts.merchant.api_secret,
      test_webhook_secret: sandbox.facts.merchant.webhook_secret,
    },
  });
  run('webhook set');
}

function configuration(folder: string, host: string): string {
  const salts = ['AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY'].flatMap((name) => [
    name,
    name.replace('KEY', 'SALT'),
  ]);
  return `<?php
define( 'DB_NAME', 'shop' ); define( 'DB_USER', 'root' ); define( 'DB_PASSWORD', '' );
define( 'DB_HOST', 'localhost:${join(folder, 'db.sock')}' ); define( 'DB_CHARSET', 'utf8mb4' ); define( 'DB_COLLATE', '' );
define( 'WP_HOME', 'http://${host}' ); define( 'WP_SITEURL', 'http://${host}' );
${salts.map((name) => `define( '${name}', 'of a test' );`).join('\n')}
define( 'WP_HTTP_BLOCK_EXTERNAL', true ); define( 'WP_ACCESSIBLE_HOSTS', '127.0.0.1' ); define( 'DISABLE_WP_CRON', true );
define( 'WP_DEBUG', true ); define( 'WP_DEBUG_DISPLAY', false ); define( 'WP_DEBUG_LOG', '${join(folder, 'debug.log')}' );
$table_prefix = 'wp_';
defined( 'ABSPATH' ) || define( 'ABSPATH', __DIR__ . '/' );
require_once ABSPATH . 'wp-settings.php';
`;
}

async function startDatabase(folder: string): Promise<ChildProcess> {
  const data = join(folder, 'db');
  const socket = join(folder, 'db.sock');
  const made = spawnSync('mariadb-install-db', [
    '--no-defaults',
    `--datadir=${data}`,
    '--auth-root-authentication-method=normal',
  ]);
  if (made.status !== 0) throw new Error(`mariadb-install-db: ${String(made.stderr)}`);
  const child = spawn(
    'mariadbd',
    ['--no-defaults', `--datadir=${data}`, `--socket=${socket}`, '--skip-networking', '--skip-log-bin', '--user=root'],
    { stdio: 'ignore' },
  );
  await eventually('the database', async () => {
    const made = spawnSync('mariadb', ['-uroot', '-S', socket, '-e', 'CREATE DATABASE IF NOT EXISTS shop']);
    return Promise.resolve(made.status === 0);
  });
  return child;
}

/** PHP's own server, with the pretty addresses that WordPress expects. */
async function serve(site: string, host: string): Promise<ChildProcess> {
  await promisify(execFile)('php', [
    '-r',
    `$_SERVER['HTTP_HOST'] = '${host}'; $_SERVER['REQUEST_URI'] = '/'; require '${site}/wp-load.php'; update_option( 'permalink_structure', '/%postname%/' ); flush_rewrite_rules();`,
  ]);
  const router = join(site, 'router.php');
  writeFileSync(
    router,
    `<?php $path = parse_url( $_SERVER['REQUEST_URI'], PHP_URL_PATH ); if ( '/' !== $path && is_file( __DIR__ . $path ) ) { return false; } $_SERVER['SCRIPT_NAME'] = '/index.php'; require __DIR__ . '/index.php';`,
  );
  const child = spawn('php', ['-S', host, '-t', site, router], {
    stdio: 'ignore',
    env: { ...process.env, PHP_CLI_SERVER_WORKERS: '6' },
    detached: true,
  });
  await eventually('the shop', async () =>
    fetch(`http://${host}/wp-json/`).then(
      (answer) => answer.ok,
      () => false,
    ),
  );
  return child;
}

async function ended(child: ChildProcess): Promise<void> {
  const gone = new Promise((done) => child.once('exit', done));
  // The server's workers are processes of its group.
  if (child.spawnfile === 'php' && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
  else child.kill('SIGTERM');
  await gone;
}
