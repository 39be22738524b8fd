import type { PeriodClosed } from '../domain/events/operations-events.ts';
import { isMonth } from '../domain/calendar.ts';
import { ledgerPeriodsStream } from '../domain/streams.ts';
import { toSec } from '../ports/clock.ts';
import { presentCheckpoint } from '../http/presenters/audit.presenter.ts';
import type { AuditRecords } from '../features/audit/records.ts';
import { figuresOf } from '../features/audit/statement.ts';
import { json, refused, requiredMode, requiredText, type AdminCommands } from './commands.ts';

export interface StatementParts {
  readonly records: Pick<AuditRecords, 'eventOf' | 'proofOfEvent' | 'verifierKey'>;
  /** `ledger.periods`: which event sealed each month. */
  readonly periods: AdminCommands[string];
}

/** A closed month as a file that is verified by itself: figures, control totals, the event that sealed them and its proof under a signed checkpoint. */
export function statementCommands({ records, periods }: StatementParts): AdminCommands {
  return {
    'ledger.statement': async (args) => {
      const month = requiredText(args, 'month');
      if (!isMonth(month)) return refused('month must be a month such as 2026-10');
      const mode = requiredMode(args);
      const closed = (await periods({ mode })) as unknown as { readonly periods: readonly { readonly period: string; readonly entry: string }[] };
      const id = closed.periods.find(({ period }) => period === month)?.entry ?? refused(`month: ${month} is not closed in ${mode} mode`);
      const event = (await records.eventOf(ledgerPeriodsStream(mode), id)) ?? refused(`the log has no event ${id}`);
      const proven =
        (await records.proofOfEvent(event)) ?? refused('no checkpoint covers the closing yet: `quittance audit checkpoint --now`, then again');
      const data = JSON.parse(event.data) as PeriodClosed['data'];
      const { leafIndex, text, hash, inclusionProof } = proven.proof;
      return json({
        ...{ mode, period: month, closed_at: toSec(event.atMs), actor: data.actor, event: event.id, through_event: data.throughPosition },
        ...figuresOf(data),
        ...{ verifier_key: records.verifierKey(), checkpoint: presentCheckpoint(proven.checkpoint) },
        proof: { leaf_index: leafIndex, text, hash, inclusion_proof: inclusionProof },
      });
    },
  };
}
