import type { PaymentOption, SessionCreated, SessionEvent } from '../../src/domain/events/session-events.ts';
import { amountOf, COINS, formatAmount, isCoin, most, type Coin } from '../../src/domain/money/money.ts';
import { isNetwork, type Network } from '../../src/domain/networks/networks.ts';
import { mustBe } from '../../src/domain/values/one-of.ts';
import { refundableOf } from '../../src/domain/money/refundable.ts';
import type { Place } from './merchant-counters.ts';
import type { RefundRow } from './refund-row.ts';
import type { TransactionRow } from './transaction-row.ts';
import type { SessionRow, SessionDraft, Moved } from './session-row.ts';
import { must } from '../../src/domain/values/must.ts';

const ZERO = '0.00';

export function sessionRowOf(data: SessionCreated['data'], place: Place): SessionRow {
  return {
    sessionId: data.sessionId,
    merchantId: data.merchantId,
    mode: data.mode,
    orderId: data.orderId,
    supersedes: data.supersedes ?? null,
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
    arrived: ZERO,
    received: ZERO,
    returnedUnpaid: ZERO,
    pending: ZERO,
    pendingCount: 0,
    excess: ZERO,
    refunded: ZERO,
    refundable: ZERO,
    paidAtSec: null,
    afterExpiry: false,
    reversed: false,
    otherRefundable: ZERO,
    tolerance: data.policy.tolerance,
    transactions: 0,
    refunds: 0,
    firstTransaction: null,
    firstRefund: null,
    ...place,
  };
}

/** The most that a refund of each coin can take, in the order of `COINS`. */
export const refundableByCoinOf = (row: SessionRow): { coin: Coin; amount: string }[] =>
  COINS.map((coin) => ({ coin, amount: coin === row.dueCoin ? row.refundable : row.otherRefundable }));

const BETWEEN_OPTIONS = '|';

const BETWEEN_FIELDS = ' ';

const ABSENT = '-';

/** Addresses, ids and numbers contain neither of the separators. */
function packed(option: PaymentOption): string {
  const {
    network,
    coin,
    tokenAddress,
    decimals,
    chainId,
    address,
    derivationIndex,
    finality,
    tokenAccount,
    reference,
  } = option;
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

/** Payment options in either coin if the payer may choose. */
export const everyOptionOf = (row: SessionRow): PaymentOption[] =>
  row.options === '' ? [] : row.options.split(BETWEEN_OPTIONS).map(unpacked);

/** Payment options in the due coin. */
export const paymentOptionsOf = (row: SessionRow): PaymentOption[] =>
  everyOptionOf(row).filter(({ coin }) => coin === row.dueCoin);

/** The offered networks, each once. */
export function networksOf(row: SessionRow): Network[] {
  const networks =
    row.options === ''
      ? []
      : row.options
          .split(BETWEEN_OPTIONS)
          .map((text) => mustBe(isNetwork, text.slice(0, text.indexOf(BETWEEN_FIELDS))));
  return networks.length > 1 ? [...new Set(networks)] : networks;
}

function unpacked(text: string): PaymentOption {
  const [
    network,
    coin,
    tokenAddress,
    decimals,
    chainId,
    address,
    derivationIndex,
    confirmations,
    tokenAccount,
    reference,
  ] = text.split(BETWEEN_FIELDS);
  return {
    network: mustBe(isNetwork, network),
    coin: mustBe(isCoin, coin),
    tokenAddress: must(tokenAddress),
    decimals: Number(decimals),
    chainId: must(chainId),
    address: must(address),
    derivationIndex: Number(derivationIndex),
    ...(tokenAccount !== ABSENT && { tokenAccount: must(tokenAccount) }),
    ...(reference !== ABSENT && { reference: must(reference) }),
    finality:
      confirmations === ABSENT
        ? { kind: 'finalized' }
        : { kind: 'confirmations', confirmations: Number(confirmations) },
  };
}

/** Applies the session's own events. */
export function foldSession(session: SessionDraft, event: SessionEvent): void {
  switch (event.type) {
    case 'CoinChosen':
      Object.assign(session, {
        dueCoin: event.data.coin,
        dueAmount: event.data.dueAmount,
        rate: event.data.rate,
        rateLockedAtSec: event.data.rateLockedAtSec,
        tolerance: event.data.tolerance,
        // From money that pays nothing, such as dust.
        refundable: session.otherRefundable,
        otherRefundable: session.refundable,
      } satisfies Partial<SessionDraft>);
      break;
    case 'SessionPaid':
      session.status = 'paid';
      session.paidAtSec = event.data.paidAtSec;
      session.afterExpiry = event.data.afterExpiry;
      session.returnedUnpaid = formatAmount(amountOf(session.arrived) - amountOf(event.data.received));
      break;
    case 'SessionExpired':
      session.status = 'expired';
      break;
    case 'SessionFailed':
      session.status = 'failed';
      break;
    case 'SessionCancelled':
      session.status = 'cancelled';
      session.expiresAtSec = Math.min(session.expiresAtSec, event.data.cancelledAtSec);
      break;
    case 'SessionDeadlineMoved':
      session.expiresAtSec = event.data.expiresAtSec;
      break;
    default:
  }
}

/** Counts a transaction of the session. A deposit may change from any status to any other. */
export function countTransaction(session: SessionDraft, moved: Moved<TransactionRow>): void {
  if (!moved.before) {
    session.firstTransaction ??= moved.after.transactionId;
    session.transactions += 1;
  }
  if (moved.after.type === 'deposit') countDeposit(session, moved);
}

function countDeposit(session: SessionDraft, { before, after }: Moved<TransactionRow>): void {
  const [was, is] = [standing(before, session), standing(after, session)];
  session.arrived = plus(session.arrived, is.arrivedInTime - was.arrivedInTime);
  session.pending = plus(session.pending, is.pending - was.pending);
  session.received = plus(session.received, is.received - was.received);
  session.refundable = plus(session.refundable, is.refundable - was.refundable);
  session.otherRefundable = plus(session.otherRefundable, is.otherRefundable - was.otherRefundable);
  session.pendingCount += is.pendingCount - was.pendingCount;
  if (is.arrived !== was.arrived)
    session.arrivedOn = withArrivals(session.arrivedOn, after.network, is.arrived - was.arrived);
}

function withArrivals(arrivedOn: SessionRow['arrivedOn'], network: Network, more: number): SessionRow['arrivedOn'] {
  const { [network]: before = 0, ...others } = arrivedOn;
  return before + more > 0 ? { ...others, [network]: before + more } : others;
}

function standing(deposit: TransactionRow | null, session: SessionRow) {
  const units = deposit ? amountOf(deposit.amount) : 0n;
  const onTime = deposit?.kind === 'on_time';
  const isFinal = deposit?.status === 'final';
  const isPending = onTime && deposit.status === 'detected';
  return {
    arrived: isFinal || deposit?.status === 'detected' ? 1 : 0,
    arrivedInTime: onTime && isFinal ? units : 0n,
    received: onTime && isFinal ? leftOf(deposit) : 0n,
    refundable: isFinal && deposit.coin === session.dueCoin ? mayBeRefunded(deposit) : 0n,
    otherRefundable: isFinal && deposit.coin !== session.dueCoin ? mayBeRefunded(deposit) : 0n,
    pending: isPending ? units : 0n,
    pendingCount: isPending ? 1 : 0,
  };
}

const mayBeRefunded = (deposit: TransactionRow): bigint =>
  refundableOf({ kind: must(deposit.kind), fromAddress: deposit.fromAddress, left: leftOf(deposit) });

/** The part of a final deposit that refunds have neither paid out nor reserved. */
const leftOf = ({ amount, taken }: TransactionRow): bigint => most(amountOf(amount) - amountOf(taken ?? ZERO), 0n);

/** Counts what a refund's legs have paid out, before and after the event. */
export function countRefund(session: SessionDraft, { before, after }: Moved<RefundRow>): void {
  const paidOut = (refund: RefundRow | null): bigint =>
    refund?.coin !== session.dueCoin
      ? 0n
      : refund.payouts.reduce((total, leg) => (leg.status === 'COMPLETED' ? total + amountOf(leg.amount) : total), 0n);
  if (!before) {
    session.firstRefund ??= after.refundId;
    session.refunds += 1;
  }
  session.refunded = plus(session.refunded, paidOut(after) - paidOut(before));
}

/** Derives the status from the sums and the event, by the same rules as the session's machine. */
export function settle(session: SessionDraft): SessionRow {
  const [arrived, received, due] = [amountOf(session.arrived), amountOf(session.received), amountOf(session.dueAmount)];
  const isPaid = session.status === 'paid';
  if (session.status === 'open' || session.status === 'processing')
    session.status = session.pendingCount > 0 ? 'processing' : 'open';
  session.excess = formatAmount(isPaid ? most(received - due, 0n) : 0n);
  session.reversed = isPaid && arrived - amountOf(session.returnedUnpaid) < due - amountOf(session.tolerance);
  return session;
}

const plus = (amount: string, units: bigint): string =>
  units === 0n ? amount : formatAmount(amountOf(amount) + units);
