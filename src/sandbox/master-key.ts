import { hash, randomBytes } from 'node:crypto';
import { writePrivate } from '../runtime/files/private-file.ts';
import { keptMasterKey, masterKeyFile } from '../runtime/files/kept-master-key.ts';

/** The sandbox's master key, created at the first start; production supplies its own. */
export function sandboxMasterKey(dataDir: string): string {
  const kept = keptMasterKey(dataDir);
  if (kept !== null) return kept;
  const key = randomBytes(32).toString('hex');
  writePrivate(masterKeyFile(dataDir), `${key}\n`);
  return key;
}

/** Sandboxes that share servers must not see each other; those with the same key are the same sandbox. */
export const sandboxNamespace = (masterKey: string): string =>
  `sandbox-${hash('sha256', `namespace|${masterKey}`).slice(0, 12)}.`;
