import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { builtRelease } from '../support/built-release.ts';

/* What a host gets: `npm run build` makes a folder that is complete in itself. A payment through it: refund-production. */

const ADDONS = ['node-gyp-build', 'secp256k1'];
const MOST_BYTES = 40e6;

let folder: string;
beforeAll(async () => void (folder = await builtRelease()));

const files = (below: string): string[] =>
  readdirSync(join(folder, below), { recursive: true, encoding: 'utf8' }).filter((name) =>
    statSync(join(folder, below, name)).isFile(),
  );
const programs = (): [string, string][] =>
  files('lib')
    .filter((name) => name.endsWith('.mjs'))
    .map((name) => [name, readFileSync(join(folder, 'lib', name), 'utf8')]);
const run = (...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> =>
  promisify(execFile)(process.execPath, [join(folder, 'bin/quittance.mjs'), ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'] },
  }).then(
    (told) => ({ code: 0, ...told }),
    (told: { code: number; stdout: string; stderr: string }) => told,
  );

it('needs nothing but Node: every module, thread and file that its programs name is inside', () => {
  const missing = programs().flatMap(([name, text]) => {
    const imports = /^(?:import|export)[^"']*? from "([^"]+)";$|^import "([^"]+)";$|\bimport\("(\.\/[^"]+)"\)/gm;
    const modules = [...text.matchAll(imports)].map((match) => (match[1] ?? match[2] ?? match[3])!);
    const places = [...text.matchAll(/new URL\(["'`](\.\/[^"'`$]+)/g)].map((match) => match[1]!);
    return [
      ...modules.filter((path) => (path.startsWith('.') ? !existsSync(join(folder, 'lib', path)) : !isBuiltin(path))),
      ...places.filter((path) => !existsSync(join(folder, 'lib', path))),
    ].map((path) => `${name}: ${path}`);
  });
  expect(missing).toEqual([]);
  expect(readdirSync(join(folder, 'node_modules')).sort()).toEqual(ADDONS);
  const bytes = files('.').reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  expect(bytes).toBeLessThan(MOST_BYTES);
});

it('names the licence of each package that is inside', () => {
  const notices = readFileSync(join(folder, 'THIRD-PARTY-NOTICES'), 'utf8');
  for (const name of ['ethers', '@solana/web3.js', 'express', 'secp256k1'])
    expect(notices).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\((MIT|Apache-2\\.0)\\)$`, 'm'));
});

it('has the commands of operators, and no sandbox', async () => {
  expect((await run('--help')).stdout).toContain('doctor');
  const doctor = await run('doctor');
  expect([doctor.code, doctor.stdout + doctor.stderr]).toEqual([1, expect.stringContaining('MASTER_KEY')]);
  expect(await run('sandbox', 'start')).toMatchObject({
    code: 1,
    stderr: 'The sandbox is not part of a release: run "npm start" in a checkout.\n',
  });
});
