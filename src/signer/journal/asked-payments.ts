import type { BookedLeg } from '../../../projections/ledger/session-books.ts';
import { amountOf } from '../../domain/money/money.ts';
import { must } from '../../domain/values/must.ts';
import { SESSION_PREFIX } from '../../domain/values/streams.ts';
import type { OutgoingTransaction } from '../../ports/outgoing/transaction.ts';
import { standing } from '../exclusive.ts';
import type { JournalEntry } from './journal.ts';

/** A payment out of somebody's account in the books, as the event log has it. */
interface Asked {
  readonly account: string;
  /** What it takes from the account. For a refund, the rest comes from the session's unapplied money. */
  readonly units: bigint;
  /** The payout of a refund, which is taken from the account when it is requested; absent for a move. */
  readonly payout?: BookedPayout;
}

/** The payout of a refund, in the books of its session. */
export interface BookedPayout {
  readonly stream: string;
  readonly merchantId: string;
  readonly refundId: string;
  readonly booked: BookedLeg;
}

/** Settlements, returns of native coin and payouts of refunds that have not ended, or that failed. */
export class AskedPayments {
  /** In the order of their requests. */
  readonly #open = new Map<string, Asked>();
  readonly #failed = new Map<string, Asked>();
  /** Open ones with signed bytes in the event log. A journal that was lost does not have these. */
  readonly #signed = new Set<string>();

  ask(id: string, asked: Asked): void {
    this.#failed.delete(id);
    this.#open.set(id, asked);
  }

  signed(id: string): void {
    this.#signed.add(id);
  }

  completed(id: string): void {
    this.#signed.delete(id);
    this.#open.delete(id);
  }

  failed(id: string): void {
    const asked = this.#open.get(id);
    this.completed(id);
    if (asked) this.#failed.set(id, asked);
  }

  /** The open payout of the order; null if the event log has none of that refund and amount. */
  payoutOf({ id, amount, refund }: OutgoingTransaction): (Asked & { readonly payout: BookedPayout }) | null {
    const asked = this.#open.get(id);
    const payout = asked?.payout;
    const isIt =
      payout !== undefined &&
      payout.stream === `${SESSION_PREFIX}${refund?.sessionId}` &&
      payout.refundId === refund?.refundId &&
      amountOf(payout.booked.amount) === amountOf(amount);
    return isIt ? { ...must(asked), payout } : null;
  }

  /** What the books hold in the account again although the journal does not show that nothing was paid. */
  unproven(account: string, entries: readonly JournalEntry[]): bigint {
    return sumOf(
      signedIn(entries).flatMap((id) => {
        const failed = this.#failed.get(id);
        return failed?.account === account ? [failed] : [];
      }),
    );
  }

  /** Open moves of the account other than `id`; with `entries`, only those that are signed. */
  moves(account: string, id: string, entries?: readonly JournalEntry[]): bigint {
    const isOut = entries && this.#isOut(entries);
    const of = ([moveId, { account: own, payout }]: [string, Asked]): boolean =>
      own === account && payout === undefined && moveId !== id && (isOut === undefined || isOut(moveId));
    return sumOf([...this.#open].filter(of).map(([, asked]) => asked));
  }

  /** Payouts of the account for which nothing is signed, by id, in the order of their requests. */
  waiting(account: string, entries: readonly JournalEntry[]): ReadonlyMap<string, bigint> {
    const isOut = this.#isOut(entries);
    const of = ([id, { account: own, payout }]: [string, Asked]): boolean =>
      own === account && payout !== undefined && !isOut(id);
    return new Map([...this.#open].filter(of).map(([id, { units }]) => [id, units]));
  }

  #isOut(entries: readonly JournalEntry[]): (id: string) => boolean {
    const signed = new Set(signedIn(entries));
    return (id) => signed.has(id) || this.#signed.has(id);
  }
}

function signedIn(entries: readonly JournalEntry[]): string[] {
  const released = new Set(entries.flatMap((entry) => (entry.kind === 'released' ? [entry.id] : [])));
  return standing(entries).flatMap(({ id }) => (released.has(id) ? [] : [id]));
}

const sumOf = (asked: readonly Asked[]): bigint => asked.reduce((sum, { units }) => sum + units, 0n);
