import type { ApprovalSigner, ApprovalTerms, ApprovalVerdict } from '../../ports/approvals.ts';
import type { LedgerTaken, MoveSigner } from '../../ports/moves.ts';
import type { PayoutSignature, PayoutSigner, PayoutVerdict, SignerPayoutStatus, TreasuryAddresses } from '../../ports/payouts.ts';
import type { SignerCaller } from './connection.ts';

/** The signer's part of money out, over its socket. Each call rejects with `SignerUnavailable` or `SignerRefused`. */
export function payoutCalls(connection: SignerCaller): PayoutSigner & MoveSigner & ApprovalSigner {
  return {
    treasuryAddresses: async (mode) => (await connection.call('treasuryAddresses', { mode })) as TreasuryAddresses,
    checkPayout: async (order) => (await connection.call('checkPayout', { order })) as PayoutVerdict,
    signPayout: async (request) => (await connection.call('signPayout', request)) as PayoutSignature,
    releasePayout: async (order) => (await connection.call('releasePayout', { order })) as PayoutVerdict,
    takeLedger: async (from, events) => (await connection.call('takeLedger', { from, events })) as LedgerTaken,
    checkMove: async (order) => (await connection.call('checkMove', { order })) as PayoutVerdict,
    signMove: async (request) => (await connection.call('signMove', request)) as PayoutSignature,
    releaseMove: async (order) => (await connection.call('releaseMove', { order })) as PayoutVerdict,
    unknownTransactions: async (mode, network, txHashes) =>
      (await connection.call('unknownTransactions', { mode, network, txHashes })) as readonly string[],
    approvalTerms: async (act) => (await connection.call('approvalTerms', { act })) as ApprovalTerms,
    approve: async (act, approval) => (await connection.call('approve', { act, approval })) as ApprovalVerdict,
    reportOutflows: async (mode, network, outflows) =>
      (await connection.call('reportOutflows', { mode, network, outflows })) as Awaited<ReturnType<ApprovalSigner['reportOutflows']>>,
    stop: async (mode, by) => (await connection.call('stop', { mode, by })) as SignerPayoutStatus,
    payoutStatus: async (mode) => (await connection.call('payoutStatus', { mode })) as SignerPayoutStatus,
  };
}
