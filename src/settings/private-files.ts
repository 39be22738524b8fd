import { statSync, type Stats } from 'node:fs';
import { InvalidConfig } from '../config.ts';
import { must } from '../domain/values/must.ts';
import { codeOf } from '../runtime/util/code-of.ts';

const octal = (mode: number): string => (mode & 0o777).toString(8).padStart(4, '0');

/**
 * Throws `InvalidConfig` unless `path` belongs to this user (or root) and grants nobody else any of the permissions in
 * `forbidden`.
 */
function demand(name: string, path: string, forbidden: number, kind: 'file' | 'directory', remedy: string): void {
  const found = statOf(name, path);
  if (kind === 'file' ? !found.isFile() : !found.isDirectory())
    throw new InvalidConfig(`${name}: ${path} is not a ${kind}`);
  const user = must(process.getuid)();
  if (found.uid !== user && found.uid !== 0)
    throw new InvalidConfig(
      `${name}: ${path} belongs to user ${found.uid}, who could replace it; it must belong to the signer's user (${user})`,
    );
  if ((found.mode & forbidden) !== 0)
    throw new InvalidConfig(`${name}: ${path} has mode ${octal(found.mode)}; ${remedy}`);
}

function statOf(name: string, path: string): Stats {
  try {
    return statSync(path);
  } catch (error) {
    throw new InvalidConfig(`${name}: ${path} cannot be read (${codeOf(error) ?? 'unknown'})`);
  }
}

/** A file that only this user may read. */
export const demandPrivateFile = (name: string, path: string): void =>
  demand(name, path, 0o077, 'file', `other users than the signer's can use it: chmod 600 ${path}`);

/** A directory that only this user may enter. */
export const demandPrivateDirectory = (name: string, path: string): void =>
  demand(name, path, 0o077, 'directory', `other users than the signer's can enter it: chmod 700 ${path}`);

/** A file that this user's group may also read, to share it with one other user. */
export const demandSharedFile = (name: string, path: string): void =>
  demand(name, path, 0o037, 'file', `other users than its owner and group can use it: chmod 640 ${path}`);

/** A directory in which only this user creates and removes files. */
export const demandOwnDirectory = (name: string, path: string): void =>
  demand(name, path, 0o022, 'directory', `other users than the signer's can replace its contents: chmod 750 ${path}`);
