import { COIN_MAX_DECIMALS } from '../../domain/money/currencies.ts';
import { formatAmount, amountOf, least, roundedUp } from '../../domain/money/money.ts';
import type { SessionId } from '../../domain/values/ids.ts';
import type { Network, UsualFinality } from '../../domain/networks/networks.ts';
import type { DepositView, RefundView, SessionView } from '../../features/shared/views.ts';
import { headlineOf, isSome, isThere, nothingCame, type Headline } from './headline.ts';
import { coinText } from '../coin-text.ts';
import { returnUrl } from './return-url.ts';
import { must } from '../../domain/values/must.ts';

/**
 * What the page tells the payer. Derived only from the session and the current facts, so that the first response, live
 * updates and a reload always agree. `closing`: the deadline has passed, and the networks are still being searched for
 * transfers made in time.
 */
export type PageState =
  | 'awaiting'
  | 'underpaid'
  | 'seen'
  | 'closing'
  | 'paid'
  | 'overpaid'
  | 'refunded'
  | 'reversed'
  | 'expired'
  | 'failed'
  | 'cancelled';

/** What the payer can do next. */
export type PageAction = 'pay' | 'back' | 'pay_again' | 'new_attempt' | 'receipt' | 'help';

/** Amounts are decimal strings in units of the session's coin, unless a coin is given. */
export interface PageStatus {
  readonly state: PageState;
  readonly headline: Headline;
  readonly actions: readonly PageAction[];
  /**
   * The network that the payer's money is on, preselected for the rest; null while there is none, or while it cannot be
   * used to pay.
   */
  readonly network: Network | null;
  /** Unix seconds. */
  readonly expiresAtSec: number;
  readonly due: string;
  readonly coin: string;
  /** Final and not yet final money in the session's coin; after a cancellation also what arrived later. */
  readonly received: string;
  readonly pending: string;
  /**
   * What is still to be sent, counting money on its way as arrived; null when nothing is, or when nothing may be sent
   * any more.
   */
  readonly toSend: string | null;
  readonly excess: string;
  /** Events besides the order's own payment. */
  readonly notes: readonly PageNote[];
  readonly transfers: readonly PageTransfer[];
  readonly refunds: readonly PageRefund[];
  /** Networks of the session that cannot be read, and since when (Unix seconds). */
  readonly outages: readonly { readonly network: Network; readonly sinceSec: number }[];
  /** A transfer is in the chain but not final yet: its confirmations change although nothing else happens. */
  readonly moving: boolean;
}

export type PageNote =
  | {
      readonly kind: 'late' | 'wrong_coin' | 'wrong_network' | 'lost';
      readonly amount: string;
      readonly coin: string;
      readonly network: Network;
    }
  | { readonly kind: 'reversed' };

export interface PageTransfer {
  readonly network: Network;
  readonly coin: string;
  readonly amount: string;
  readonly txHash: string;
  readonly status: 'detected' | 'final' | 'reverted' | 'failed';
  /** Blocks so far, and blocks that the payment needs; an estimate where the chain's own finality decides. */
  readonly have: number;
  readonly need: number;
  readonly counted: boolean;
  /** How long the required blocks take. */
  readonly seconds: number;
}

export interface PageRefund {
  readonly amount: string;
  readonly coin: string;
  readonly status: 'pending' | 'done' | 'failed';
  readonly payouts: readonly {
    readonly network: Network;
    readonly coin: string;
    readonly amount: string;
    readonly toAddress: string;
    readonly status: 'pending' | 'done' | 'failed';
    /** Null before it was sent. */
    readonly txHash: string | null;
  }[];
}

/** Facts that the session itself does not know. */
export interface PageFacts {
  readonly nowSec: number;
  /** Confirmations of a transfer in a block, counting the block itself; from the chain watchers. */
  readonly confirmationsOf: (network: Network, blockNumber: number) => number;
  readonly finalityOf: (network: Network) => UsualFinality;
  /** Since when a network has been unreadable (Unix seconds); null when healthy. */
  readonly outageSince: (network: Network) => number | null;
  /** The payment that the shop opened for the same order after this one; null when there is none. */
  readonly newAttempt: SessionId | null;
}

/** The newest transfers, which a page lists; its amounts are of all of them. */
export const SHOWN_TRANSFERS = 30;

export function pageStatus(session: SessionView, facts: PageFacts): PageStatus {
  const deposits = session.deposits.filter(({ kind }) => kind !== 'dust' && kind !== 'own');
  const isPast = facts.nowSec > session.expiresAtSec;
  const isOver = isPast && (session.status === 'open' || missing(session) > amountOf(session.tolerance));
  const rest = toSend(session, facts.nowSec);
  const headline = headlineOf({ ...session, deposits }, rest, isOver);
  const state = stateOf(session, headline, isOver);
  const offered = session.paymentOptions.map(({ network }) => network);
  return {
    state,
    headline,
    actions: actionsOf(session, state, rest, facts.newAttempt !== null),
    network: deposits.findLast((deposit) => isThere(deposit) && offered.includes(deposit.network))?.network ?? null,
    expiresAtSec: session.expiresAtSec,
    due: coinText(session.dueAmount),
    coin: session.dueCoin,
    ...arrived(session, deposits),
    toSend: rest,
    excess: coinText(session.excess),
    notes: notes(session, deposits),
    transfers: deposits.slice(-SHOWN_TRANSFERS).map((deposit) => transfer(session, deposit, facts)),
    refunds: session.refunds.map(pageRefund),
    outages: offered.flatMap((network) => {
      const sinceSec = facts.outageSince(network);
      return sinceSec === null ? [] : [{ network, sinceSec }];
    }),
    moving: deposits.some((deposit) => deposit.status === 'detected'),
  };
}

function arrived(session: SessionView, deposits: readonly DepositView[]): Pick<PageStatus, 'received' | 'pending'> {
  const { status, dueCoin, pending, received, refundable, paidWith } = session;
  // A refund is shown separately; the payer still sees what paid the order.
  if (status === 'paid')
    return { received: coinText(isSome(session.excess) ? received : must(paidWith)), pending: coinText(pending) };
  if (status !== 'cancelled') return { received: coinText(received), pending: coinText(pending) };
  const ofCoin = deposits.filter(({ coin }) => coin === dueCoin);
  return {
    received: coinText(formatAmount(least(sumOf(ofCoin, 'final'), amountOf(refundable)))),
    pending: coinText(formatAmount(sumOf(ofCoin, 'detected'))),
  };
}

function stateOf(session: SessionView, { kind }: Headline, isOver: boolean): PageState {
  if (kind === 'refunded' || kind === 'reversed') return kind;
  switch (session.status) {
    case 'paid':
      return isSome(session.excess) ? 'overpaid' : 'paid';
    case 'processing':
      return isOver ? 'closing' : 'seen';
    case 'open':
      if (isOver) return 'closing';
      return isSome(session.received) ? 'underpaid' : 'awaiting';
    default:
      return session.status;
  }
}

function actionsOf(session: SessionView, state: PageState, rest: string | null, isSuperseded: boolean): PageAction[] {
  const isPaid = session.paidAtSec !== null;
  const leads = returnUrl(session) !== null;
  const actions: PageAction[] = rest === null ? [] : ['pay'];
  if (isPaid) {
    if (leads) actions.push('back');
    actions.push('receipt');
  } else if (isSuperseded) actions.push('new_attempt');
  // Going back by the shop's "cancel" URL would mislead while everything is on its way.
  else if (state !== 'seen' && leads) actions.push(rest === null && state !== 'closing' ? 'pay_again' : 'back');
  return [...actions, 'help'];
}

const missing = (session: SessionView): bigint =>
  amountOf(session.dueAmount) - amountOf(session.received) - amountOf(session.pending);

/** The amount still to be sent right now; null when nothing is, or when nothing may be sent any more. */
export function toSend(session: SessionView, nowSec: number): string | null {
  if (nowSec > session.expiresAtSec) return null;
  if (session.status !== 'open' && session.status !== 'processing') return null;
  // What was returned to the payer, or is being returned, has to be sent again.
  const left = missing(session);
  // Once the money on its way suffices, asking for the rest would be asking for a gift.
  const moneyCame = left < amountOf(session.dueAmount);
  // Transfers on other networks may have had decimals that the payer's network lacks.
  return left > (moneyCame ? amountOf(session.tolerance) : 0n)
    ? coinText(formatAmount(roundedUp(left, COIN_MAX_DECIMALS)))
    : null;
}

export const sumOf = (deposits: readonly DepositView[], status: DepositView['status']): bigint =>
  deposits.filter((deposit) => deposit.status === status).reduce((sum, { amount }) => sum + amountOf(amount), 0n);

/** Whether refunds took all of it; money without a known payer is never refunded automatically. */
const wentBack = ({ refunds }: SessionView, { status, fromAddress, refundable }: DepositView): boolean =>
  status === 'final' &&
  fromAddress !== null &&
  !isSome(refundable) &&
  refunds.some((refund) => refund.status !== 'FAILED');

function notes(session: SessionView, deposits: readonly DepositView[]): PageNote[] {
  const found: PageNote[] = [];
  // When nothing else arrived, the headline already reports the failure itself.
  const showsFailure = session.status === 'failed' && nothingCame(session.deposits);
  for (const deposit of deposits) {
    const { kind, coin, network } = deposit;
    const about = { amount: coinText(deposit.amount), coin, network };
    const gone = !isThere(deposit);
    // The refund shown with it says what happened.
    if (wentBack(session, deposit)) continue;
    if (gone && session.status !== 'paid' && !showsFailure) found.push({ kind: 'lost', ...about });
    if (!gone && (kind === 'wrong_coin' || kind === 'wrong_network')) found.push({ kind, ...about });
    if (!gone && kind === 'late' && session.status !== 'cancelled') found.push({ kind, ...about });
  }
  return session.reversed ? [...found, { kind: 'reversed' }] : found;
}

function transfer(
  session: SessionView,
  deposit: DepositView,
  { confirmationsOf, finalityOf }: PageFacts,
): PageTransfer {
  const { network, coin, txHash, status } = deposit;
  const amount = coinText(deposit.amount);
  const rule = session.paymentOptions.find((option) => option.network === network)?.finality;
  const have = isThere(deposit) ? confirmationsOf(network, deposit.blockNumber) : 0;
  return { network, coin, amount, txHash, status, have, ...waitOf(rule, finalityOf(network)) };
}

/** How many blocks a payment waits for, and how long that takes. */
export function waitOf(
  rule: SessionView['paymentOptions'][number]['finality'] | undefined,
  usual: UsualFinality,
): Pick<PageTransfer, 'need' | 'counted' | 'seconds'> {
  if (rule?.kind !== 'confirmations') return { need: usual.blocks, counted: false, seconds: usual.seconds };
  return {
    need: rule.confirmations,
    counted: true,
    seconds: Math.ceil((usual.seconds * rule.confirmations) / usual.blocks),
  };
}

const PAYOUT_STATUS = { PENDING: 'pending', PROCESSING: 'pending', COMPLETED: 'done', FAILED: 'failed' } as const;

const pageRefund = ({ amount, coin, status, payouts }: RefundView): PageRefund => ({
  amount: coinText(amount),
  coin,
  status: PAYOUT_STATUS[status],
  payouts: payouts.map((leg) => ({
    network: leg.network,
    coin: leg.coin,
    amount: coinText(leg.amount),
    toAddress: leg.toAddress,
    status: PAYOUT_STATUS[leg.status],
    txHash: leg.txHash,
  })),
});
