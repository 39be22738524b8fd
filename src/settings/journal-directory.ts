import { basename, dirname, join } from 'node:path';
import type { Config } from '../config.ts';

/**
 * The journal is next to the data directory, never in it, so that restoring an old event log does not restore the
 * journal with it.
 */
export const journalDirectory = (config: Config): string =>
  config.SIGNER_JOURNAL_DIR ?? join(dirname(config.DATA_DIR), `${basename(config.DATA_DIR)}-signer`);
