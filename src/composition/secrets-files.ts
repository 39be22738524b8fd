import { hash, randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolder } from '../runtime/util/make-folder.ts';

/** The sandbox's master key, created at the first start; production supplies its own. */
export function sandboxMasterKey(dataDir: string): string {
  const file = join(dataDir, 'master.key');
  if (!existsSync(file)) writePrivate(file, `${randomBytes(32).toString('hex')}\n`);
  return readFileSync(file, 'utf8').trim();
}

/** Sandboxes that share servers must not see each other; those with the same key are the same sandbox. */
export const sandboxNamespace = (masterKey: string): string =>
  `sandbox-${hash('sha256', `namespace|${masterKey}`).slice(0, 12)}.`;

/** Atomically replaces a file that only its owner may read. */
export function writePrivate(file: string, text: string): void {
  makeFolder(dirname(file));
  const draft = `${file}.${process.pid}.tmp`;
  writeFileSync(draft, text, { mode: 0o600 });
  chmodSync(draft, 0o600);
  renameSync(draft, file);
}

export function readJson<Value>(file: string): Value | null {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Value) : null;
}
