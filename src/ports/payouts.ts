import type { PayoutValidity } from '../domain/events/payout-draft.ts';
import type { UsedNonces } from '../domain/events/treasury-events.ts';
import { isCancelling, type JournalPlace, type MoveDraft, type PayoutDraft } from '../domain/events/payout-draft.ts';
import type { ImpossibleReason, RefundFailureReason } from '../domain/events/refund-failures.ts';
import type { TakenDeposit } from '../domain/deposit-proof.ts';
import type { Mode } from '../domain/ids.ts';
import { amountOf, fitsDecimals, type Coin } from '../domain/money.ts';
import { tokenOf, type Network, type NetworkSettings, type Token } from '../domain/networks.ts';

/** One leg of a refund, as the session's own stream has it. */
export interface PayoutOrder {
  readonly mode: Mode;
  readonly network: Network;
  readonly sessionId: string;
  readonly refundId: string;
  readonly legId: string;
  readonly coin: Coin;
  /** Decimal string in units of the coin. */
  readonly amount: string;
  readonly toAddress: string;
  /** The deposits whose money it is; their amounts add up to that of the payout. */
  readonly deposits: readonly TakenDeposit[];
}

/** A token transfer, whatever it is for. */
export type TokenTransfer = Pick<PayoutOrder, 'coin' | 'amount' | 'toAddress'>;

/** Thrown for a transfer that would be refused in the same way the next time: asking again helps nobody. */
export class TransferImpossible extends Error {
  override readonly name = 'TransferImpossible';
  readonly reason: ImpossibleReason;

  constructor(reason: ImpossibleReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The token that the order moves, in units that it has. Throws `TransferImpossible`. */
export function tokenToMove(settings: NetworkSettings, { coin, amount }: Pick<TokenTransfer, 'coin' | 'amount'>): Token {
  const token = tokenOf(settings, coin);
  if (!token) throw new TransferImpossible('token_not_supported', `${coin} is no token of ${settings.network}`);
  if (!fitsDecimals(amountOf(amount), token.decimals))
    throw new TransferImpossible(
      'amount_not_payable',
      `${amount} ${coin} is finer than the ${token.decimals} decimals it has on ${settings.network}`,
    );
  return token;
}

/** Whether a payout may be signed now. `wait` resolves itself, with time or an operator; `fail` does not. */
export type PreCheck =
  | { readonly kind: 'ready' }
  | { readonly kind: 'wait'; readonly reason: WaitReason; readonly detail: string }
  | { readonly kind: 'fail'; readonly reason: RefundFailureReason };

export type WaitReason =
  | 'insufficient_funds'
  | 'insufficient_gas'
  | 'network_fee_too_high'
  | 'chain_unavailable'
  | 'waiting_for_approval'
  | 'policy_limit'
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
export const needsLook = (reason: WaitReason): boolean => reason === 'deposit_reverted' || reason === 'unexpected_error';

/** What is reserved to payouts that have not landed yet. */
export interface Reserved {
  /** 10^-18 units by coin. */
  readonly coins: Readonly<Partial<Record<Coin, bigint>>>;
  /** Payouts in flight, each of which may still take its network fee. */
  readonly payouts: number;
}

/** The next number of the account's own sequence as the chain has it. */
export interface ChainSequence {
  /** Included in blocks so far; null where the chain has no numbered sequence. */
  readonly next: number | null;
  /** The same at the chain's finality. */
  readonly final: number | null;
}

/** Bytes whose fate is asked for. */
export interface SentPayout {
  readonly txHash: string;
  readonly signedBytes: string;
  readonly validity: PayoutValidity;
}

export interface LandedPayout {
  readonly txHash: string;
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly blockTimeSec: number;
  /** Decimal string in units of the native coin, from the receipt. */
  readonly networkFee: string;
}

/**
 * What the chain says about everything that was signed for a leg. Only `landed`, `ineffective` and `never` are conclusions,
 * and they need two providers where two are configured; all else means: the same bytes again.
 */
export type PayoutFate =
  /** Nobody shows it: broadcast the same bytes again. */
  | { readonly kind: 'absent' }
  /** Known to a node, or in a block that is not deep enough. */
  | { readonly kind: 'pending'; readonly inBlock: boolean }
  | { readonly kind: 'landed'; readonly landed: LandedPayout; readonly final: boolean }
  /** In a final block, but it moved nothing. */
  | { readonly kind: 'ineffective'; readonly txHash: string; readonly networkFee: string }
  /** The chain's own rule excludes it for good, on final state; a new transaction may be signed. */
  | { readonly kind: 'never' }
  /** Something a payout of ours cannot be: payouts of this treasury stop. */
  | { readonly kind: 'alarm'; readonly detail: string };

export interface LandedCheck {
  /** True when all providers asked show another block at its height and not the payout itself. That they do not show it proves nothing. */
  readonly vanished: boolean;
  /** True when one of them does not show it although its block is in the chain. */
  readonly withheld: boolean;
  readonly final: boolean;
  readonly headNumber: number;
}

/** Sends money from the treasury on one network. Reads throw `ChainUnavailable`. */
export interface PayoutChain {
  readonly network: Network;
  readonly mode: Mode;
  readonly settings: NetworkSettings;
  /** Balance, gas, freezes and pauses, as the chain has them now. */
  check(order: TokenTransfer, treasury: string, reserved: Reserved): Promise<PreCheck>;
  sequence(treasury: string): Promise<ChainSequence>;
  /**
   * A transaction ready to be signed, at today's fees; null while nothing is free to tell it apart by (`sequence_busy`). `nonce` is null where
   * the chain has none.
   */
  draft(order: TokenTransfer, treasury: string, nonce: number | null, used: UsedNonces): Promise<PayoutDraft | null>;
  /** The same payout at a fee the network would take now; null while the old fee is good enough or the chain cannot replace. */
  bump(draft: PayoutDraft): Promise<PayoutDraft | null>;
  /**
   * A transaction that moves nothing and excludes the one drawn up; null while it would cost more than the limit allows. Absent where
   * nothing that is signed keeps what comes after it from landing.
   */
  cancel?(draft: PayoutDraft): Promise<PayoutDraft | null>;
  /** Hands the bytes to every provider. What they answer proves nothing, so there is no answer. */
  broadcast(payout: SentPayout): Promise<void>;
  /** Newest payout last. */
  fate(order: TokenTransfer, treasury: string, payouts: readonly SentPayout[]): Promise<PayoutFate>;
  /** Whether a payout that had landed is still in the chain. */
  hasVanished(landed: Pick<LandedPayout, 'txHash' | 'blockNumber' | 'blockHash'>): Promise<LandedCheck>;
  /** How long a payout may stay out before its fee is looked at again. */
  readonly bumpAfterMs: number;
  close(): Promise<void>;
}

/** Those of the transactions signed for one transfer that are to be sent: all that share a nonce, elsewhere the newest alone, which a cancelled one is, too. */
export function mayStillLand<Sent extends SentPayout>(sent: readonly Sent[]): readonly Sent[] {
  if (sent.some(isCancelling)) return sent.filter(isCancelling);
  const kind = sent.at(-1)?.validity.kind;
  return kind === 'evm-nonce' || kind === 'solana-nonce' ? sent : sent.slice(-1);
}

/** Whether no node shows a transaction that waits for a block: then one that nobody shows may offer too little. */
export const waitsUnseen = (sent: readonly SentPayout[]): boolean => sent.at(-1)?.validity.kind === 'solana-nonce';

export const validityOf = (draft: MoveDraft): PayoutValidity => {
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

/** What the signer is asked to sign, and how far the ledger has come. */
export interface PayoutRequest {
  readonly order: PayoutOrder;
  readonly attempt: number;
  readonly fromAddress: string;
  readonly draft: PayoutDraft;
  /** The place that the ledger's last signed payout of this treasury has in the signer's journal; null before the first. */
  readonly ledger: JournalPlace | null;
}

/**
 * Why the signer does not sign. `denied`: never. `later`: when something changes. `stopped`: journal and ledger disagree
 * or a rule of safety is broken; nothing is paid from this treasury until an operator looked.
 */
export interface PayoutRefusal {
  readonly ok: false;
  readonly kind: 'denied' | 'later' | 'stopped';
  readonly code: string;
  readonly message: string;
}

export type PayoutVerdict = { readonly ok: true } | PayoutRefusal;

export type PayoutSignature =
  { readonly ok: true; readonly txHash: string; readonly signedBytes: string; readonly journal: JournalPlace } | PayoutRefusal;

/** The signer's account that refunds are paid from, per family. */
export interface TreasuryAddresses {
  readonly evm: string;
  readonly tron: string;
  readonly solana: string;
}

export interface SignerPayoutStatus {
  readonly stopped: boolean;
  /** Reported, and not explained by two approvers. */
  readonly unknownOutflows: number;
  /** Where the configuration allows more than is in force, in words. */
  readonly limitsToApprove: readonly string[];
  /** Approvals that proved nothing, since the signer's start. */
  readonly wrongApprovals: number;
  /** Transactions that were signed. */
  readonly entries: number;
  readonly place: JournalPlace | null;
}

/** The signer's side of money out. It trusts nothing it is told that it can check on chain. */
export interface PayoutSigner {
  treasuryAddresses(mode: Mode): Promise<TreasuryAddresses>;
  /** Whether the policy would let the payout pass now; signs nothing. */
  checkPayout(order: PayoutOrder): Promise<PayoutVerdict>;
  /** The same request gets the same bytes for ever. */
  signPayout(request: PayoutRequest): Promise<PayoutSignature>;
  /** Gives the reserved money back to its deposits once the signer itself saw on chain that the payout had no effect. */
  releasePayout(order: PayoutOrder): Promise<PayoutVerdict>;
  /** The kill switch: nothing is signed until two approvers want it again. */
  stop(mode: Mode, by: string): Promise<SignerPayoutStatus>;
  payoutStatus(mode: Mode): Promise<SignerPayoutStatus>;
}
