import { chmodSync, closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolder } from './make-folder.ts';

/**
 * Atomically writes a file that only its owner may read, even across a crash. `draft` is renamed at the end; an
 * existing one is not overwritten (EEXIST), so a shared draft name admits one writer at a time.
 */
export function writePrivateFile(path: string, text: string, draft = `${path}.${process.pid}.new`): void {
  const file = openSync(draft, 'wx', 0o600);
  try {
    // Writes until everything is written: a single write to a disk that fills up may be short without an error.
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

/** Atomically replaces a file that only its owner may read. */
export function writePrivate(file: string, text: string): void {
  makeFolder(dirname(file));
  const draft = `${file}.${process.pid}.tmp`;
  writeFileSync(draft, text, { mode: 0o600 });
  chmodSync(draft, 0o600);
  renameSync(draft, file);
}
