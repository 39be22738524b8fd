import type { ApprovalSigner, ApprovalTerms, ApprovalVerdict } from '../../ports/approvals.ts';
import type {
  LedgerTaken,
  OutgoingSigner,
  Signature,
  SignerStatus,
  SignerVerdict,
  TreasuryAddresses,
} from '../../ports/outgoing-signer.ts';
import type { SignerCaller } from './connection.ts';

/** The signer's part of money out, over its socket. Each call rejects with `SignerUnavailable` or `SignerRefused`. */
export function outgoingCalls(connection: SignerCaller): OutgoingSigner & ApprovalSigner {
  return {
    treasuryAddresses: async (mode) => (await connection.call('treasuryAddresses', { mode })) as TreasuryAddresses,
    takeLedger: async (from, events) => (await connection.call('takeLedger', { from, events })) as LedgerTaken,
    check: async (order) => (await connection.call('check', { order })) as SignerVerdict,
    sign: async (request) => (await connection.call('sign', request)) as Signature,
    release: async (order) => (await connection.call('release', { order })) as SignerVerdict,
    nativeTransfer: async (asked) =>
      (await connection.call('nativeTransfer', asked)) as Awaited<ReturnType<OutgoingSigner['nativeTransfer']>>,
    unknownTransactions: async (mode, network, txHashes) =>
      (await connection.call('unknownTransactions', { mode, network, txHashes })) as readonly string[],
    signedAfter: async (mode, network, ledger) =>
      (await connection.call('signedAfter', { mode, network, ledger })) as Awaited<
        ReturnType<OutgoingSigner['signedAfter']>
      >,
    approvalTerms: async (act) => (await connection.call('approvalTerms', { act })) as ApprovalTerms,
    approve: async (act, approval) => (await connection.call('approve', { act, approval })) as ApprovalVerdict,
    reportOutflows: async (mode, network, outflows) =>
      (await connection.call('reportOutflows', { mode, network, outflows })) as Awaited<
        ReturnType<ApprovalSigner['reportOutflows']>
      >,
    stop: async (mode, by) => (await connection.call('stop', { mode, by })) as SignerStatus,
    status: async (mode) => (await connection.call('status', { mode })) as SignerStatus,
  };
}
