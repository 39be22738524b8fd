import type { MerchantId, Mode, SessionId } from '../values/ids.ts';
import type { Coin } from '../money/money.ts';
import type { Network } from '../networks/networks.ts';
import type { Sender } from '../networks/senders.ts';
import type { UnknownPayer } from '../networks/unknown-payer.ts';
import type { CoinChosen, CoinTerms, RateLock, Valuation } from './coin-events.ts';
import type { RefundEvent } from './refund-events.ts';

/*
 * These types are the storage format of the `session-<id>` streams. A change needs a new version and an upcaster.
 * Amounts are exact decimal strings in units of their coin or currency; times are Unix seconds.
 */

/** How to pay the session on one network. */
export interface PaymentOption {
  readonly network: Network;
  readonly coin: Coin;
  readonly tokenAddress: string;
  readonly decimals: number;
  readonly chainId: string;
  readonly address: string;
  /** Last path element of the address (BIP-44; Solana: the account of `m/44'/501'/i'/0'`). */
  readonly derivationIndex: number;
  /** Solana only: the owner's associated token account of the coin, where the money lands. */
  readonly tokenAccount?: string;
  /** Solana Pay reference key, base58. */
  readonly reference?: string;
  /** How final a transfer must be before it counts. */
  readonly finality: FinalityRule;
}

/** `finalized`: the chain's own finality. `confirmations`: that many blocks deep, including the block itself. */
export type FinalityRule =
  | { readonly kind: 'finalized' }
  | { readonly kind: 'confirmations'; readonly confirmations: number };

export interface SessionPolicy {
  /** Units of the coin by which the payment may fall short. */
  readonly tolerance: string;
  /** Transfers below this never change a state. */
  readonly dustLimit: string;
  /** The operator's fee on the amount due, in hundredths of a percent; absent: no fee. */
  readonly serviceFeeBasisPoints?: number;
}

export interface SessionCreated {
  readonly type: 'SessionCreated';
  readonly data: {
    readonly sessionId: SessionId;
    readonly mode: Mode;
    readonly merchantId: MerchantId;
    readonly orderId: string;
    /** Keyed hash of the canonical request; distinguishes a safe retry from a conflict. */
    readonly requestHash: string;
    readonly amount: string;
    /** Merchant currency, upper case. */
    readonly currency: string;
    readonly dueCoin: Coin;
    readonly dueAmount: string;
    /** Null when the merchant currency is the settlement coin. */
    readonly rateLock: RateLock | null;
    readonly taxAmount: string | null;
    readonly shippingAmount: string | null;
    readonly createdAtSec: number;
    /** The previous attempt; absent for the first. */
    readonly supersedes?: SessionId;
    readonly expiresAtSec: number;
    /** Options in the coin that is due and, where there is an alternative, in its coin too. */
    readonly paymentOptions: readonly PaymentOption[];
    /** The other coin that may pay the order instead, until money arrives; absent where only one coin may. */
    readonly alternative?: CoinTerms;
    readonly policy: SessionPolicy;
    readonly domainId: string | null;
    /** `SessionPersonalData`, sealed with the session's erasable key; null when there is none. */
    readonly personal: string | null;
  };
}

/** How a transfer to one of our addresses relates to its session, judged when it was first seen. */
export type DepositKind =
  /** The session's coin, at or before `expires_at` by block time. */
  | 'on_time'
  /** The session's coin, after `expires_at` or after cancellation. Refundable, never pays. */
  | 'late'
  /** Another coin we know. Refundable, never pays. */
  | 'wrong_coin'
  /** The right coin on a network that the session does not offer. Refundable, never pays. */
  | 'wrong_network'
  /** Below the dust limit. Never changes a state. */
  | 'dust'
  /** From an address of ours. It pays nothing, belongs to no merchant and is paid back to nobody. */
  | 'own';

export interface DepositFacts {
  /** `<network>:<tx hash>:<log or instruction index>`: unique per transfer. */
  readonly depositKey: string;
  readonly network: Network;
  readonly coin: Coin;
  readonly tokenAddress: string;
  readonly amount: string;
  /** Null when the chain does not name exactly one payer ("payer ambiguous"). */
  readonly fromAddress: string | null;
  /** Why that is null; absent where the network knows one reason only. */
  readonly unknownPayer?: UnknownPayer;
  readonly toAddress: string;
  readonly txHash: string;
  readonly logIndex: number;
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly blockTimeSec: number;
  /** Present for transfers too small to be kept one by one; transaction and block are those of the newest. */
  readonly together?: CountedTogether;
}

/** Small transfers to one address in final blocks, as one deposit of their sum. */
export interface CountedTogether {
  readonly transfers: number;
  readonly fromBlock: number;
  /** The amount of the largest: one that is found later in these blocks and no larger was counted. */
  readonly largest: string;
}

export interface DepositDetected {
  readonly type: 'DepositDetected';
  readonly data: DepositFacts & { readonly kind: DepositKind };
}

export interface DepositConfirmed {
  readonly type: 'DepositConfirmed';
  readonly data: {
    readonly depositKey: string;
    readonly rule: FinalityRule;
    /** The block in which it became final; a reorg may have moved the transfer since it was detected. */
    readonly blockNumber: number;
    readonly blockHash: string;
    readonly blockTimeSec: number;
    /** Chain head when the finality rule was met. */
    readonly headNumber: number;
    /** The payer; absent when that could not be determined at the time. */
    readonly sender?: Sender;
    /**
     * Its kind now, when a reorganisation moved it to the other side of the deadline. Follows from the block; stated
     * for readers that do not know the deadline.
     */
    readonly kind?: DepositKind;
  };
}

export interface DepositReverted {
  readonly type: 'DepositReverted';
  readonly data: {
    readonly depositKey: string;
    /**
     * `reorg`: its block left the chain. `failed`: it is in the chain without effect. `not_in_block`: its block is in
     * the chain and never contained it.
     */
    readonly reason: 'reorg' | 'failed' | 'not_in_block';
    /** True when the deposit had been final: raises an alarm, posts a reversing entry, and sets `reversed: true`. */
    readonly afterFinal: boolean;
    readonly headNumber: number;
    /** When it was noticed, by the clock of the process that noticed it. */
    readonly revertedAtSec: number;
  };
}

/** An operator moves a final deposit that pays nothing here to the inbox, to be attached elsewhere or returned. */
export interface DepositSetAside {
  readonly type: 'DepositSetAside';
  readonly data: {
    readonly depositKey: string;
    /** The decision in the transfer's own stream that this carries out. */
    readonly operation: number;
    readonly setAsideAtSec: number;
  };
}

/** The decision was undone: the deposit belongs to the session again. */
export interface DepositPutBack {
  readonly type: 'DepositPutBack';
  readonly data: { readonly depositKey: string; readonly operation: number; readonly putBackAtSec: number };
}

/** The decision is void for this session: none of its delayed steps may start. Moves no money. */
export interface TransferGivenUp {
  readonly type: 'TransferGivenUp';
  readonly data: { readonly depositKey: string; readonly operation: number; readonly givenUpAtSec: number };
}

/** An operator attached a transfer that arrived at another of our addresses. */
export interface TransferCredited {
  readonly type: 'TransferCredited';
  readonly data: DepositFacts & {
    readonly operation: number;
    /** `on_time` while the session can be paid, `late` afterwards: then it is refundable and never pays. */
    readonly kind: 'on_time' | 'late';
    /** Derivation index of the address that received it; null for the treasury. */
    readonly derivationIndex: number | null;
    readonly sender: Sender | null;
    readonly creditedAtSec: number;
  };
}

export interface TransferCreditReversed {
  readonly type: 'TransferCreditReversed';
  readonly data: Pick<TransferCredited['data'], 'depositKey' | 'network' | 'coin' | 'amount' | 'kind' | 'operation'> & {
    readonly reversedAtSec: number;
  };
}

export interface SessionPaid {
  readonly type: 'SessionPaid';
  readonly data: {
    readonly coin: Coin;
    readonly due: string;
    /** Final on-time money that the merchant holds: neither returned nor reserved for a refund. */
    readonly received: string;
    readonly excess: string;
    readonly paidAtSec: number;
    /** True when `payment.expired` or `payment.failed` was sent before; this event is authoritative. */
    readonly afterExpiry: boolean;
    readonly valuation: Valuation | null;
  };
}

export interface SessionExpired {
  readonly type: 'SessionExpired';
  readonly data: {
    readonly expiredAtSec: number;
    readonly coin: Coin;
    /** Final on-time money that the merchant holds: less than the amount due. */
    readonly received: string;
    /** Chain time up to which each network was scanned; null where it was unreachable and the wait timed out. */
    readonly scannedToSec: Readonly<Partial<Record<Network, number | null>>>;
  };
}

/** A payment that would have sufficed was seen and is permanently lost. */
export interface SessionFailed {
  readonly type: 'SessionFailed';
  readonly data: {
    readonly failedAtSec: number;
    readonly coin: Coin;
    readonly received: string;
    readonly reason: 'payment_lost';
  };
}

export interface SessionCancelled {
  readonly type: 'SessionCancelled';
  readonly data: {
    readonly cancelledAtSec: number;
    readonly coin: Coin;
    /** Final on-time money that the merchant holds: less than the amount due. */
    readonly received: string;
    readonly inFlight: boolean;
  };
}

/** Time travel in the sandbox: a test session ends earlier. */
export interface SessionDeadlineMoved {
  readonly type: 'SessionDeadlineMoved';
  readonly data: { readonly expiresAtSec: number; readonly movedAtSec: number };
}

export type SessionEvent =
  | SessionCreated
  | DepositDetected
  | DepositConfirmed
  | DepositReverted
  | DepositSetAside
  | DepositPutBack
  | TransferGivenUp
  | TransferCredited
  | TransferCreditReversed
  | CoinChosen
  | SessionPaid
  | SessionExpired
  | SessionFailed
  | SessionCancelled
  | SessionDeadlineMoved
  | RefundEvent;
