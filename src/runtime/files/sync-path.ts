import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Makes a file's contents durable; for a directory, the names in it. */
export function syncPath(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
