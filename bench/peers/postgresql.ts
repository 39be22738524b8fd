import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync, readdirSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Postgres {
  readonly url: string;
  readonly version: string;
  stop(): Promise<void>;
}

/** Folder of Debian's PostgreSQL programs, the newest version; null when none is installed. */
export function postgresPrograms(): string | null {
  try {
    const versions = readdirSync('/usr/lib/postgresql').sort((a, b) => Number(b) - Number(a));
    return versions[0] === undefined ? null : `/usr/lib/postgresql/${versions[0]}/bin`;
  } catch {
    return null;
  }
}

/**
 * A server of its own with the shipped settings (`fsync` on), its data under `folder`. PostgreSQL does not run as root.
 */
export async function startPostgres(programs: string, folder: string): Promise<Postgres> {
  const data = join(folder, 'postgres');
  mkdirSync(data, { mode: 0o700 });
  const user = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : {};
  if (user.uid !== undefined) chownSync(data, user.uid, user.gid);
  const env = { ...process.env, LC_ALL: 'C.UTF-8' };
  execFileSync(join(programs, 'initdb'), ['-D', data, '-U', 'bench', '--auth=trust', '-E', 'UTF8'], {
    ...user,
    env,
    stdio: 'ignore',
    cwd: data,
  });
  const port = await freePort();
  const settings = [
    '-c',
    'listen_addresses=127.0.0.1',
    '-c',
    `unix_socket_directories=${data}`,
    '-c',
    'max_connections=100',
  ];
  const server = spawn(join(programs, 'postgres'), ['-D', data, '-p', String(port), ...settings], {
    ...user,
    env,
    stdio: 'ignore',
    cwd: data,
  });
  await ready(programs, port, server);
  return {
    url: `postgresql://bench@127.0.0.1:${port}/postgres`,
    version: execFileSync(join(programs, 'postgres'), ['--version'], { encoding: 'utf8' }).trim(),
    stop: async () => {
      if (server.exitCode !== null) return;
      const ended = once(server, 'exit');
      server.kill('SIGINT');
      await ended;
    },
  };
}

const idOf = (flag: '-u' | '-g'): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  return port;
}

async function ready(programs: string, port: number, server: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 100 && server.exitCode === null; attempt++) {
    try {
      execFileSync(join(programs, 'pg_isready'), ['-h', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
      return;
    } catch {
      await sleep(100);
    }
  }
  throw new Error('PostgreSQL did not start');
}
