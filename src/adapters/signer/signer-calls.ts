import type { Signer } from '../../ports/signer/signer.ts';
import type { SignerCaller } from './connection.ts';

/**
 * Every request that the signer accepts over its socket. Each call rejects with `SignerUnavailable` or `SignerRefused`.
 */
export const signerCalls = (signer: SignerCaller): Omit<Signer, 'close'> => ({
  exportWatchOnly: (mode, solanaPoolSize) => signer.call('exportWatchOnly', { mode, solanaPoolSize }),
  exportSolanaKeys: (mode, fromIndex, count) => signer.call('exportSolanaKeys', { mode, fromIndex, count }),
  treasuryAddresses: (mode) => signer.call('treasuryAddresses', { mode }),
  takeEvents: (from, events) => signer.call('takeEvents', { from, events }),
  check: (order) => signer.call('check', { order }),
  sign: (request) => signer.call('sign', request),
  release: (order, seenIn) => signer.call('release', { order, ...(seenIn !== undefined && { seenIn }) }),
  nativeTransfer: (asked) => signer.call('nativeTransfer', asked),
  unknownTransactions: (mode, network, txHashes) => signer.call('unknownTransactions', { mode, network, txHashes }),
  signedAfter: (mode, network, logPlace) => signer.call('signedAfter', { mode, network, logPlace }),
  approvalTerms: (act) => signer.call('approvalTerms', { act }),
  approve: (act, approval) => signer.call('approve', { act, approval }),
  reportOutflows: (mode, network, outflows) => signer.call('reportOutflows', { mode, network, outflows }),
  stop: (mode, by) => signer.call('stop', { mode, by }),
  status: (mode) => signer.call('status', { mode }),
  auditIdentity: () => signer.call('auditIdentity', {}),
  signCheckpoint: (request) => signer.call('signCheckpoint', request),
});
