import { hash } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, stat } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import type { ObjectStore } from '../../ports/event-log/object-store.ts';
import { syncPath } from '../../runtime/files/sync-path.ts';

const DRAFT = '.draft';

/** Objects as files in an existing folder, readable only by its owner; ideally on another machine. */
export function folderObjects(folder: string): ObjectStore {
  /** SHA-256 of what was last read or written. */
  const seen = new Map<string, string>();

  async function read(name: string): Promise<Buffer | null> {
    const bytes = await orNull(readFile(join(folder, name)));
    if (bytes) seen.set(name, hash('sha256', bytes));
    else seen.delete(name);
    return bytes;
  }

  async function demandUnchanged(name: string): Promise<void> {
    const before = seen.get(name);
    await read(name);
    if (seen.get(name) !== before)
      throw new Error(`${join(folder, name)} is not what this service left there: something else writes there as well`);
  }

  return {
    place: folder,
    put: async (name, bytes) => {
      // If the mount is missing, its mount point would silently write to the local disk.
      if ((await orNull(stat(folder))) === null) throw new Error(`${folder} does not exist: mount or make it`);
      await demandUnchanged(name);
      const path = join(folder, name);
      await makeDirectories(folder, dirname(name));
      const file = await open(`${path}${DRAFT}`, 'w', 0o600);
      try {
        await file.writeFile(bytes);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(`${path}${DRAFT}`, path);
      seen.set(name, hash('sha256', bytes));
      syncPath(dirname(path));
    },
    get: read,
    list: async (prefix) => {
      const entries = (await orNull(readdir(folder, { recursive: true, withFileTypes: true }))) ?? [];
      const names = entries.flatMap((entry) =>
        entry.isFile() ? [relative(folder, join(entry.parentPath, entry.name))] : [],
      );
      return names.filter((name) => name.startsWith(prefix) && !name.endsWith(DRAFT)).toSorted();
    },
  };
}

/** Creates each level durably, but never the root itself. */
async function makeDirectories(root: string, below: string): Promise<void> {
  let parent = root;
  for (const name of below.split(sep).filter((part) => part !== '.')) {
    const directory = join(parent, name);
    const isNew = await mkdir(directory, { mode: 0o700 }).then(
      () => true,
      (error: NodeJS.ErrnoException) => (error.code === 'EEXIST' ? false : Promise.reject(error)),
    );
    if (isNew) syncPath(parent);
    parent = directory;
  }
}

const orNull = <T>(reading: Promise<T>): Promise<T | null> =>
  reading.catch((error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? null : Promise.reject(error)));
