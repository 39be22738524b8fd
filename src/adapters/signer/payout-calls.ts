import type { DestinationVerdict, MoveSigner } from '../../ports/moves.ts';
import type { PayoutSignature, PayoutSigner, PayoutVerdict, SignerPayoutStatus, TreasuryAddresses } from '../../ports/payouts.ts';
import type { SignerConnection } from './connection.ts';

/** The signer's part of money out, over its socket. Each call rejects with `SignerUnavailable` or `SignerRefused`. */
export function payoutCalls(connection: SignerConnection): PayoutSigner & MoveSigner {
  return {
    treasuryAddresses: async (mode) => (await connection.call('treasuryAddresses', { mode })) as TreasuryAddresses,
    checkPayout: async (order) => (await connection.call('checkPayout', { order })) as PayoutVerdict,
    signPayout: async (request) => (await connection.call('signPayout', request)) as PayoutSignature,
    releasePayout: async (order) => (await connection.call('releasePayout', { order })) as PayoutVerdict,
    approvePayout: async (order, approver, secret) => (await connection.call('approvePayout', { order, approver, secret })) as PayoutVerdict,
    checkMove: async (order) => (await connection.call('checkMove', { order })) as PayoutVerdict,
    signMove: async (request) => (await connection.call('signMove', request)) as PayoutSignature,
    approveMove: async (order, approver, secret) => (await connection.call('approveMove', { order, approver, secret })) as PayoutVerdict,
    releaseMove: async (order) => (await connection.call('releaseMove', { order })) as PayoutVerdict,
    unknownTransactions: async (mode, network, txHashes) =>
      (await connection.call('unknownTransactions', { mode, network, txHashes })) as readonly string[],
    approveDestination: async (destination, approver, secret) =>
      (await connection.call('approveDestination', { destination, approver, secret })) as DestinationVerdict,
    setStopped: async (mode, stopped, by) => (await connection.call('setStopped', { mode, stopped, by })) as SignerPayoutStatus,
    payoutStatus: async (mode) => (await connection.call('payoutStatus', { mode })) as SignerPayoutStatus,
  };
}
