import { amountOf, COINS, formatAmount } from '../../domain/money/money.ts';
import { coinText } from '../coin-text.ts';
import type { DepositView, SessionView } from '../../features/shared/views.ts';

/** Kinds of headline. Each has its own text (`<kind>_title`). */
export type HeadlineKind =
  /* Money is still to be sent. */
  | 'awaiting'
  | 'underpaid'
  | 'wrong_coin'
  | 'wrong_network'
  | 'lost'
  /* Nothing needs to be sent, but something is still in progress. */
  | 'seen'
  | 'closing'
  | 'returning'
  | 'paid_returning'
  /* The outcome. */
  | 'paid'
  | 'overpaid'
  | 'paid_returned'
  | 'refunded'
  | 'part_refunded'
  | 'reversed'
  | 'expired'
  | 'late'
  | 'short'
  | 'wrong_coin_end'
  | 'wrong_network_end'
  | 'failed'
  | 'cancelled';

/** Colour and icon of the outcome; the words always say the same. */
export type Tone = 'pay' | 'wait' | 'good' | 'back' | 'warn' | 'bad';

export interface Headline {
  readonly kind: HeadlineKind;
  readonly tone: Tone;
  /** The amount still to be sent, with its coin; present exactly while money may be sent. */
  readonly due: string | null;
  /** The amount that the line is about, with its coin: sent wrongly, in excess, or returned. */
  readonly amount: string | null;
}

const TONES: Readonly<Record<HeadlineKind, Tone>> = {
  awaiting: 'pay',
  underpaid: 'warn',
  wrong_coin: 'warn',
  wrong_network: 'warn',
  lost: 'warn',
  seen: 'wait',
  closing: 'wait',
  returning: 'wait',
  paid_returning: 'wait',
  paid: 'good',
  overpaid: 'good',
  paid_returned: 'good',
  refunded: 'back',
  part_refunded: 'back',
  reversed: 'bad',
  expired: 'warn',
  late: 'warn',
  short: 'warn',
  wrong_coin_end: 'warn',
  wrong_network_end: 'warn',
  failed: 'bad',
  cancelled: 'warn',
};

/**
 * The amount due while anything may be sent, otherwise what happened to the money; never an amount that nobody should
 * send.
 */
export function headlineOf(session: SessionView, toSend: string | null, isOver: boolean): Headline {
  const found = toSend === null ? outcome(session, isOver) : stillDue(session);
  const due = toSend === null ? null : `${toSend} ${session.dueCoin}`;
  return { kind: found.kind, tone: TONES[found.kind], due, amount: found.amount ?? null };
}

interface Found {
  readonly kind: HeadlineKind;
  readonly amount?: string;
}

function stillDue(session: SessionView): Found {
  if (isSome(session.received) || isSome(session.pending)) return { kind: 'underpaid' };
  const there = session.deposits.filter(isThere);
  const wrong = wronglySent(there);
  if (wrong) return { kind: wrong.kind, amount: withCoin(wrong) };
  if (session.deposits.some((deposit) => !isThere(deposit) && deposit.kind === 'on_time')) return { kind: 'lost' };
  return { kind: 'awaiting' };
}

function outcome(session: SessionView, isOver: boolean): Found {
  if (session.reversed) return { kind: 'reversed' };
  const isPaid = session.status === 'paid';
  const ended = isPaid || session.status === 'expired' || session.status === 'failed' || session.status === 'cancelled';
  return (ended ? returned(session, isPaid) : null) ?? ending(session, isOver);
}

/** Null where nothing was returned or is being returned. */
function returned(session: SessionView, isPaid: boolean): Found | null {
  const moving = session.refunds.filter(({ status }) => status === 'PENDING' || status === 'PROCESSING');
  if (moving.length > 0) return { kind: isPaid ? 'paid_returning' : 'returning', amount: sumByCoin(moving) };
  const back = session.refunds.map(({ coin, amountReturned }) => ({ coin, amount: amountReturned }));
  if (!back.some(({ amount }) => isSome(amount))) return null;
  const kept = isSome(session.received) || session.refundableByCoin.some(({ amount }) => isSome(amount));
  const coming = session.deposits.some(({ status }) => status === 'detected');
  return { kind: !kept && !coming ? 'refunded' : isPaid ? 'paid_returned' : 'part_refunded', amount: sumByCoin(back) };
}

function ending(session: SessionView, isOver: boolean): Found {
  switch (session.status) {
    case 'paid':
      return isSome(session.excess)
        ? { kind: 'overpaid', amount: withCoin({ amount: session.excess, coin: session.dueCoin }) }
        : { kind: 'paid' };
    case 'processing':
      return { kind: isOver ? 'closing' : 'seen' };
    case 'open':
      return { kind: 'closing' };
    case 'expired':
      return afterTheEnd(session);
    default:
      return { kind: session.status };
  }
}

function afterTheEnd(session: SessionView): Found {
  const there = session.deposits.filter(isThere);
  if (there.some(({ kind }) => kind === 'late')) return { kind: 'late' };
  if (isSome(session.received)) return { kind: 'short' };
  const wrong = wronglySent(there);
  return wrong ? { kind: `${wrong.kind}_end`, amount: withCoin(wrong) } : { kind: 'expired' };
}

export const isThere = ({ status }: Pick<DepositView, 'status'>): boolean =>
  status === 'detected' || status === 'final';
export const nothingCame = (deposits: readonly DepositView[]): boolean => !deposits.some(isThere);
export const isSome = (amount: string): boolean => amountOf(amount) > 0n;

type WronglySent = DepositView & { readonly kind: 'wrong_coin' | 'wrong_network' };
const isWronglySent = (deposit: DepositView): deposit is WronglySent =>
  deposit.kind === 'wrong_coin' || deposit.kind === 'wrong_network';

/** The newest transfer in another coin or on another network. */
const wronglySent = (deposits: readonly DepositView[]): WronglySent | undefined => deposits.findLast(isWronglySent);

const withCoin = ({ amount, coin }: Pick<DepositView, 'amount' | 'coin'>): string => `${coinText(amount)} ${coin}`;

function sumByCoin(amounts: readonly Pick<DepositView, 'amount' | 'coin'>[]): string {
  const sums = COINS.map((coin) => ({
    coin,
    units: amounts.reduce((sum, one) => (one.coin === coin ? sum + amountOf(one.amount) : sum), 0n),
  }));
  return sums
    .filter(({ units }) => units > 0n)
    .map(({ coin, units }) => withCoin({ amount: formatAmount(units), coin }))
    .join(' + ');
}
