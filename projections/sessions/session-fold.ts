import type { PaymentOption, SessionCreated, SessionEvent } from '../../src/domain/events/session-events.ts';
import { amountOf, COINS, formatAmount, least, most, type Coin } from '../../src/domain/money.ts';
import type { Network } from '../../src/domain/networks.ts';
import type { Place } from './merchant-counters.ts';
import type { RefundRow } from './refund-row.ts';
import type { TransactionRow } from './transaction-row.ts';
import type { SessionRow, SessionDraft, Moved } from './session-row.ts';

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
    final: ZERO,
    committed: ZERO,
    otherFinal: ZERO,
    otherCommitted: ZERO,
    tolerance: data.policy.tolerance,
    transactions: 0,
    refunds: 0,
    firstTransaction: null,
    firstRefund: null,
    ...place,
  };
}

/** What a refund of each coin may take, in the order of `COINS`. */
export function refundableOf(row: SessionRow): { coin: Coin; amount: string }[] {
  const other = formatAmount(most(amountOf(row.otherFinal) - amountOf(row.otherCommitted), 0n));
  return COINS.map((coin) => ({ coin, amount: coin === row.dueCoin ? row.refundable : other }));
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

/** The networks on offer, each once. */
export function networksOf(row: SessionRow): Network[] {
  const networks = row.options === '' ? [] : row.options.split(BETWEEN_OPTIONS).map((text) => text.slice(0, text.indexOf(BETWEEN_FIELDS)) as Network);
  return networks.length > 1 ? [...new Set(networks)] : networks;
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
export function foldSession(session: SessionDraft, event: SessionEvent): void {
  switch (event.type) {
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
    default:
  }
}

/** Counts a transaction of the session; a deposit may move from any standing to any other. */
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
  session.final = plus(session.final, is.final - was.final);
  session.otherFinal = plus(session.otherFinal, is.otherFinal - was.otherFinal);
  session.pendingCount += is.pendingCount - was.pendingCount;
  if (is.arrived !== was.arrived) session.arrivedOn = withArrivals(session.arrivedOn, after.network, is.arrived - was.arrived);
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
    final: isFinal && deposit.coin === session.dueCoin ? units : 0n,
    otherFinal: isFinal && deposit.coin !== session.dueCoin ? units : 0n,
    pending: isPending ? units : 0n,
    pendingCount: isPending ? 1 : 0,
  };
}

/** Counts what a refund's legs hold or have paid out, before and after the event. */
export function countRefund(session: SessionDraft, { before, after }: Moved<RefundRow>): void {
  const sum = (refund: RefundRow | null, counts: (status: string) => boolean): bigint =>
    refund ? refund.payouts.reduce((total, leg) => (counts(leg.status) ? total + amountOf(leg.amount) : total), 0n) : 0n;
  const paidOut = (status: string): boolean => status === 'COMPLETED';
  const notReleased = (status: string): boolean => status !== 'FAILED';
  if (!before) {
    session.firstRefund ??= after.refundId;
    session.refunds += 1;
  }
  const committed = sum(after, notReleased) - sum(before, notReleased);
  if (after.coin !== session.dueCoin) {
    session.otherCommitted = plus(session.otherCommitted, committed);
    return;
  }
  session.refunded = plus(session.refunded, sum(after, paidOut) - sum(before, paidOut));
  session.committed = plus(session.committed, committed);
}

/** What follows from the sums and the turn; the same rules as the session's machine. */
export function settle(session: SessionDraft): SessionRow {
  const [arrived, due] = [amountOf(session.arrived), amountOf(session.dueAmount)];
  const refundable = most(amountOf(session.final) - amountOf(session.committed), 0n);
  const received = least(arrived, refundable);
  const isPaid = session.status === 'paid';
  if (session.status === 'open' || session.status === 'processing') session.status = session.pendingCount > 0 ? 'processing' : 'open';
  session.received = formatAmount(received);
  session.excess = formatAmount(isPaid ? most(received - due, 0n) : 0n);
  session.refundable = formatAmount(refundable);
  session.reversed = isPaid && arrived - amountOf(session.returnedUnpaid) < due - amountOf(session.tolerance);
  return session;
}

const plus = (amount: string, units: bigint): string => (units === 0n ? amount : formatAmount(amountOf(amount) + units));
