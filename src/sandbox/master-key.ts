import { hash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writePrivate } from '../runtime/files/private-file.ts';

/** The sandbox's master key, created at the first start; production supplies its own. */
export function sandboxMasterKey(dataDir: string): string {
  const file = join(dataDir, 'master.key');
  if (!existsSync(file)) writePrivate(file, `${randomBytes(32).toString('hex')}\n`);
  return readFileSync(file, 'utf8').trim();
}

/** Sandboxes that share servers must not see each other; those with the same key are the same sandbox. */
export const sandboxNamespace = (masterKey: string): string =>
  `sandbox-${hash('sha256', `namespace|${masterKey}`).slice(0, 12)}.`;
