import type { StatementIssued } from '../../../domain/events/document-events.ts';
import type { MerchantId, Mode } from '../../../domain/values/ids.ts';
import { ledgerPeriodsStream, statementsStream } from '../../../domain/values/streams.ts';
import { toSec } from '../../../ports/clock.ts';
import type { RecordedEvent } from '../../../ports/event-log/event-store.ts';
import { appendNext } from '../../../runtime/commands/append-next.ts';
import type { LedgerBalances } from '../balances.ts';
import type { LedgerJournal } from '../journal.ts';
import type { IssueDeps } from './issue.ts';
import { linesTable } from './journal.ts';
import { merchantsIn, scopeOfMonth, statementContent, type StatementOf } from './month-statement.ts';
import { textOf } from './table.ts';
import { dataOf } from '../../../runtime/commands/codec.ts';

export interface MonthStatementsDeps extends IssueDeps {
  readonly balances: LedgerBalances;
  readonly journal: LedgerJournal;
}

export interface IssuedStatement {
  readonly event: RecordedEvent;
  readonly data: StatementIssued['data'];
}

/** Statements of closed months. Each is made once and stored as an event, so that checkpoints cover it. */
export class MonthStatements {
  readonly #deps: MonthStatementsDeps;

  constructor(deps: MonthStatementsDeps) {
    this.#deps = deps;
  }

  /** The existing statements of the month, the operator's first. */
  async list(mode: Mode, period: string): Promise<IssuedStatement[]> {
    const events = await this.#deps.store.readStream(statementsStream(mode, period));
    const all = events.map((event): IssuedStatement => ({
      event,
      data: dataOf(event, 'StatementIssued'),
    }));
    return all.toSorted((one, other) => ((one.data.merchantId ?? '') < (other.data.merchantId ?? '') ? -1 : 1));
  }

  async find({ mode, period, merchantId }: StatementOf): Promise<IssuedStatement | null> {
    return (await this.list(mode, period)).find(({ data }) => data.merchantId === merchantId) ?? null;
  }

  /** The lines of a merchant's statement as CSV; null if there is no statement. */
  async lines(of: StatementOf & { readonly merchantId: MerchantId }): Promise<AsyncIterable<string> | null> {
    const { journal } = this.#deps;
    return (await this.find(of)) ? textOf(linesTable(journal, scopeOfMonth(of), Infinity, of.merchantId), 'csv') : null;
  }

  /** Issues the missing statements of a closed month. Null if the month is open. */
  async issue(mode: Mode, period: string, actor: string): Promise<IssuedStatement[] | null> {
    const closed = await this.#deps.balances.period(mode, period);
    if (!closed) return null;
    const closing = (await this.#deps.store.readStream(ledgerPeriodsStream(mode))).find(
      ({ id }) => id === closed.entry,
    );
    if (!closing) throw new Error(`the log has no event ${closed.entry}`);
    const throughEvent = dataOf(closing, 'PeriodClosed').throughPosition;
    const wanted: (MerchantId | null)[] = [null, ...(await merchantsIn(this.#deps, { mode, period }))];
    const made = new Set((await this.list(mode, period)).map(({ data }) => data.merchantId));
    for (const merchantId of wanted) {
      if (made.has(merchantId)) continue;
      const content = await statementContent(this.#deps, { mode, period, merchantId });
      const issuedAtSec = toSec(this.#deps.clock.nowMs());
      await this.#append({
        mode,
        period,
        merchantId,
        closing: closing.id,
        throughEvent,
        ...content,
        actor,
        issuedAtSec,
      });
    }
    return this.list(mode, period);
  }

  /** If another node was first, its statement stands. */
  async #append(data: StatementIssued['data']): Promise<void> {
    const stream = statementsStream(data.mode, data.period);
    for (;;) {
      const last = await this.#deps.store.lastOfStream(stream);
      if (await this.find(data)) return;
      const { result } = await appendNext(this.#deps, {
        stream,
        last,
        event: { type: 'StatementIssued', data },
        actor: data.actor,
      });
      if (result.ok) return;
    }
  }
}
