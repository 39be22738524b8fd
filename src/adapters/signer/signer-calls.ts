import type { Signer, WatchOnlyExport } from '../../ports/signer.ts';
import { auditCalls } from './audit-calls.ts';
import type { SignerCaller } from './connection.ts';
import { outgoingCalls } from './outgoing-calls.ts';

/**
 * Everything the signer can be asked, over its socket. Each call rejects with `SignerUnavailable` or `SignerRefused`.
 */
export function signerCalls(connection: SignerCaller): Omit<Signer, 'close'> {
  return {
    exportWatchOnly: async (mode, solanaPoolSize) =>
      (await connection.call('exportWatchOnly', { mode, solanaPoolSize })) as WatchOnlyExport,
    exportSolanaKeys: async (mode, fromIndex, count) =>
      (await connection.call('exportSolanaKeys', { mode, fromIndex, count })) as string[],
    ...outgoingCalls(connection),
    ...auditCalls(connection),
  };
}
