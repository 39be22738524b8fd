import type * as wire from './wire.ts';

/* What a shop has to decide about its payments, as `docs/shops.md` in the repository of the service words it. */

type Session = wire.PaymentSession;

/** What an order asks for now, read under its lock. */
export interface Price {
  readonly amount: string;
  readonly currency: string;
}

/** Money that pays no order, in one piece that can go back: a deposit, or the surplus of a session. */
export interface Returnable {
  readonly session_id: string;
  /** The deposit; absent for a surplus, which is part of the deposits that paid. */
  readonly transaction_id?: string;
  readonly amount: string;
  readonly coin: string;
}

const ENDED: ReadonlySet<Session['status']> = new Set(['expired', 'failed', 'cancelled']);

/** Compares decimal strings as numbers: below zero when the first is smaller. */
export function compareAmounts(one: string, other: string): number {
  const places = Math.max(placesOf(one), placesOf(other));
  const difference = scaled(one, places) - scaled(other, places);
  return difference < 0n ? -1 : Number(difference > 0n);
}

const placesOf = (amount: string): number => amount.split('.')[1]?.length ?? 0;

function scaled(amount: string, places: number): bigint {
  const parts = /^(\d+)(?:\.(\d+))?$/.exec(amount);
  if (parts === null) throw new TypeError(`amount must be a decimal number of at least zero, not ${amount}`);
  return BigInt(`${parts[1] ?? ''}${(parts[2] ?? '').padEnd(places, '0')}`);
}

function written(units: bigint, places: number): string {
  const digits = units.toString().padStart(places + 1, '0');
  return places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

function minus(one: string, other: string): string {
  const places = Math.max(placesOf(one), placesOf(other));
  return written(scaled(one, places) - scaled(other, places), places);
}

const isSomething = (amount: string): boolean => compareAmounts(amount, '0') > 0;

/** What came in time in the coin of the session and is final, whatever became of it since. */
function onTime({ deposits, settlement_currency: coin }: Session): string {
  const came = deposits.filter((one) => one.kind === 'on_time' && one.status === 'final' && one.coin === coin);
  const places = Math.max(0, ...came.map(({ amount }) => placesOf(amount)));
  return written(
    came.reduce((sum, { amount }) => sum + scaled(amount, places), 0n),
    places,
  );
}

const dueOf = ({ target_amount_total: due, amount_total: total }: Session): string => due ?? total;

/** Paid, on the chain, and not given back: a returned surplus, or less than due within a tolerance, takes nothing away. */
export function holdsItsMoney(session: Session): boolean {
  if (session.payment_status !== 'paid' || session.reversed) return false;
  return (
    isSomething(session.received) &&
    (compareAmounts(session.received, dueOf(session)) >= 0 || compareAmounts(session.received, onTime(session)) >= 0)
  );
}

/** Whether nothing can be paid with it any more: it ended, or its money went back. Never while it is reversed. */
export function isOver(session: Session): boolean {
  if (session.payment_status === 'paid') return !session.reversed && !holdsItsMoney(session);
  return ENDED.has(session.status);
}

/** Money is on its way or has paid, so neither address nor price may be changed. */
export function isUnderWay(session: Session): boolean {
  if (isOver(session)) return false;
  return session.payment_status === 'paid' || session.status === 'processing' || isSomething(session.pending);
}

/** Whether the session was made for this price. */
export function asksFor(session: Session, { amount, currency }: Price): boolean {
  return (
    session.currency.toLowerCase() === currency.toLowerCase() && compareAmounts(session.amount_total, amount) === 0
  );
}

/** Whether goods of this price may leave for the session. That it is the order's own, the shop has to know. */
export function mayDeliver(session: Session, price: Price): boolean {
  return holdsItsMoney(session) && asksFor(session, price);
}

/** What can go back without taking from what pays the order: everything final, where the session pays none. */
export function moneyToReturn(session: Session, { paysTheOrder }: { readonly paysTheOrder: boolean }): Returnable[] {
  // What is open or under way may still pay.
  if (!paysTheOrder && session.payment_status !== 'paid' && !isOver(session)) return [];
  const whole = session.deposits
    .filter(({ kind, refundable, status }) => status === 'final' && kind !== 'dust' && isSomething(refundable))
    .filter(({ kind }) => !(paysTheOrder && kind === 'on_time'))
    .map((one) => ({
      session_id: session.id,
      transaction_id: one.transaction_id,
      amount: one.refundable,
      coin: one.coin,
    }));
  return paysTheOrder ? [...whole, ...surplusOf(session)] : whole;
}

/** The newest deposits that are surplus as a whole go back to whoever sent them; only the rest is part of others. */
function surplusOf(session: Session): Returnable[] {
  const pieces: Returnable[] = [];
  let rest = session.excess;
  for (const { kind, status, refundable, coin, transaction_id: id } of session.deposits.toReversed()) {
    const isWhole = isSomething(refundable) && compareAmounts(refundable, rest) <= 0;
    if (kind !== 'on_time' || status !== 'final' || coin !== session.settlement_currency || !isWhole) continue;
    pieces.push({ session_id: session.id, transaction_id: id, amount: refundable, coin });
    rest = minus(rest, refundable);
  }
  if (isSomething(rest)) pieces.push({ session_id: session.id, amount: rest, coin: session.settlement_currency });
  return pieces;
}
