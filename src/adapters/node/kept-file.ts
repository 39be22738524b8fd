import { open, readFile, rename, rm } from 'node:fs/promises';
import type { KeptBytes } from '../../ports/read-model/kept-bytes.ts';

/** A file that only its owner may read. One process writes it, one save at a time. */
export function keptFile(path: string): KeptBytes {
  return {
    load: () =>
      readFile(path).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return null;
        throw error;
      }),
    save: async (parts) => {
      const draft = `${path}.new`;
      await rm(draft, { force: true });
      const file = await open(draft, 'wx', 0o600);
      try {
        for (const part of parts) await file.writeFile(part);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(draft, path);
    },
  };
}
