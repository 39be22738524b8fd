import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';

const DEBIANS = '/usr/lib/postgresql';

/** The folder of Debian's newest PostgreSQL; null without one. */
export function postgresPrograms(): string | null {
  const versions = existsSync(DEBIANS) ? readdirSync(DEBIANS).toSorted((a, b) => Number(b) - Number(a)) : [];
  const newest = versions
    .map((version) => join(DEBIANS, version, 'bin'))
    .find((bin) => existsSync(join(bin, 'initdb')));
  return newest ?? null;
}

export interface RunningPostgres {
  readonly url: string;
  stop(): void;
}

/** A server of its own on this machine, whose data goes with it. It refuses to run as root. */
export async function startPostgres(): Promise<RunningPostgres> {
  const bin = postgresPrograms();
  if (bin === null) throw new Error(`no PostgreSQL under ${DEBIANS}`);
  const folder = mkdtempSync(join(tmpdir(), 'quittance-postgres-'));
  const isRoot = process.getuid?.() === 0;
  if (isRoot) {
    const id = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
    chownSync(folder, id('-u'), id('-g'));
  }
  chmodSync(folder, 0o700);
  const run = (program: string, ...args: string[]): void => {
    const command = [join(bin, program), ...args];
    const [first = '', ...rest] = isRoot ? ['runuser', '-u', 'postgres', '--', ...command] : command;
    execFileSync(first, rest, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  };
  const data = join(folder, 'data');
  const port = await freePort();
  run('initdb', '-D', data, '-A', 'trust', '-U', 'shop', '--no-sync');
  const settings = `-c listen_addresses=127.0.0.1 -p ${port} -k ${folder} -c fsync=off`;
  run('pg_ctl', '-D', data, '-w', '-l', join(folder, 'log'), '-o', settings, 'start');
  return {
    url: `postgres://shop@127.0.0.1:${port}/shop`,
    stop() {
      run('pg_ctl', '-D', data, '-w', '-m', 'immediate', 'stop');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
