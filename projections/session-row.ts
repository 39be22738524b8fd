import type { PaymentOption, SessionCreated, SessionEvent } from '../src/domain/events/session-events.ts';
import type { MerchantId, Mode, SessionId } from '../src/domain/ids.ts';
import { amountOf, formatAmount, type Coin } from '../src/domain/money.ts';
import type { Network } from '../src/domain/networks.ts';
import type { Place } from './merchant-counters.ts';
import type { RefundRow } from './refund-row.ts';
import type { TransactionRow } from './transaction-row.ts';

export const SESSIONS_TABLE = 'session-view@2';

export type SessionRowStatus = 'open' | 'processing' | 'paid' | 'expired' | 'failed' | 'cancelled';

/** A session as lists show it. Amounts are decimal strings. */
export type SessionRow = {
  readonly sessionId: SessionId;
  readonly merchantId: MerchantId;
  readonly mode: Mode;
  readonly orderId: string;
  readonly status: SessionRowStatus;
  readonly amount: string;
  /** Upper case. */
  readonly currency: string;
  readonly dueCoin: Coin;
  readonly dueAmount: string;
  /** Null without conversion, as is `rateLockedAtSec`. */
  readonly rate: string | null;
  readonly rateLockedAtSec: number | null;
  readonly taxAmount: string | null;
  readonly shippingAmount: string | null;
  readonly createdAtSec: number;
  /** Moves only earlier: a cancel sets it to the cancellation time. */
  readonly expiresAtSec: number;
  readonly domainId: string | null;
  /** Still sealed with the session's erasable key. */
  readonly personal: string | null;
  /** How to pay, as one text (see `paymentOptionsOf`): a list reads thousands of them and most are not looked at. */
  readonly options: string;
  /** Networks on which money arrived that was not lost again, with the number of transfers. */
  readonly arrivedOn: { readonly [network: string]: number };
  /** Final on-time money of the due coin. */
  readonly received: string;
  /** On-time money seen but not final. */
  readonly pending: string;
  readonly pendingCount: number;
  readonly excess: string;
  readonly refunded: string;
  readonly refundable: string;
  readonly paidAtSec: number | null;
  readonly afterExpiry: boolean;
  readonly reversed: boolean;
  /** Final money of the due coin, whatever its kind. */
  readonly final: string;
  /** Money of the due coin that refunds have paid out or hold reserved. */
  readonly committed: string;
  readonly tolerance: string;
  /** Records of the session so far: places in its own lists. */
  readonly transactions: number;
  readonly refunds: number;
} & Place;

/** A row of another table before and after the event. */
export interface Moved<Value> {
  readonly before: Value | null;
  readonly after: Value;
}

const ZERO = '0.00';

export function sessionRowOf(data: SessionCreated['data'], place: Place): SessionRow {
  return {
    sessionId: data.sessionId,
    merchantId: data.merchantId,
    mode: data.mode,
    orderId: data.orderId,
    status: 'open',
    amount: data.amount,
    currency: data.currency,
    dueCoin: data.dueCoin,
    dueAmount: data.dueAmount,
    rate: data.rateLock?.rate ?? null,
    rateLockedAtSec: data.rateLock?.lockedAtSec ?? null,
    taxAmount: data.taxAmount,
    shippingAmount: data.shippingAmount,
    createdAtSec: data.createdAtSec,
    expiresAtSec: data.expiresAtSec,
    domainId: data.domainId,
    personal: data.personal,
    options: data.paymentOptions.map(packed).join(BETWEEN_OPTIONS),
    arrivedOn: {},
    received: ZERO,
    pending: ZERO,
    pendingCount: 0,
    excess: ZERO,
    refunded: ZERO,
    refundable: ZERO,
    paidAtSec: null,
    afterExpiry: false,
    reversed: false,
    final: ZERO,
    committed: ZERO,
    tolerance: data.policy.tolerance,
    transactions: 0,
    refunds: 0,
    ...place,
  };
}

const BETWEEN_OPTIONS = '|';
const BETWEEN_FIELDS = ' ';
const ABSENT = '-';

/** Addresses, ids and numbers hold neither of the separators. */
function packed(option: PaymentOption): string {
  const { network, coin, tokenAddress, decimals, chainId, address, derivationIndex, finality, tokenAccount, reference } = option;
  const confirmations = finality.kind === 'confirmations' ? finality.confirmations : ABSENT;
  const fields = [
    network,
    coin,
    tokenAddress,
    decimals,
    chainId,
    address,
    derivationIndex,
    confirmations,
    tokenAccount ?? ABSENT,
    reference ?? ABSENT,
  ];
  return fields.join(BETWEEN_FIELDS);
}

/** The payment options as the session was created with. */
export function paymentOptionsOf(row: SessionRow): PaymentOption[] {
  return row.options === '' ? [] : row.options.split(BETWEEN_OPTIONS).map(unpacked);
}

function unpacked(text: string): PaymentOption {
  const [network, coin, tokenAddress, decimals, chainId, address, derivationIndex, confirmations, tokenAccount, reference] =
    text.split(BETWEEN_FIELDS);
  return {
    network: network as Network,
    coin: coin as Coin,
    tokenAddress: tokenAddress!,
    decimals: Number(decimals),
    chainId: chainId!,
    address: address!,
    derivationIndex: Number(derivationIndex),
    ...(tokenAccount !== ABSENT && { tokenAccount: tokenAccount! }),
    ...(reference !== ABSENT && { reference: reference! }),
    finality: confirmations === ABSENT ? { kind: 'finalized' } : { kind: 'confirmations', confirmations: Number(confirmations) },
  };
}

/** The session's own turns. */
export function foldSession(row: SessionRow, event: SessionEvent): SessionRow {
  switch (event.type) {
    case 'SessionPaid':
      return { ...row, status: 'paid', paidAtSec: event.data.paidAtSec, afterExpiry: event.data.afterExpiry };
    case 'SessionExpired':
      return { ...row, status: 'expired' };
    case 'SessionFailed':
      return { ...row, status: 'failed' };
    case 'SessionCancelled':
      return { ...row, status: 'cancelled', expiresAtSec: Math.min(row.expiresAtSec, event.data.cancelledAtSec) };
    default:
      return row;
  }
}

/** Counts a transaction of the session; a deposit may move from any standing to any other. */
export function countTransaction(row: SessionRow, moved: Moved<TransactionRow>): SessionRow {
  const counted = moved.before ? row : { ...row, transactions: row.transactions + 1 };
  return moved.after.type === 'deposit' ? countDeposit(counted, moved) : counted;
}

function countDeposit(row: SessionRow, { before, after }: Moved<TransactionRow>): SessionRow {
  const [was, is] = [standing(before, row), standing(after, row)];
  const arrivals = (row.arrivedOn[after.network] ?? 0) + is.arrived - was.arrived;
  const { [after.network]: _, ...others } = row.arrivedOn;
  return {
    ...row,
    received: plus(row.received, is.received - was.received),
    pending: plus(row.pending, is.pending - was.pending),
    final: plus(row.final, is.final - was.final),
    pendingCount: row.pendingCount + is.pendingCount - was.pendingCount,
    arrivedOn: arrivals > 0 ? { ...others, [after.network]: arrivals } : others,
  };
}

function standing(deposit: TransactionRow | null, session: SessionRow) {
  const units = deposit ? amountOf(deposit.amount) : 0n;
  const onTime = deposit?.kind === 'on_time';
  const isFinal = deposit?.status === 'final';
  const isPending = onTime && deposit.status === 'detected';
  return {
    arrived: isFinal || deposit?.status === 'detected' ? 1 : 0,
    received: onTime && isFinal ? units : 0n,
    final: isFinal && deposit.coin === session.dueCoin ? units : 0n,
    pending: isPending ? units : 0n,
    pendingCount: isPending ? 1 : 0,
  };
}

/** Counts what a refund's legs hold or have paid out, before and after the event. */
export function countRefund(row: SessionRow, { before, after }: Moved<RefundRow>): SessionRow {
  const sum = (refund: RefundRow | null, counts: (status: string) => boolean): bigint =>
    refund?.coin !== row.dueCoin ? 0n : refund.payouts.reduce((total, leg) => (counts(leg.status) ? total + amountOf(leg.amount) : total), 0n);
  const paidOut = (status: string): boolean => status === 'COMPLETED';
  const notReleased = (status: string): boolean => status !== 'FAILED';
  return {
    ...row,
    refunds: before ? row.refunds : row.refunds + 1,
    refunded: plus(row.refunded, sum(after, paidOut) - sum(before, paidOut)),
    committed: plus(row.committed, sum(after, notReleased) - sum(before, notReleased)),
  };
}

/** What follows from the sums and the turn; the same rules as the session's machine. */
export function settle(row: SessionRow): SessionRow {
  const [received, due] = [amountOf(row.received), amountOf(row.dueAmount)];
  const left = amountOf(row.final) - amountOf(row.committed);
  const isPaid = row.status === 'paid';
  const isLive = row.status === 'open' || row.status === 'processing';
  return {
    ...row,
    status: isLive ? (row.pendingCount > 0 ? 'processing' : 'open') : row.status,
    excess: formatAmount(isPaid && received > due ? received - due : 0n),
    refundable: formatAmount(left > 0n ? left : 0n),
    reversed: isPaid && received < due - amountOf(row.tolerance),
  };
}

const plus = (amount: string, units: bigint): string => (units === 0n ? amount : formatAmount(amountOf(amount) + units));
