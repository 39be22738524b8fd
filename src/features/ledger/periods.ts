import { refuse } from '../../domain/values/result.ts';
import { dayOf, monthOf } from '../../domain/values/calendar.ts';
import type { PeriodClosed } from '../../domain/events/operations-events.ts';
import type { Mode } from '../../domain/values/ids.ts';
import { ledgerPeriodsStream } from '../../domain/values/streams.ts';
import { sealOf, type PeriodRow } from '../../../projections/ledger/rows.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import { type EventStore, type Position, StoreUnavailable } from '../../ports/event-log/event-store.ts';
import type { Random } from '../../ports/random.ts';
import { appendNext } from '../../runtime/commands/append-next.ts';
import type { WholeRows } from '../../runtime/projections/whole-rows.ts';
import type { LedgerBalances } from './balances.ts';
import type { Outcome } from '../shared/merchant-api.ts';

export interface LedgerPeriodsDeps {
  readonly store: Pick<EventStore, 'append' | 'head' | 'lastOfStream'>;
  readonly balances: LedgerBalances;
  readonly clock: Clock;
  readonly random: Random;
  /** Resolves once the books contain everything up to the position; false on timeout. */
  readonly caughtUpTo: (position: Position) => Promise<boolean>;
  readonly wholeBooks: WholeRows;
}

const MAX_ATTEMPTS = 5;

/** Closes months: the figures become an event, and facts that become known later fall into the open month. */
export class LedgerPeriods {
  readonly #deps: LedgerPeriodsDeps;

  constructor(deps: LedgerPeriodsDeps) {
    this.#deps = deps;
  }

  /** Refuses a month that is not over or already closed. Closes all earlier months with it. */
  async close(mode: Mode, period: string, actor: string): Promise<Outcome<PeriodRow>> {
    const { balances, clock, caughtUpTo, wholeBooks } = this.#deps;
    if (period >= monthOf(dayOf(toSec(clock.nowMs())))) return refused(`${period} is not over yet (in UTC)`);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const read = await wholeBooks(() => this.#read(mode, period)).catch(behindOnly);
      if (read === null) return behind();
      const { before, after, figures } = read;
      if (before.closedThrough !== null && period <= before.closedThrough)
        return refused(`${before.closedThrough} and everything before it is closed`);
      const throughPosition = sealOf(before, period);
      // A late fact arrived while the figures were read, so they may be inconsistent.
      if (sealOf(after, period) !== throughPosition) continue;
      const position = await this.#append({ mode, period, throughPosition, balances: figures, actor });
      if (position === null) continue;
      if (!(await caughtUpTo(position))) return behind();
      const sealed = await balances.period(mode, period);
      if (sealed) return { ok: true, value: sealed };
    }
    return refuse('conflict', 'facts of the month are still coming in; close it again');
  }

  async #read(mode: Mode, period: string) {
    const { balances } = this.#deps;
    const before = await balances.modeRow(mode);
    const figures = await balances.figures(mode, period);
    return { before, figures, after: await balances.modeRow(mode) };
  }

  /** The event's position; null if another writer was first. */
  async #append(data: PeriodClosed['data']): Promise<Position | null> {
    const stream = ledgerPeriodsStream(data.mode);
    const last = await this.#deps.store.lastOfStream(stream);
    const event: PeriodClosed = { type: 'PeriodClosed', data };
    const { result } = await appendNext(this.#deps, { stream, last, event, actor: data.actor });
    return result.ok ? result.position : null;
  }
}

const refused = (message: string): Outcome<never> => refuse('invalid_request', message, 'period');
function behindOnly(error: unknown): null {
  if (error instanceof StoreUnavailable) return null;
  throw error;
}

const behind = (): Outcome<never> => refuse('service_unavailable', 'the books are behind the event log; try again');
