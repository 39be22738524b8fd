import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const masterKeyFile = (dataDir: string): string => join(dataDir, 'master.key');

/** The key that a sandbox keeps in its data directory, or in a backup of it; null outside a sandbox. */
export const keptMasterKey = (dataDir: string): string | null =>
  existsSync(masterKeyFile(dataDir)) ? readFileSync(masterKeyFile(dataDir), 'utf8').trim() : null;
