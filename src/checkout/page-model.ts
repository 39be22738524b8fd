import { formatAmount, amountOf } from '../domain/money.ts';
import type { Network } from '../domain/networks.ts';
import type { SessionView } from '../use-cases/views.ts';

/** What the page tells the payer. Derived from the session alone, so the server and the live updates always agree. */
export type PageState = 'awaiting' | 'underpaid' | 'seen' | 'paid' | 'overpaid' | 'expired' | 'failed' | 'cancelled';

export interface PageStatus {
  readonly state: PageState;
  /** Unix seconds. */
  readonly expiresAtSec: number;
  readonly due: string;
  readonly coin: string;
  readonly received: string;
  readonly pending: string;
  /** What is still missing, not counting money on its way. */
  readonly missing: string;
  readonly excess: string;
  /** Money came that does not count for the order: late, after a cancel, of another coin or on another network. */
  readonly strayMoney: boolean;
  readonly transfers: readonly PageTransfer[];
}

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

export function pageStatus(session: SessionView, confirmationsOf: ConfirmationsOf): PageStatus {
  const due = amountOf(session.dueAmount);
  const received = amountOf(session.received);
  const missing = due > received ? due - received : 0n;
  return {
    state: stateOf(session),
    expiresAtSec: session.expiresAtSec,
    due: session.dueAmount,
    coin: session.dueCoin,
    received: session.received,
    pending: session.pending,
    missing: formatAmount(missing),
    excess: session.excess,
    strayMoney: session.deposits.some((deposit) => (deposit.kind !== 'on_time' && deposit.kind !== 'dust') || (session.status === 'cancelled' && deposit.status !== 'reverted')),
    transfers: session.deposits.filter((deposit) => deposit.kind !== 'dust').map((deposit) => {
      const rule = session.paymentOptions.find((option) => option.network === deposit.network)?.finality;
      return {
        network: deposit.network,
        coin: deposit.coin,
        amount: deposit.amount,
        txHash: deposit.txHash,
        status: deposit.status,
        have: deposit.status === 'reverted' || deposit.status === 'failed' ? 0 : confirmationsOf(deposit.network, deposit.blockNumber),
        need: rule?.kind === 'confirmations' ? rule.confirmations : null,
      };
    }),
  };
}

function stateOf(session: SessionView): PageState {
  switch (session.status) {
    case 'paid':
      return amountOf(session.excess) > 0n ? 'overpaid' : 'paid';
    case 'processing':
      return 'seen';
    case 'open':
      return amountOf(session.received) > 0n ? 'underpaid' : 'awaiting';
    default:
      return session.status;
  }
}
