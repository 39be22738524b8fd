import {
  isCancelling,
  type TransactionDraft,
  type TransactionValidity,
} from '../../domain/events/transaction-draft.ts';
import type { MoveKind } from '../../domain/events/treasury-move-events.ts';
import type { ImpossibleReason } from '../../domain/events/refund-failures.ts';
import type { NativeTransfer, TakenDeposit } from '../../domain/networks/deposit-proof.ts';
import type { MerchantId, Mode } from '../../domain/values/ids.ts';
import { amountOf, fitsDecimals, formatAmount, isCoin, type Coin } from '../../domain/money/money.ts';
import {
  tokenOf,
  type NativeCoin,
  type Network,
  type NetworkSettings,
  type Token,
} from '../../domain/networks/networks.ts';

export type OutgoingKind = 'refund' | MoveKind;

/** Money that leaves one of our accounts, for any purpose: the common form that chains send and the signer checks. */
export interface OutgoingTransaction {
  readonly kind: OutgoingKind;
  /** Id of the move, or of the leg of a refund. */
  readonly id: string;
  readonly mode: Mode;
  readonly network: Network;
  /** The network's native coin for a top-up, a return of native coin and a nonce account. */
  readonly coin: Coin | NativeCoin;
  /** Decimal string in units of the coin. */
  readonly amount: string;
  /** The treasury, or the collection address that a sweep empties. */
  readonly fromAddress: string;
  readonly toAddress: string;
  /** Wallet index of the collection address involved, or number of the nonce account. */
  readonly derivationIndex: number | null;
  /** The merchant whose money a settlement pays out. */
  readonly merchantId: MerchantId | null;
  /** The refund of a leg; null for every other kind. */
  readonly refund: {
    readonly sessionId: string;
    readonly refundId: string;
  } | null;
  /** The deposits that fund a refund or a return; their parts add up to the amount. */
  readonly deposits: readonly TakenDeposit[];
  /** The transfer that a return of native coin pays back; absent for every other kind. */
  readonly transfer?: NativeTransfer;
}

/** The treasury's account on the network: the sender of everything except sweeps, and the receiver of those. */
export const treasuryOf = ({ kind, fromAddress, toAddress }: OutgoingTransaction): string =>
  kind === 'sweep' ? toAddress : fromAddress;

/** The transactions that brought the money that it pays back. */
export const fundedBy = ({ deposits, transfer }: OutgoingTransaction): readonly Funding[] => [
  ...new Map([...deposits, ...(transfer ? [transfer] : [])].map((funding) => [funding.txHash, funding])).values(),
];

/** `blockNumber`: where a deposit was seen. */
export interface Funding {
  readonly txHash: string;
  readonly blockNumber?: number | undefined;
}

/** Whether it moves the network's own coin, without a token contract. */
export const isNative = ({ kind }: Pick<OutgoingTransaction, 'kind'>): boolean =>
  kind === 'gas_top_up' || kind === 'native_return' || kind === 'nonce_account';

/** Thrown for a transfer that would be refused again in the same way, so retrying is useless. */
export class TransferImpossible extends Error {
  override readonly name = 'TransferImpossible';
  readonly reason: ImpossibleReason;

  constructor(reason: ImpossibleReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The token to move, and the amount in its base units. Throws `TransferImpossible`. */
export function tokenToMove(
  settings: NetworkSettings,
  { coin, amount }: Pick<OutgoingTransaction, 'coin' | 'amount'>,
): Token {
  const token = isCoin(coin) ? tokenOf(settings, coin) : undefined;
  if (!token) throw new TransferImpossible('token_not_supported', `${coin} is no token of ${settings.network}`);
  if (!fitsDecimals(amountOf(amount), token.decimals))
    throw new TransferImpossible(
      'amount_not_payable',
      `${amount} ${coin} is finer than the ${token.decimals} decimals it has on ${settings.network}`,
    );
  return token;
}

/** Why it can never be sent, according to token and chain. */
export type PreCheckFailure = 'recipient_frozen' | 'sender_frozen' | 'token_paused';

/** Whether it may be signed now. `wait` resolves with time or through an operator; `fail` does not. */
export type PreCheck =
  | { readonly kind: 'ready' }
  | { readonly kind: 'wait'; readonly reason: WaitReason; readonly detail: string }
  | { readonly kind: 'fail'; readonly reason: PreCheckFailure }
  /** The address that a sweep empties first needs this much native coin, in 10^-18 units. */
  | { readonly kind: 'needs_gas'; readonly amount: bigint };

export type WaitReason =
  | 'insufficient_funds'
  | 'insufficient_gas'
  | 'network_fee_too_high'
  /** Signed and sent, and refused by every node that answered, for another reason than its fee. */
  | 'broadcast_refused'
  /** Signed and sent, and in a block that no provider shows. */
  | 'not_shown'
  | 'chain_unavailable'
  | 'waiting_for_approval'
  /** The merchant's account in the books does not cover the refund, and two people have not approved that others do. */
  | 'exceeds_account'
  | 'policy_limit'
  | 'payouts_stopped'
  | 'signer_unavailable'
  /** Every nonce account of the treasury is in use, or the first one is being created. */
  | 'sequence_busy'
  /** The deposit to pay back left the chain before anything was signed, and may come back. */
  | 'deposit_not_final'
  /** The same after signing: it is not sent again before the deposit is back. */
  | 'deposit_reverted'
  /** An unforeseen error. */
  | 'unexpected_error';

/** Whether a person must look: it does not resolve itself, or should never have happened. */
export const needsLook = (reason: WaitReason): boolean =>
  reason === 'deposit_reverted' || reason === 'unexpected_error' || reason === 'not_shown';

/**
 * Why the sender's tokens do not suffice in addition to what is reserved; null if they do. `balance` in 10^-18 units.
 */
export function lackOfFunds(
  { fromAddress, amount, coin, network }: Pick<OutgoingTransaction, 'fromAddress' | 'amount' | 'coin' | 'network'>,
  balance: bigint,
  reserved: Reserved,
): PreCheck | null {
  const need = amountOf(amount) + ((isCoin(coin) ? reserved.coins[coin] : undefined) ?? 0n);
  if (balance >= need) return null;
  const detail = `the treasury ${fromAddress} holds ${formatAmount(balance)} ${coin} on ${network} and owes ${formatAmount(need)}`;
  return { kind: 'wait', reason: 'insufficient_funds', detail };
}

/** Reserved for transactions that have not landed yet. */
export interface Reserved {
  /** 10^-18 units by coin. */
  readonly coins: Readonly<Partial<Record<Coin, bigint>>>;
  /** Number of transactions, each of which may still cost its network fee. */
  readonly payouts: number;
}

export const NOTHING_RESERVED: Reserved = { coins: {}, payouts: 0 };

/** Signed bytes whose fate is queried. */
export interface SentTransaction {
  readonly txHash: string;
  readonly signedBytes: string;
  readonly validity: TransactionValidity;
  readonly signedAtSec?: number;
}

export interface LandedTransaction {
  readonly txHash: string;
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly blockTimeSec: number;
  /** Decimal string in units of the native coin, from the receipt. */
  readonly networkFee: string;
}

/**
 * The chain's view of everything signed for one order. Only `landed`, `ineffective` and `never` are conclusions, which
 * need two providers if two are configured; for all others, the same bytes are sent again.
 */
export type Fate =
  /** Nobody has it: broadcast the same bytes again. */
  | { readonly kind: 'absent' }
  /**
   * Known to a node, or in a block that is not deep enough. `unseen`: why nobody shows what became of it although one of
   * the transactions must be in a block.
   */
  | { readonly kind: 'pending'; readonly inBlock: boolean; readonly unseen?: string }
  | { readonly kind: 'landed'; readonly landed: LandedTransaction; readonly final: boolean }
  /** In a final block, but it moved nothing. */
  | {
      readonly kind: 'ineffective';
      readonly txHash: string;
      readonly networkFee: string;
      /** Where it was seen: nodes forget the hashes of old transactions and keep their blocks. */
      readonly blockNumber?: number;
    }
  /** A chain rule excludes it permanently in the final state; a new transaction may be signed. */
  | { readonly kind: 'never' }
  /** Impossible for one of our transactions: nothing more is sent from this treasury. */
  | { readonly kind: 'alarm'; readonly detail: string };

export interface LandedCheck {
  /**
   * True if all queried providers have another block at its height and do not have the transaction. The latter alone
   * proves nothing.
   */
  readonly vanished: boolean;
  /** True if one of them lacks it although its block is in the chain. */
  readonly withheld: boolean;
  readonly final: boolean;
  readonly headNumber: number;
}

/**
 * The signed transactions of one order to send: all that share a nonce; elsewhere only the newest, which may be a
 * cancelling one.
 */
export function mayStillLand<Sent extends SentTransaction>(sent: readonly Sent[]): readonly Sent[] {
  if (sent.some(isCancelling)) return sent.filter(isCancelling);
  const newest = sent.slice(-1);
  return newest.every(isReplaceable) ? sent : newest;
}

/** Whether it has a nonce, by which at most one of it and its replacements lands. */
export const isReplaceable = ({ validity: { kind } }: SentTransaction): boolean =>
  kind === 'evm-nonce' || kind === 'solana-nonce';

export const validityOf = (draft: TransactionDraft): TransactionValidity => {
  switch (draft.kind) {
    case 'evm-cancel':
      return { kind: 'evm-nonce', nonce: draft.nonce, maxFeePerGas: draft.maxFeePerGas, cancels: true };
    case 'evm':
    case 'evm-native':
      return { kind: 'evm-nonce', nonce: draft.nonce, maxFeePerGas: draft.maxFeePerGas };
    case 'tron':
    case 'tron-native':
      return { kind: 'tron-expiration', expirationMs: draft.expirationMs };
    case 'solana':
      return { kind: 'solana-nonce', nonceIndex: draft.nonceIndex, nonce: draft.nonce };
    case 'solana-nonce-account':
      return { kind: 'solana-blockhash', blockhash: draft.blockhash };
  }
};
