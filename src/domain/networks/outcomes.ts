import type { TransactionDraft } from '../events/transaction-draft.ts';

/*
 * What a node's answer says a transaction has done, for each kind of transaction that this service signs. The signer
 * releases money by it and the service records by it, so neither reads such answers in its own way (ADR 0080).
 *
 * That a transaction is missing from an answer proves nothing: nodes forget, lag, and keep no history. That one can
 * never land follows from its validity (`TransactionValidity`) alone:
 *
 * - a nonce (Ethereum, BSC) or the value of a nonce account (Solana): another transaction with it is in a final block
 * - an expiration (TRON): final blocks have passed it, and none of its lifetime lists the transaction
 * - a recent blockhash (Solana, only to create a nonce account): the chain no longer accepts it
 */

/** `unclear`: the answer says neither, so nothing may be concluded. */
export type Outcome = 'moved' | 'nothing' | 'unclear';

/** Of `eth_getTransactionReceipt`. */
export interface EvmReceiptStatus {
  readonly status?: string | null | undefined;
}
/** Of `gettransactioninfobyid`: absent fields have protocol buffer defaults. */
export interface TronInfoResult {
  readonly result?: string | null | undefined;
  readonly receipt?: { readonly result?: string | null | undefined } | null | undefined;
}
/** Of `getTransaction` (its `meta`) and `getSignatureStatuses`. */
export interface SolanaStatus {
  readonly err?: unknown;
}

const evm = ({ status }: EvmReceiptStatus): Outcome =>
  status === '0x1' ? 'moved' : status === '0x0' ? 'nothing' : 'unclear';

/** A contract call names its result; the top level says `FAILED` beside every result other than `SUCCESS`. */
function tronCall({ result, receipt }: TronInfoResult): Outcome {
  const ran = receipt?.result ?? 'DEFAULT';
  if (ran === 'SUCCESS') return result === 'FAILED' ? 'unclear' : 'moved';
  return result === 'FAILED' || ran !== 'DEFAULT' ? 'nothing' : 'unclear';
}

/** No contract runs, so there is no `receipt.result`, also when the transfer creates the account of its receiver. */
function tronTransfer({ result, receipt }: TronInfoResult): Outcome {
  const ran = receipt?.result ?? 'DEFAULT';
  if (result === 'FAILED') return ran === 'SUCCESS' ? 'unclear' : 'nothing';
  return ran === 'DEFAULT' || ran === 'SUCCESS' ? 'moved' : 'nothing';
}

/** A failed transaction has used its nonce all the same. */
const solana = ({ err }: SolanaStatus): Outcome => (err === null ? 'moved' : err === undefined ? 'unclear' : 'nothing');

export const OUTCOMES = {
  evm,
  'evm-native': evm,
  /** It moves nothing even when it succeeds; in a block it has used the nonce. */
  'evm-cancel': (receipt: EvmReceiptStatus): Outcome => (evm(receipt) === 'unclear' ? 'unclear' : 'nothing'),
  tron: tronCall,
  'tron-native': tronTransfer,
  solana,
  'solana-nonce-account': solana,
} as const satisfies Record<TransactionDraft['kind'], (answer: never) => Outcome>;
