import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  statSync,
} from 'node:fs';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { freePort } from '../support/free-port.ts';
import { REPOSITORY } from '../support/repository.ts';

/*
 * `npm run test:image`, as root on Linux: what a container engine would do with the files, where there is none. The
 * steps of the Dockerfile are replayed into a folder, which is started as the image's user on a read-only root without
 * a capability; and each service of docker-compose.yml whose program is installed here is given its arguments and its
 * configuration.
 */

interface Step {
  readonly name: string;
  readonly rest: string;
}

interface Image {
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;
  readonly command: readonly string[];
  readonly healthcheck: readonly string[];
}

const ENTER = join(import.meta.dirname, 'enter.sh');
const folder = mkdtempSync(join(tmpdir(), 'quittance-image-'));
const text = (path: string): string => readFileSync(join(REPOSITORY, path), 'utf8');
const done = (what: string): void => console.log(`ok  ${what}`);
const skipped = (what: string): void => console.log(`--  ${what}`);

const steps: readonly Step[] = text('Dockerfile')
  .replaceAll(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => ({ name: line.split(' ', 1)[0]!, rest: line.slice(line.indexOf(' ') + 1).trim() }));

/** Only what the engine would be given: `.dockerignore` admits, and refuses all else. */
const admitted = text('.dockerignore')
  .split('\n')
  .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []));

function emptyRoot(name: string): string {
  const root = join(folder, name);
  for (const path of ['usr', 'etc', 'proc', 'dev', 'tmp', 'opt', 'app', 'var/lib'])
    mkdirSync(join(root, path), { recursive: true });
  for (const path of ['bin', 'lib', 'lib64', 'sbin'])
    if (existsSync(join('/usr', path))) symlinkSync(join('usr', path), join(root, path));
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n');
  writeFileSync(join(root, 'etc/group'), 'root:x:0:\nnode:x:1000:\n');
  return root;
}

function copy(rest: string, root: string, workdir: string): void {
  const parts = rest.split(' ');
  const from = parts[0]!.startsWith('--from=') ? join(folder, parts.shift()!.slice('--from='.length)) : null;
  const target = parts.pop()!;
  for (const source of parts) {
    if (from === null) assert.ok(admitted.includes(source), `${source} is not admitted by .dockerignore`);
    const origin = from === null ? join(REPOSITORY, source) : join(from, source);
    // Of a folder its contents are copied.
    const isInside = target.endsWith('/') && statSync(origin).isFile();
    cpSync(origin, join(root, workdir, target, isInside ? basename(source) : ''), { recursive: true });
  }
}

function run(command: string, root: string, workdir: string): void {
  // The package manager is that of this machine; everything else happens inside.
  if (command.startsWith('npm '))
    return void execFileSync('sh', ['-c', command], {
      cwd: join(root, workdir),
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  execFileSync(
    'unshare',
    ['--mount', 'sh', ENTER, root, process.execPath, 'none', 'sh', '-c', `cd ${workdir} && ${command}`],
    {
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  );
}

const wordsOf = (json: string): string[] => JSON.parse(json) as string[];

/** The last stage, as the steps make it. */
function replay(): Image {
  let [root, workdir, stage] = ['', '/', ''];
  const env: Record<string, string> = {};
  let [entry, command, healthcheck]: string[][] = [[], [], []];
  for (const { name, rest } of steps) {
    if (name === 'FROM') [stage, workdir, root] = [rest.split(' AS ')[1]!, '/', emptyRoot(rest.split(' AS ')[1]!)];
    else if (name === 'WORKDIR') workdir = rest;
    else if (name === 'COPY') copy(rest, root, workdir);
    else if (name === 'RUN') run(rest, root, workdir);
    else if (name === 'ENV')
      for (const pair of rest.split(' ')) env[pair.split('=')[0]!] = pair.slice(pair.indexOf('=') + 1);
    else if (name === 'ENTRYPOINT') entry = wordsOf(rest);
    else if (name === 'CMD') command = wordsOf(rest);
    else if (name === 'HEALTHCHECK') healthcheck = wordsOf(rest.slice(rest.indexOf('[')));
    else if (name === 'USER') assert.equal(rest, 'node');
    else assert.ok(['VOLUME', 'EXPOSE', 'STOPSIGNAL'].includes(name), `${name} is not replayed`);
  }
  assert.equal(stage, 'service');
  return { root, env, command: [...entry!, ...command!], healthcheck: healthcheck! };
}

function inside(image: Image, state: string, env: Record<string, string>, command: readonly string[]): string[] {
  const all = { PATH: '/usr/local/bin:/usr/bin:/bin', ...image.env, ...env };
  const given = Object.entries(all).map(([name, value]) => `${name}=${value}`);
  return [
    '--mount',
    '--pid',
    '--fork',
    '--kill-child',
    'sh',
    ENTER,
    image.root,
    process.execPath,
    state,
    'env',
    '-i',
    ...given,
    ...command,
  ];
}

async function healthy(url: string, child: ChildProcess, output: () => string): Promise<void> {
  for (let tries = 0; tries < 120; tries += 1) {
    if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode}:\n${output()}`);
    const isUp = await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) return;
    await sleep(500);
  }
  throw new Error(`the service does not answer:\n${output()}`);
}

async function startImage(): Promise<void> {
  const image = replay();
  const release = readdirSync(join(image.root, 'app/node_modules')).sort();
  assert.deepEqual(release, ['node-gyp-build', 'secp256k1'], 'packages are in the image beside the programs');
  done(`${steps.length} steps of the Dockerfile replayed`);
  const state = join(folder, 'state');
  cpSync(join(image.root, 'var/lib/quittance'), state, { recursive: true, preserveTimestamps: true });
  execFileSync('chown', ['-R', '1000:1000', state]);
  const [port, opsPort] = [await freePort(), await freePort()];
  const env = {
    MASTER_KEY: randomBytes(32).toString('hex'),
    PUBLIC_URL: 'https://pay.shop.example',
    RATE_PROVIDERS: 'coinbase,kraken',
    ...{ HOST: '127.0.0.1', PORT: String(port), OPS_PORT: String(opsPort) },
  };
  const child = spawn('unshare', inside(image, state, env, image.command), { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  try {
    await healthy(`http://127.0.0.1:${opsPort}/healthz`, child, () => output);
    done('it starts as its user on a read-only root');
    const pid = serviceIn(child.pid!);
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    for (const line of [
      /^Uid:\t1000\t1000\t1000\t1000$/m,
      /^CapEff:\t0+$/m,
      /^CapBnd:\t0+$/m,
      /^NoNewPrivs:\t1$/m,
      /^Groups:\t\s*$/m,
    ])
      assert.match(status, line);
    done('without a capability, a further group, or a way to new rights');
    const check = spawnSync('unshare', inside(image, state, env, image.healthcheck), { encoding: 'utf8' });
    assert.equal(check.status, 0, check.stderr);
    const wrong = spawnSync('unshare', inside(image, state, { ...env, OPS_PORT: '1' }, image.healthcheck));
    assert.equal(wrong.status, 1);
    done('its health check says yes, and no where nobody answers');
    for (const path of ['/app/lib/main.mjs', '/app/x', '/etc/x']) {
      const write = spawnSync('unshare', inside(image, state, env, ['sh', '-c', `echo x >> ${path}`]), {
        encoding: 'utf8',
      });
      assert.match(write.stderr, /Read-only file system|Permission denied/, path);
    }
    done('it can change nothing of what runs');
    const ended = new Promise<void>((gone) => child.once('exit', () => gone()));
    process.kill(pid, 'SIGTERM');
    await Promise.race([
      ended,
      sleep(20_000).then(() => Promise.reject(new Error('it did not end within its grace period'))),
    ]);
    assert.match(output, /the service has ended/);
    assert.ok(existsSync(join(state, 'data/events.db')));
    done('SIGTERM ends it in order, with its data in the volume');
  } finally {
    child.kill('SIGKILL');
  }
}

/** Of the processes below, the one that is Node's. */
function serviceIn(parent: number): number {
  const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8')
    .trim()
    .split(' ')
    .filter(Boolean)
    .map(Number);
  for (const child of children) {
    if (basename(readFileSync(`/proc/${child}/cmdline`, 'utf8').split('\0')[0]!) === 'node') return child;
    const below = serviceIn(child);
    if (below > 0) return below;
  }
  return 0;
}

interface Service {
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
}

const compose = parse(text('docker-compose.yml'), { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>;
};
const isThere = (program: string): boolean => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
/** The file of ours that a service finds at the path. */
const mounted = (service: string, path: string): string => {
  const mount = compose.services[service]!.volumes!.find((each) => each.split(':')[1] === path);
  assert.ok(mount, `${service} has nothing at ${path}`);
  return join(REPOSITORY, mount.split(':')[0]!);
};

async function redis(): Promise<void> {
  if (!isThere('redis-server')) return skipped('redis-server is not installed');
  const [program, ...args] = compose.services['redis']!.command!;
  const port = await freePort();
  const data = mkdtempSync(join(folder, 'redis-'));
  const child = spawn(program!, [...args, '--port', String(port), '--bind', '127.0.0.1', '--dir', data], {
    stdio: 'ignore',
  });
  try {
    const ask = (...question: string[]): string =>
      spawnSync('redis-cli', ['-p', String(port), ...question], { encoding: 'utf8' }).stdout.trim();
    for (let tries = 0; tries < 40 && ask('ping') !== 'PONG'; tries += 1) await sleep(250);
    assert.match(ask('config', 'get', 'maxmemory-policy'), /noeviction/);
    assert.match(ask('config', 'get', 'appendonly'), /yes/);
    assert.match(ask('config', 'get', 'maxmemory'), /1073741824/);
  } finally {
    child.kill();
  }
  done('Redis takes its arguments');
}

function prometheus(): void {
  if (!isThere('promtool')) return skipped('promtool is not installed');
  const config = join(folder, 'prometheus.yml');
  cpSync(mounted('prometheus', '/etc/prometheus/prometheus.yml'), config);
  cpSync(mounted('prometheus', '/etc/prometheus/alerts.yml'), join(folder, 'alerts.yml'));
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'config', config], { encoding: 'utf8' });
  assert.equal(status, 0, stdout + stderr);
  done('Prometheus takes its configuration and its rules');
}

function caddy(): void {
  if (!isThere('caddy')) return skipped('caddy is not installed');
  const args = ['validate', '--adapter', 'caddyfile', '--config', mounted('proxy', '/etc/caddy/Caddyfile')];
  const { status, stderr } = spawnSync('caddy', args, {
    encoding: 'utf8',
    env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder },
  });
  assert.equal(status, 0, stderr);
  done('Caddy takes its configuration');
}

/**
 * Grafana publishes no schema of what it provisions: its documentation's fields, and that all that is named is there.
 */
function grafana(): void {
  const sources = parse(
    readFileSync(mounted('grafana', '/etc/grafana/provisioning/datasources/quittance.yml'), 'utf8'),
  ) as Provisioned;
  const boards = parse(
    readFileSync(mounted('grafana', '/etc/grafana/provisioning/dashboards/quittance.yml'), 'utf8'),
  ) as Provisioned;
  assert.deepEqual([sources.apiVersion, boards.apiVersion], [1, 1]);
  for (const source of sources.datasources!) {
    assert.deepEqual(
      Object.keys(source).filter(
        (key) => !['name', 'type', 'uid', 'url', 'isDefault', 'access', 'jsonData'].includes(key),
      ),
      [],
    );
    assert.ok(
      compose.services[new URL(source['url'] as string).hostname],
      `there is no service for ${source['url'] as string}`,
    );
  }
  for (const provider of boards.providers!) {
    assert.equal(provider['type'], 'file');
    assert.ok(existsSync(mounted('grafana', (provider['options'] as { path: string }).path)));
  }
  done('what Grafana provisions is made of known fields and names services and folders that are there');
}

interface Provisioned {
  readonly apiVersion: number;
  readonly datasources?: readonly Record<string, unknown>[];
  readonly providers?: readonly Record<string, unknown>[];
}

try {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    throw new Error('the image is replayed as root on Linux');
  await redis();
  prometheus();
  caddy();
  grafana();
  for (const [program, service] of [
    ['kurrentd', 'KurrentDB'],
    ['otelcol', 'the OpenTelemetry collector'],
    ['jaeger', 'Jaeger'],
  ] as const)
    if (!isThere(program)) skipped(`${service} is not installed: its arguments were not tried`);
  await startImage();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
