import { hash } from 'node:crypto';
import { z } from 'zod';
import { MODES } from '../../domain/values/ids.ts';
import { ledgerPeriodsStream } from '../../domain/values/streams.ts';
import { toSec } from '../../ports/clock.ts';
import type { VerifierKey } from '../../runtime/merkle/checkpoint-note.ts';
import { canonicalJson } from '../shared/canonical-json.ts';
import { figuresOf } from './statement.ts';
import { eventTextOf, notIncluded, provenFields, signedCheckpoint } from './verify-proof.ts';

const cells = { clock: z.string(), network: z.string(), coin: z.string() };
const schema = z.object({
  mode: z.string(),
  period: z.string(),
  closed_at: z.int(),
  actor: z.string(),
  event: z.string(),
  through_event: z.string(),
  figures: z.array(
    z.strictObject({ ...cells, account: z.string(), debit: z.string().nullable(), credit: z.string().nullable() }),
  ),
  totals: z.array(z.strictObject({ ...cells, figures: z.int(), debits: z.string(), credits: z.string() })),
  ...provenFields,
});

const closing = z.object({
  ...{ mode: z.enum(MODES), period: z.string(), throughPosition: z.string(), actor: z.string() },
  balances: z.record(z.string(), z.string()),
});

export interface StatementReport {
  readonly ok: boolean;
  readonly fault: string | null;
  readonly period: string | null;
  readonly figures: number;
  /** Number of events in the checkpoint that covers the closing. */
  readonly signed_events: number;
}

/** Verifies the statement of a closed month from the file and the public key alone. */
export function verifyStatement(json: unknown, key: VerifierKey): StatementReport {
  const failed = (fault: string): StatementReport => ({ ok: false, fault, period: null, figures: 0, signed_events: 0 });
  const parsed = schema.safeParse(json);
  if (!parsed.success) return failed('it is not a statement of a closed month');
  const said = parsed.data;
  const checkpoint = signedCheckpoint(said.checkpoint.checkpoint, key);
  if (typeof checkpoint === 'string') return failed(checkpoint);
  const event = eventTextOf(said.proof.text);
  const data = closing.safeParse(event?.data);
  if (!event || !data.success || event.type !== 'PeriodClosed') return failed('its event does not close a month');
  if (said.proof.hash !== hash('sha256', said.proof.text, 'hex')) return failed('the hash is not that of its event');
  const outside = notIncluded(said.proof, checkpoint);
  if (outside !== null) return failed(`its event ${outside}`);
  const { mode, period, throughPosition, actor } = data.data;
  const facts = { mode, period, closed_at: toSec(event.atMs), actor, event: event.id, through_event: throughPosition };
  const shown: Readonly<Record<string, unknown>> = said;
  for (const [name, value] of Object.entries(facts))
    if (shown[name] !== value) return failed(`${name} is not what its event says: ${value}`);
  if (event.stream !== ledgerPeriodsStream(mode)) return failed('its event is of another stream');
  const { figures, totals } = figuresOf(data.data);
  const wrong = figures.findIndex((figure, index) => !isSame(figure, said.figures[index]));
  if (wrong >= 0 || figures.length !== said.figures.length)
    return failed(`figure ${wrong >= 0 ? wrong + 1 : figures.length + 1} is not what its event says`);
  if (totals.length !== said.totals.length || !totals.every((total, index) => isSame(total, said.totals[index])))
    return failed('its control totals are not those of its figures');
  const uneven = totals.find(({ debits, credits }) => debits !== credits);
  if (uneven) return failed(`debits and credits of ${uneven.coin} on ${uneven.network} differ`);
  return { ok: true, fault: null, period, figures: figures.length, signed_events: checkpoint.size };
}

const isSame = (one: object, other: object | undefined): boolean =>
  other !== undefined && canonicalJson(one) === canonicalJson(other);
