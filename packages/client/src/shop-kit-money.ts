import type * as wire from './wire.ts';

/* The money of a session in the model of the service. */

export type Session = wire.PaymentSession;
export type Deposit = wire.Deposit;

export interface Held {
  session: Session;
  deposits: Deposit[];
  /** Units taken by refunds of each deposit, by the refund's id. */
  readonly taken: Map<string, Map<string, bigint>>;
}

const PLACES = 6n;
const UNIT = 10n ** PLACES;
export const COIN = 'USDT';

export function units(amount: string): bigint {
  const [whole = '0', fraction = ''] = amount.split('.');
  return BigInt(whole) * UNIT + BigInt(fraction.padEnd(Number(PLACES), '0').slice(0, Number(PLACES)));
}

export function written(value: bigint): string {
  const fraction = (value % UNIT)
    .toString()
    .padStart(Number(PLACES), '0')
    .replace(/0{1,4}$/, '');
  return `${value / UNIT}.${fraction}`;
}

export function left(held: Held, { transaction_id: id, amount, status }: Deposit): bigint {
  if (status !== 'final') return 0n;
  return [...held.taken.values()].reduce((free, taken) => free - (taken.get(id) ?? 0n), units(amount));
}

/** Final on-time money that is there. */
export function onTime(held: Held): bigint {
  return held.deposits.filter(({ kind }) => kind === 'on_time').reduce((sum, deposit) => sum + left(held, deposit), 0n);
}

export function shown(held: Held): Session {
  const received = onTime(held);
  const due = units(held.session.amount_total);
  const pending = held.deposits.filter(({ status, kind }) => status === 'detected' && kind === 'on_time');
  const refunded = [...held.taken.values()].flatMap((taken) => [...taken.values()]).reduce((a, b) => a + b, 0n);
  const refundable = held.deposits.reduce((sum, deposit) => sum + left(held, deposit), 0n);
  return {
    ...held.session,
    received: written(received),
    pending: written(pending.reduce((sum, { amount }) => sum + units(amount), 0n)),
    excess: written(held.session.payment_status === 'paid' && received > due ? received - due : 0n),
    refunded: written(refunded),
    refundable: written(refundable),
    refundable_amounts: [],
    deposits: held.deposits.map((one) => ({ ...one, refundable: written(left(held, one)) })),
  };
}

export const sessionFields = (asked: wire.CreatePaymentSession) => ({
  amount_total: asked.amount,
  currency: asked.currency.toLowerCase(),
  order_id: asked.order_id,
  metadata: { ...asked.metadata, order_id: asked.order_id },
  ...(asked.supersedes === undefined ? undefined : { supersedes: asked.supersedes }),
  ...(asked.success_url === undefined ? undefined : { success_url: asked.success_url }),
});

export const made = (id: string, asked: wire.CreatePaymentSession, nowSec: number): Held => ({
  session: {
    ...sessionFields(asked),
    id,
    url: `https://pay.example/pay/${id}`,
    payment_status: 'unpaid',
    status: 'open',
    created: nowSec,
    expires_at: nowSec + 3600,
    settlement_currency: COIN,
    received: '0.00',
    pending: '0.00',
    excess: '0.00',
    refunded: '0.00',
    refundable: '0.00',
    refundable_amounts: [],
    reversed: false,
    after_expiry: false,
    payment_options: [],
    deposits: [],
  },
  deposits: [],
  taken: new Map(),
});
