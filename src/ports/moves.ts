import type { UsedNonces } from '../domain/events/treasury-events.ts';
import type { JournalPlace, MoveDraft } from '../domain/events/payout-draft.ts';
import type { MoveKind, MoveTerms } from '../domain/events/treasury-move-events.ts';
import type { HashedParts } from '../domain/events/canonical-text.ts';
import type { Mode } from '../domain/ids.ts';
import { isCoin, type Coin } from '../domain/money.ts';
import type { NativeCoin, Network, NetworkSettings } from '../domain/networks.ts';
import type { PayoutFate, PayoutSignature, PayoutVerdict, Reserved, SentPayout, TokenTransfer, WaitReason } from './payouts.ts';

/** A move of money that is not a refund, as the treasury's own stream has it. */
export interface MoveOrder extends MoveTerms {
  readonly kind: MoveKind;
}

/** The transfer of a token that the move is. Throws for a move of the native coin, which is a bug. */
export function tokenTransferOf({ coin, amount, toAddress }: MoveOrder): TokenTransfer {
  if (!isCoin(coin)) throw new Error(`${coin} is no token`);
  return { coin, amount, toAddress };
}

/** Why a move can never be made. */
export type MoveFailure = 'recipient_frozen' | 'sender_frozen' | 'token_paused';

/** The same fault in a move's words: its sender is not always the treasury. */
export const moveFailureOf = (reason: string): MoveFailure => (reason === 'recipient_frozen' || reason === 'token_paused' ? reason : 'sender_frozen');

/** Whether a move may be signed now. */
export type MoveCheck =
  | { readonly kind: 'ready' }
  | { readonly kind: 'wait'; readonly reason: WaitReason; readonly detail: string }
  | { readonly kind: 'fail'; readonly reason: MoveFailure }
  /** The sending address must be given this much of the native coin first, in 10^-18 units. */
  | { readonly kind: 'needs_gas'; readonly amount: bigint };

export interface AccountBalances {
  /** 10^-18 units by coin. */
  readonly coins: Readonly<Partial<Record<Coin, bigint>>>;
  readonly native: bigint;
}

/** Moves money of our own accounts on one network. Reads throw `ChainUnavailable`. */
export interface MoveChain {
  readonly network: Network;
  readonly mode: Mode;
  readonly settings: NetworkSettings;
  balances(address: string): Promise<AccountBalances>;
  /** What many addresses hold of the network's tokens, in the order asked and in few calls; by final state where the chain serves that. */
  tokenBalances(addresses: readonly string[]): Promise<readonly AccountBalances['coins'][]>;
  /** `treasury` pays fees where the sender need not. */
  check(order: MoveOrder, treasury: string, reserved: Reserved): Promise<MoveCheck>;
  /** The next number of an account's own sequence; null where the chain has none. */
  nextNonce(address: string): Promise<number | null>;
  /** Null while nothing is free to tell it apart by. */
  draft(order: MoveOrder, treasury: string, nonce: number | null, used: UsedNonces): Promise<MoveDraft | null>;
  /** An account that the treasury must make before more of its transactions can be out; null where none is wanted. */
  missingAccount?(treasury: string, used: UsedNonces): Promise<MissingAccount | null>;
  /** The same move at a fee the network would take now; null while the old fee is good enough or the chain cannot replace. */
  bump(draft: MoveDraft): Promise<MoveDraft | null>;
  broadcast(sent: SentPayout): Promise<void>;
  /** Newest last. */
  fate(order: MoveOrder, sent: readonly SentPayout[]): Promise<PayoutFate>;
  readonly bumpAfterMs: number;
  /** The highest block that the chain calls final. */
  finalBlock(): Promise<number>;
  /** What transactions that are not ours took from an address, from a block to the newest one, each with its fee where the address paid it. */
  outflows(address: string, fromBlock: number, strangersAmong: StrangersAmong): Promise<readonly SeenOutflow[]>;
}

export interface MissingAccount {
  readonly index: number;
  readonly address: string;
  /** 10^-18 units of the native coin. */
  readonly rent: bigint;
}

/** Those of the transactions that we never signed. */
export type StrangersAmong = (txHashes: readonly string[]) => Promise<ReadonlySet<string>>;

/** What one transaction took from one of our addresses, as the chain shows it. */
export interface SeenOutflow {
  /** Null, as `units` is, for a transaction of the address that moved none of our coins. */
  readonly coin: Coin | NativeCoin | null;
  /** 10^-18 units. */
  readonly units: bigint | null;
  /** Null where it went to several, or as a fee. */
  readonly toAddress: string | null;
  readonly txHash: string;
  /** Tells the outflows of one transaction apart: the place of its log, or a word. */
  readonly part: string;
  readonly blockNumber: number;
}

export interface MoveRequestToSign {
  readonly order: MoveOrder;
  readonly attempt: number;
  readonly draft: MoveDraft;
  /** The place that the ledger's last signed transaction of this treasury has in the signer's journal. */
  readonly ledger: JournalPlace | null;
}

/** Where a merchant's money goes on one network. */
export interface SettlementDestination {
  readonly mode: Mode;
  readonly network: Network;
  readonly merchantId: string;
  readonly address: string;
}

/** An event as the signer hashes and books it. */
export type LedgerEvent = HashedParts;

/** How far the signer has read the event log, and what it found that cannot be. */
export interface LedgerTaken {
  readonly size: number;
  readonly fault: string | null;
}

/** The signer's side of money that is not a refund. */
export interface MoveSigner {
  /** The events of the log from leaf `from` on; none to ask how far the signer is. Settlements are judged by nothing else. */
  takeLedger(from: number, events: readonly LedgerEvent[]): Promise<LedgerTaken>;
  /** Whether the policy would let the move pass now; signs nothing. */
  checkMove(order: MoveOrder): Promise<PayoutVerdict>;
  /** The same request gets the same bytes for ever. */
  signMove(request: MoveRequestToSign): Promise<PayoutSignature>;
  /** Gives the money of a return back to its deposit once the signer itself saw on chain that nothing was paid. */
  releaseMove(order: MoveOrder): Promise<PayoutVerdict>;
  /** Those of the transactions that its journal does not hold. */
  unknownTransactions(mode: Mode, network: Network, txHashes: readonly string[]): Promise<readonly string[]>;
}
