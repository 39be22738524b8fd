import { must } from '../../src/domain/values/must.ts';
import { parseMasterKeys } from '../../src/runtime/cryptography/sealing.ts';

export const MASTER_KEY_TEXT = '0123456789abcdef'.repeat(4);
export const SEALING_KEYS = parseMasterKeys(MASTER_KEY_TEXT);
/** Those that seal the event log. */
export const SEAL_KEYS = must(SEALING_KEYS['api-secrets']);
