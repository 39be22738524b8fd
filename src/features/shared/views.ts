import type { RefundFailureReason } from '../../domain/events/refund-failures.ts';
import type { RateLock } from '../../domain/events/coin-events.ts';
import type { DepositFacts, DepositKind, PaymentOption } from '../../domain/events/session-events.ts';
import type { SessionPersonalData } from '../../domain/events/session-personal-data.ts';
import type { MerchantId, Mode, RefundId, SessionId, TransactionId } from '../../domain/values/ids.ts';
import type { Coin } from '../../domain/money/money.ts';
import type { Network } from '../../domain/networks/networks.ts';
import type { Sender } from '../../domain/networks/senders.ts';

/** The life-cycle status of a session. The public `payment_status` is `paid` for `paid`, otherwise `unpaid`. */
export type SessionStatus = 'open' | 'processing' | 'paid' | 'expired' | 'failed' | 'cancelled';

export interface DepositView extends DepositFacts {
  readonly transactionId: TransactionId;
  readonly kind: DepositKind;
  readonly status: 'detected' | 'final' | 'reverted' | 'failed';
  /** Null while unknown. */
  readonly sender: Sender | null;
  /** The most that a refund naming this deposit can take. */
  readonly refundable: string;
}

export interface PayoutView {
  readonly legId: string;
  readonly network: Network;
  readonly coin: Coin;
  readonly toAddress: string;
  readonly amount: string;
  readonly status: 'PENDING' | 'PROCESSING' | 'COMPLETED' | 'FAILED';
  readonly txHash: string | null;
  /** In the network's native coin. */
  readonly networkFee: string | null;
  readonly failureReason: RefundFailureReason | null;
}

export interface RefundView {
  readonly refundId: RefundId;
  readonly sessionId: SessionId;
  readonly orderId: string;
  readonly coin: Coin;
  readonly amount: string;
  readonly type: 'full' | 'partial';
  readonly status: 'PENDING' | 'PROCESSING' | 'COMPLETED' | 'FAILED';
  readonly reason: string | null;
  readonly payouts: readonly PayoutView[];
  readonly createdSec: number;
  readonly updatedSec: number;
  readonly failureReason: RefundFailureReason | null;
  readonly amountReturned: string;
}

/** The same fields as those of the session. */
export type AlternativeView = Pick<SessionView, 'dueCoin' | 'dueAmount' | 'tolerance' | 'paymentOptions'> & {
  readonly rateLock: RateLock;
};

/** Everything that a reader of a session may see; presenters choose the wire form. Amounts are decimal strings. */
export interface SessionView {
  readonly sessionId: SessionId;
  readonly mode: Mode;
  readonly merchantId: MerchantId;
  readonly orderId: string;
  readonly status: SessionStatus;
  readonly amount: string;
  /** Upper case. */
  readonly currency: string;
  readonly dueCoin: Coin;
  readonly dueAmount: string;
  /** The amount by which a payment may fall short. */
  readonly tolerance: string;
  readonly rateLock: RateLock | null;
  readonly taxAmount: string | null;
  readonly shippingAmount: string | null;
  readonly createdAtSec: number;
  /** Only moves earlier: a cancel sets it to the cancellation time. */
  readonly expiresAtSec: number;
  /** Options in the due coin. */
  readonly paymentOptions: readonly PaymentOption[];
  /** How to pay in the other coin while no money has decided; null if there is no choice. */
  readonly alternative: AlternativeView | null;
  readonly domainId: string | null;
  /** Null if there is none or its key was erased. */
  readonly personal: SessionPersonalData | null;
  /** The previous and the next attempt to have the order paid. */
  readonly supersedes: SessionId | null;
  readonly supersededBy: SessionId | null;
  /** Final on-time money in the settlement coin that the merchant holds: neither refunded nor reserved for a refund. */
  readonly received: string;
  /** Seen on time but not final yet. */
  readonly pending: string;
  /** The part of `received` above what was due; zero until the session is paid. */
  readonly excess: string;
  readonly refunded: string;
  /** The most that a refund without a named deposit can take, in the settlement coin. */
  readonly refundable: string;
  /** The same for every coin, in the order of `COINS`. */
  readonly refundableByCoin: readonly { readonly coin: Coin; readonly amount: string }[];
  readonly reversed: boolean;
  readonly afterExpiry: boolean;
  readonly paidAtSec: number | null;
  /** What had been received when it was paid. */
  readonly paidWith: string | null;
  readonly deposits: readonly DepositView[];
  readonly refunds: readonly RefundView[];
}
