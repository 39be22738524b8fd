import { accessSync, constants } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';

const PACKAGE = '@foundry-rs/anvil-linux-amd64';

/**
 * Path of the anvil binary: from the package for this platform, else an `anvil` on the PATH; null when there is none.
 */
export function findAnvil(
  env: Readonly<Record<string, string | undefined>> = process.env,
  packaged: string | null = packagedAnvil(),
): string | null {
  const candidates = [
    ...(packaged === null ? [] : [packaged]),
    ...pathFolders(env).map((folder) => join(folder, 'anvil')),
  ];
  return candidates.find(isExecutable) ?? null;
}

function packagedAnvil(): string | null {
  if (process.platform !== 'linux' || process.arch !== 'x64') return null;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(`${PACKAGE}/package.json`)), 'bin', 'anvil');
  } catch {
    return null;
  }
}

const pathFolders = (env: Readonly<Record<string, string | undefined>>): string[] =>
  (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
