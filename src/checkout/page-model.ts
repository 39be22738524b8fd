import { COIN_MAX_DECIMALS } from '../domain/currencies.ts';
import { formatAmount, amountOf, least, roundedUp } from '../domain/money.ts';
import type { Network } from '../domain/networks.ts';
import type { DepositView, SessionView } from '../features/shared/views.ts';

/**
 * What the page tells the payer. Derived from the session and the time alone, so the server and the live updates always
 * agree. `closing`: the deadline has passed and the networks are still searched for transfers made in time.
 */
export type PageState = 'awaiting' | 'underpaid' | 'seen' | 'closing' | 'paid' | 'overpaid' | 'expired' | 'failed' | 'cancelled';

/** Amounts are decimal strings in units of the session's coin, unless a coin stands beside them. */
export interface PageStatus {
  readonly state: PageState;
  /** Unix seconds. */
  readonly expiresAtSec: number;
  readonly due: string;
  readonly coin: string;
  /** Final and not yet final money of the session's coin; after a cancel also what came later. */
  readonly received: string;
  readonly pending: string;
  /** What is still to be sent, money on its way counted as arrived; null when nothing is, or when nothing may be sent any more. */
  readonly toSend: string | null;
  readonly excess: string;
  /** What happened beside the order's own payment. */
  readonly notes: readonly PageNote[];
  readonly transfers: readonly PageTransfer[];
  readonly refunds: readonly { readonly amount: string; readonly coin: string; readonly status: 'pending' | 'done' | 'failed' }[];
  /** A transfer is in the chain and not final yet: its confirmations move although nothing else happens. */
  readonly moving: boolean;
}

export type PageNote =
  | { readonly kind: 'late' | 'wrong_coin' | 'wrong_network' | 'lost'; readonly amount: string; readonly coin: string; readonly network: Network }
  | { readonly kind: 'reversed' };

export interface PageTransfer {
  readonly network: Network;
  readonly coin: string;
  readonly amount: string;
  readonly txHash: string;
  readonly status: 'detected' | 'final' | 'reverted' | 'failed';
  /** Blocks so far and blocks needed; `need` is null while the chain's own finality decides. */
  readonly have: number;
  readonly need: number | null;
}

/** Confirmations of a transfer in a block, counting the block itself; from the chain watchers. */
export type ConfirmationsOf = (network: Network, blockNumber: number) => number;

export function pageStatus(session: SessionView, confirmationsOf: ConfirmationsOf, nowSec: number): PageStatus {
  const deposits = session.deposits.filter((deposit) => deposit.kind !== 'dust');
  return {
    state: stateOf(session, nowSec),
    expiresAtSec: session.expiresAtSec,
    due: session.dueAmount,
    coin: session.dueCoin,
    ...arrived(session, deposits),
    toSend: nowSec > session.expiresAtSec ? null : toSend(session),
    excess: session.excess,
    notes: notes(session, deposits),
    transfers: deposits.map((deposit) => transfer(session, deposit, confirmationsOf)),
    refunds: session.refunds.map(({ amount, coin, status }) => ({
      amount,
      coin,
      status: status === 'COMPLETED' ? 'done' : status === 'FAILED' ? 'failed' : 'pending',
    })),
    moving: deposits.some((deposit) => deposit.status === 'detected'),
  };
}

function arrived(session: SessionView, deposits: readonly DepositView[]): Pick<PageStatus, 'received' | 'pending'> {
  const { status, dueCoin, pending, received, refundable, paidWith } = session;
  // A refund is told beside it; who paid is still told what paid the order.
  if (status === 'paid') return { received: amountOf(session.excess) > 0n ? received : paidWith!, pending };
  if (status !== 'cancelled') return { received, pending };
  const ofCoin = deposits.filter(({ coin }) => coin === dueCoin);
  return { received: formatAmount(least(sumOf(ofCoin, 'final'), amountOf(refundable))), pending: formatAmount(sumOf(ofCoin, 'detected')) };
}

function stateOf(session: SessionView, nowSec: number): PageState {
  switch (session.status) {
    case 'paid':
      return amountOf(session.excess) > 0n ? 'overpaid' : 'paid';
    case 'processing':
      return 'seen';
    case 'open':
      if (nowSec > session.expiresAtSec) return 'closing';
      return amountOf(session.received) > 0n ? 'underpaid' : 'awaiting';
    default:
      return session.status;
  }
}

function toSend(session: SessionView): string | null {
  if (session.status !== 'open' && session.status !== 'processing') return null;
  // What went back to the payer, or is on its way there, is to be sent again.
  const left = amountOf(session.dueAmount) - amountOf(session.received) - amountOf(session.pending);
  // Once what is on its way is enough, asking for the rest would be asking for a gift.
  const moneyCame = left < amountOf(session.dueAmount);
  // Transfers on other networks may have had decimals that the payer's network lacks.
  return left > (moneyCame ? amountOf(session.tolerance) : 0n) ? formatAmount(roundedUp(left, COIN_MAX_DECIMALS)) : null;
}

const sumOf = (deposits: readonly DepositView[], status: DepositView['status']): bigint =>
  deposits.filter((deposit) => deposit.status === status).reduce((sum, { amount }) => sum + amountOf(amount), 0n);

function notes(session: SessionView, deposits: readonly DepositView[]): PageNote[] {
  const found: PageNote[] = [];
  for (const { kind, status, amount, coin, network } of deposits) {
    const about = { amount, coin, network };
    const gone = status === 'reverted' || status === 'failed';
    if (gone && session.status !== 'failed' && session.status !== 'paid') found.push({ kind: 'lost', ...about });
    if (!gone && (kind === 'wrong_coin' || kind === 'wrong_network')) found.push({ kind, ...about });
    if (!gone && kind === 'late' && session.status !== 'cancelled') found.push({ kind, ...about });
  }
  return session.reversed ? [...found, { kind: 'reversed' }] : found;
}

function transfer(session: SessionView, deposit: DepositView, confirmationsOf: ConfirmationsOf): PageTransfer {
  const { network, coin, amount, txHash, status } = deposit;
  const rule = session.paymentOptions.find((option) => option.network === network)?.finality;
  const gone = status === 'reverted' || status === 'failed';
  const have = gone ? 0 : confirmationsOf(network, deposit.blockNumber);
  return { network, coin, amount, txHash, status, have, need: rule?.kind === 'confirmations' ? rule.confirmations : null };
}
