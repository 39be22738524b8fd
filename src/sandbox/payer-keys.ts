import { createHmac, randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolder } from '../runtime/files/make-folder.ts';

/** Derives 32 bytes for each purpose (such as `ethereum-first`), the same at every start. */
export type PayerKeys = (purpose: string) => Buffer;

/**
 * Keys of the test payers, from a seed that is random per file: a payer of one sandbox owns nothing anywhere else. They
 * are unrelated to the receiving wallet, whose keys only the signer holds.
 */
export function loadPayerKeys(file: string): PayerKeys {
  if (!existsSync(file)) {
    makeFolder(dirname(file));
    writePrivately(file, randomBytes(32).toString('hex'));
  }
  const seed = Buffer.from(readFileSync(file, 'utf8').trim(), 'hex');
  if (seed.length !== 32) throw new Error(`${file} does not hold the seed of the test payers`);
  return (purpose) => createHmac('sha256', seed).update(purpose).digest();
}

function writePrivately(path: string, text: string): void {
  const temporary = `${path}.new`;
  const file = openSync(temporary, 'w', 0o600);
  writeFileSync(file, text);
  fsyncSync(file);
  closeSync(file);
  renameSync(temporary, path);
}
