import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { REPOSITORY } from '../../support/repository.ts';

const VERSION = process.env['MEDUSA_VERSION'] ?? '2.21.2';
const README = readFileSync(join(REPOSITORY, 'plugins/medusa/README.md'), 'utf8');
const PACKAGES = ['admin-sdk', 'cli', 'framework', 'medusa'].map((name) => `@medusajs/${name}`);

/** The first block of the README in this language that holds the words. */
export function readmeBlock(language: string, words: string): string {
  const blocks = [...README.matchAll(/^ *```(\w+)\n([^]*?)^ *```/gm)];
  const found = blocks.find(([, written, text]) => written === language && text?.includes(words) === true)?.[2];
  if (found === undefined) throw new Error(`the README of the Medusa plugin has no ${language} block with ${words}`);
  return found;
}

/** A Medusa from npm, kept between runs, with the plugin installed by the README's own commands. */
export function installedMedusa(): string {
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  const folder = join(cache, 'quittance', `medusa-${VERSION}`);
  mkdirSync(folder, { recursive: true });
  const manifest = JSON.stringify({
    name: 'my-shop',
    private: true,
    dependencies: Object.fromEntries(PACKAGES.map((name) => [name, VERSION])),
  });
  const stamp = join(folder, `.installed-${createHash('sha256').update(manifest).digest('hex').slice(0, 16)}`);
  if (!existsSync(stamp)) {
    console.log(`  installing Medusa ${VERSION} into ${folder}, which takes some minutes the first time`);
    writeFileSync(join(folder, 'package.json'), manifest);
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--silent'], { cwd: folder, stdio: 'inherit' });
    writeFileSync(stamp, '');
  }
  const archives = join(folder, 'archives');
  rmSync(archives, { recursive: true, force: true });
  mkdirSync(archives, { recursive: true });
  const commands = readmeBlock('sh', 'npm pack')
    .replaceAll('/tmp', archives)
    .replace('cd my-shop', `cd ${folder}`)
    .replace('npm ci && ', '')
    // The archives have the same version after a change.
    .replace('npm install ', 'npm install --no-audit --no-fund --silent --force ');
  execFileSync('sh', ['-e', '-c', commands], { cwd: REPOSITORY, stdio: ['ignore', 'ignore', 'inherit'] });
  return folder;
}
