import type { Mode } from '../../domain/values/ids.ts';
import { ledgerPeriodsStream } from '../../domain/values/streams.ts';
import { toSec } from '../../ports/clock.ts';
import { presentProven } from '../../http/presenters/evidence.presenter.ts';
import type { AuditRecords } from '../../features/audit/records.ts';
import { figuresOf } from '../../features/audit/statement.ts';
import { json, refused, requiredMode, type AdminCommands } from '../server/commands.ts';
import { monthIn } from './arguments.ts';
import { dataOf } from '../../runtime/commands/codec.ts';

export interface StatementParts {
  readonly records: Pick<AuditRecords, 'eventOf' | 'proofOfEvent' | 'verifierKey'>;
  /** Id of the event that sealed a month; null while it is open. */
  readonly closingOf: (mode: Mode, month: string) => Promise<string | null>;
}

/**
 * A closed month as a self-verifying file: figures, control totals, the event that sealed them and its proof under a
 * signed checkpoint.
 */
export function statementCommands({ records, closingOf }: StatementParts): AdminCommands {
  return {
    'ledger.statement': async (args) => {
      const [month, mode] = [monthIn(args), requiredMode(args)];
      const id = (await closingOf(mode, month)) ?? refused(`month: ${month} is not closed in ${mode} mode`);
      const event = (await records.eventOf(ledgerPeriodsStream(mode), id)) ?? refused(`the log has no event ${id}`);
      const proven =
        (await records.proofOfEvent(event)) ??
        refused('no checkpoint covers the closing yet: `quittance audit checkpoint --now`, then again');
      const data = dataOf(event, 'PeriodClosed');
      return json({
        mode,
        period: month,
        closed_at: toSec(event.atMs),
        actor: data.actor,
        event: event.id,
        through_event: data.throughPosition,
        ...figuresOf(data),
        ...presentProven(proven, records.verifierKey()),
      });
    },
  };
}
