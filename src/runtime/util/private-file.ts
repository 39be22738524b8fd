import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Writes a file that only its owner may read, whole or not at all, also over a crash. `draft` is what is renamed at the
 * end; one that exists is not touched (EEXIST), so that a name which all writers share lets in one at a time.
 */
export function writePrivateFile(path: string, text: string, draft = `${path}.${process.pid}.new`): void {
  const file = openSync(draft, 'wx', 0o600);
  try {
    // Unlike one write, it goes on until all is written: a disk that fills up takes the beginning and reports no fault.
    writeFileSync(file, text);
    fsyncSync(file);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}
