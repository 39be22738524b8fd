import type { MerchantId, Mode, RefundId, SessionId, TransactionId } from '../../src/domain/values/ids.ts';
import { type Coin } from '../../src/domain/money/money.ts';
import type { Place } from './merchant-counters.ts';
import type { Table } from '../../src/ports/read-model/read-model.ts';

export const SESSIONS_TABLE: Table<SessionRow> = 'session-view@1';

export const SESSION_STATUSES = ['open', 'processing', 'paid', 'expired', 'failed', 'cancelled'] as const;
export type SessionRowStatus = (typeof SESSION_STATUSES)[number];

/** A session as lists show it. Amounts are decimal strings. */
export type SessionRow = {
  readonly sessionId: SessionId;
  readonly merchantId: MerchantId;
  readonly mode: Mode;
  readonly orderId: string;
  /** The previous attempt to have the order paid. */
  readonly supersedes: SessionId | null;
  readonly status: SessionRowStatus;
  readonly amount: string;
  /** Upper case. */
  readonly currency: string;
  readonly dueCoin: Coin;
  readonly dueAmount: string;
  /** Null without conversion, like `rateLockedAtSec`. */
  readonly rate: string | null;
  readonly rateLockedAtSec: number | null;
  readonly taxAmount: string | null;
  readonly shippingAmount: string | null;
  readonly createdAtSec: number;
  /** Only moves earlier: a cancel sets it to the cancellation time, the sandbox to whatever a test requests. */
  readonly expiresAtSec: number;
  readonly domainId: string | null;
  /** Still sealed with the session's erasable key. */
  readonly personal: string | null;
  /** Payment options as one text (see `paymentOptionsOf`), because a list reads thousands of them and uses few. */
  readonly options: string;
  /** Networks with money that arrived and was not lost again, with the number of transfers. */
  readonly arrivedOn: { readonly [network: string]: number };
  /** Final on-time money of the due coin, wherever it went since. */
  readonly arrived: string;
  /** The part of it that the merchant holds. */
  readonly received: string;
  /** The part of it that had been refunded when the session was paid. */
  readonly returnedUnpaid: string;
  /** On-time money seen but not final. */
  readonly pending: string;
  readonly pendingCount: number;
  readonly excess: string;
  readonly refunded: string;
  readonly refundable: string;
  readonly paidAtSec: number | null;
  readonly afterExpiry: boolean;
  readonly reversed: boolean;
  /** The same for the other coin. */
  readonly otherRefundable: string;
  readonly tolerance: string;
  /** Number of the session's records so far, for places in its own lists. */
  readonly transactions: number;
  readonly refunds: number;
  /** The first records: most sessions have no others, so these are not on the session's own lists. */
  readonly firstTransaction: TransactionId | null;
  readonly firstRefund: RefundId | null;
} & Place;

/** A row while an event is applied: one copy of the previous row, modified by each of the steps below. */
export type SessionDraft = { -readonly [Field in keyof SessionRow]: SessionRow[Field] };

/** A row of another table before and after the event. */
export interface Moved<Value> {
  readonly before: Value | null;
  readonly after: Value;
}
