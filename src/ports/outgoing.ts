import { isCancelling, type TransactionDraft, type TransactionValidity } from '../domain/events/transaction-draft.ts';
import type { MoveKind } from '../domain/events/treasury-move-events.ts';
import type { ImpossibleReason } from '../domain/events/refund-failures.ts';
import type { OrderedClaim } from '../domain/claims.ts';
import type { NativeTransfer, TakenDeposit } from '../domain/deposit-proof.ts';
import type { MerchantId, Mode } from '../domain/ids.ts';
import { amountOf, fitsDecimals, formatAmount, isCoin, type Coin } from '../domain/money.ts';
import { tokenOf, type NativeCoin, type Network, type NetworkSettings, type Token } from '../domain/networks.ts';

export type OutgoingKind = 'refund' | MoveKind;

/** Money that leaves one of our accounts, whatever it is for: the one thing that chains send and the signer judges. */
export interface OutgoingTransaction {
  readonly kind: OutgoingKind;
  /** Of the move, or of the leg of a refund. */
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
  /** Place in the wallet of the collection address that takes part, or number of the nonce account. */
  readonly derivationIndex: number | null;
  /** Whose money a settlement pays out. */
  readonly merchantId: MerchantId | null;
  /** What a refund belongs to; null for every other kind. */
  readonly refund: {
    readonly sessionId: string;
    readonly refundId: string;
    /** Why it goes to another than who paid. */ readonly claim?: OrderedClaim;
  } | null;
  /** Whose money a refund or a return is: what is taken of each adds up to the amount. */
  readonly deposits: readonly TakenDeposit[];
  /** What a return of native coin pays back; absent for every other kind. */
  readonly transfer?: NativeTransfer;
}

/** The treasury's account on the network: it sends all but sweeps, which end there. */
export const treasuryOf = ({ kind, fromAddress, toAddress }: OutgoingTransaction): string =>
  kind === 'sweep' ? toAddress : fromAddress;

/** Of the network's own coin, which no token contract takes part in. */
export const isNative = ({ kind }: Pick<OutgoingTransaction, 'kind'>): boolean =>
  kind === 'gas_top_up' || kind === 'native_return' || kind === 'nonce_account';

/** Thrown for a transfer that would be refused in the same way the next time: asking again helps nobody. */
export class TransferImpossible extends Error {
  override readonly name = 'TransferImpossible';
  readonly reason: ImpossibleReason;

  constructor(reason: ImpossibleReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The token that is moved, in units that it has. Throws `TransferImpossible`. */
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

/** Why something can never be sent, as token and chain say. */
export type PreCheckFailure = 'recipient_frozen' | 'sender_frozen' | 'token_paused';

/** Whether it may be signed now. `wait` resolves itself, with time or an operator; `fail` does not. */
export type PreCheck =
  | { readonly kind: 'ready' }
  | { readonly kind: 'wait'; readonly reason: WaitReason; readonly detail: string }
  | { readonly kind: 'fail'; readonly reason: PreCheckFailure }
  /** The address that a sweep empties must be given this much of the native coin first, in 10^-18 units. */
  | { readonly kind: 'needs_gas'; readonly amount: bigint };

export type WaitReason =
  | 'insufficient_funds'
  | 'insufficient_gas'
  | 'network_fee_too_high'
  | 'chain_unavailable'
  | 'waiting_for_approval'
  | 'policy_limit'
  /** The waiting time of an approved claim is not over. */
  | 'waiting_period'
  | 'payouts_stopped'
  | 'signer_unavailable'
  /** Every nonce account of the treasury is in use, or the first one is being made. */
  | 'sequence_busy'
  /** The deposit that it pays back left the chain before anything was signed, and may come back. */
  | 'deposit_not_final'
  /** The same after it was signed: it is not sent again before the deposit is back. */
  | 'deposit_reverted'
  /** Something that nobody foresaw. */
  | 'unexpected_error';

/** What a person must look at: it does not end by itself, or should never have come. */
export const needsLook = (reason: WaitReason): boolean =>
  reason === 'deposit_reverted' || reason === 'unexpected_error';

/**
 * Why the sender's tokens do not suffice for it beside what is reserved; null when they do. `balance` in 10^-18 units.
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

/** What is reserved to transactions that have not landed yet. */
export interface Reserved {
  /** 10^-18 units by coin. */
  readonly coins: Readonly<Partial<Record<Coin, bigint>>>;
  /** Transactions, each of which may still take its network fee. */
  readonly payouts: number;
}

export const NOTHING_RESERVED: Reserved = { coins: {}, payouts: 0 };

/** Bytes whose fate is asked for. */
export interface SentTransaction {
  readonly txHash: string;
  readonly signedBytes: string;
  readonly validity: TransactionValidity;
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
 * What the chain says about everything that was signed for one thing. Only `landed`, `ineffective` and `never` are
 * conclusions, and they need two providers where two are configured; all else means: the same bytes again.
 */
export type Fate =
  /** Nobody shows it: broadcast the same bytes again. */
  | { readonly kind: 'absent' }
  /** Known to a node, or in a block that is not deep enough. */
  | { readonly kind: 'pending'; readonly inBlock: boolean }
  | { readonly kind: 'landed'; readonly landed: LandedTransaction; readonly final: boolean }
  /** In a final block, but it moved nothing. */
  | { readonly kind: 'ineffective'; readonly txHash: string; readonly networkFee: string }
  /** The chain's own rule excludes it permanently, on final state; a new transaction may be signed. */
  | { readonly kind: 'never' }
  /** Something one of our transactions cannot be: nothing more is sent from this treasury. */
  | { readonly kind: 'alarm'; readonly detail: string };

export interface LandedCheck {
  /**
   * True when all providers asked show another block at its height and not the transaction itself. That they do not
   * show it proves nothing.
   */
  readonly vanished: boolean;
  /** True when one of them does not show it although its block is in the chain. */
  readonly withheld: boolean;
  readonly final: boolean;
  readonly headNumber: number;
}

/**
 * Those of the transactions signed for one thing that are to be sent: all that share a nonce, elsewhere the newest
 * alone, which a cancelled one is, too.
 */
export function mayStillLand<Sent extends SentTransaction>(sent: readonly Sent[]): readonly Sent[] {
  if (sent.some(isCancelling)) return sent.filter(isCancelling);
  const kind = sent.at(-1)?.validity.kind;
  return kind === 'evm-nonce' || kind === 'solana-nonce' ? sent : sent.slice(-1);
}

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
