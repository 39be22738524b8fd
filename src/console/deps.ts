import {
  CommandRefused,
  type AdminArguments,
  type AdminCommands,
  type AdminStreams,
} from '../operator/server/commands.ts';
import { textOfRefusal } from '../domain/values/result.ts';
import type { MerchantId, Mode, SessionId } from '../domain/values/ids.ts';
import type { JsonValue } from '../ports/read-model/read-model.ts';
import type { RequestLog } from '../features/shared/request-log.ts';
import type { PaymentSessionBody } from '../http/schemas/session.schema.ts';
import type { RefundBody } from '../http/schemas/refund.schema.ts';
import type { MerchantOverview } from '../features/merchants/overview.ts';
import type { Merchants } from '../features/merchants/merchants.ts';
import type { People } from '../features/people/people.ts';
import type { Sessions } from '../features/sessions/sessions.ts';
import type { Timeline } from '../features/sessions/timeline/types.ts';
import type { Caller, Outcome } from '../features/shared/merchant-api.ts';
import type { MerchantWebhooks } from '../features/webhooks/webhooks.ts';
import type { ConsoleAddress } from './guard.ts';
import { merchantOf, Refused, type ShownMerchant, type Visit, NO_SUCH } from './visit.ts';

export type Reader = Pick<Caller, 'merchantId' | 'mode'>;

export interface ListAsked {
  readonly page: number;
  readonly pageSize: number;
  readonly cursor?: string;
  readonly status?: string;
  readonly orderId?: string;
  readonly network?: never;
  readonly sessionId?: SessionId;
  readonly createdFromSec?: number;
  readonly createdToSec?: number;
}

interface ListedPage {
  readonly rows: readonly PaymentSessionBody[];
  readonly pagination: {
    readonly total?: number | undefined;
    readonly has_more: boolean;
    readonly next_cursor: string | null;
  };
}

/** The records of a merchant in the form in which the API returns them. */
export interface MerchantRecords {
  list(kind: 'sessions', reader: Reader, asked: ListAsked): Promise<Outcome<ListedPage>>;
  session(reader: Reader, id: SessionId): Promise<PaymentSessionBody | null>;
  refunds(reader: Reader, id: SessionId): Promise<readonly RefundBody[]>;
  timeline(id: SessionId): Promise<Timeline | null>;
  sessionOfTransaction(id: string): Promise<SessionId | null>;
  /** The payment to which the address is assigned. */
  sessionOfAddress(address: string): SessionId | null;
  merchantOfSession(id: SessionId): Promise<MerchantId | null>;
  sessionOfRefund(id: string): Promise<SessionId | null>;
}

/** What all pages use: the use cases that the API and the command line call, and nothing behind them. */
export interface ConsoleDeps {
  readonly address: ConsoleAddress;
  readonly people: People;
  readonly merchants: () => readonly ShownMerchant[];
  readonly records: MerchantRecords;
  readonly api: Pick<Sessions, 'createSession' | 'cancelSession' | 'requestRefund' | 'previewRefund'>;
  readonly settings: Merchants;
  readonly webhooks: Pick<MerchantWebhooks, 'list' | 'get' | 'redeliver' | 'replay' | 'sendSample'>;
  /** The operator's commands. Whatever a page shows or does with them, the command line does with `--json`. */
  readonly commands: AdminCommands;
  readonly streams: AdminStreams;
  /** The recent requests that this process served. */
  readonly requestLog: Pick<RequestLog, 'before' | 'find'>;
  /** The event log in the form of the audit export, one line per event. */
  readonly exportEvents: () => AsyncIterable<string>;
}

/** Runs an operator's command for a person. Throws `CommandRefused`. */
export async function run<Answer = JsonValue>(
  { commands }: Pick<ConsoleDeps, 'commands'>,
  name: string,
  args: AdminArguments = {},
): Promise<Answer> {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) throw new CommandRefused(`this process does not run ${name}: open the console of a worker that does`);
  return (await command(args)) as Answer;
}

/** The arguments that say who acts and why. */
export const byPerson = ({ person, form }: Visit): { readonly by: string; readonly reason: string } => ({
  by: person.name,
  reason: form['reason'] ?? '',
});

/** The merchant of the page, as a reader of its records. Throws `Refused`. */
export function readerOf(visit: Visit): Reader {
  const { id, mode } = merchantOf(visit);
  return { merchantId: id, mode };
}

/** The settings of the merchant of the page. Throws `Refused`. */
export function overviewOf({ settings }: ConsoleDeps, visit: Visit): MerchantOverview {
  const found = settings.getMerchant(readerOf(visit).merchantId);
  if (!found) throw NO_SUCH();
  return found;
}

/** The person as a caller of the merchant's API; the idempotency key keeps a request from taking effect twice. */
export const callerOf = (visit: Visit, idempotencyKey?: string): Caller => ({
  ...readerOf(visit),
  requestId: visit.requestId,
  person: visit.person.name,
  ...(idempotencyKey !== undefined && { idempotencyKey }),
});

export const changedBy = ({ person, requestId }: Visit) => ({
  actor: `person:${person.name}`,
  correlationId: requestId,
});

/** The value of a successful outcome. Throws `Refused` with the field at fault. */
export function accepted<Value>(outcome: Outcome<Value>): Value {
  if (outcome.ok) return outcome.value;
  if (outcome.refusal.code === 'not_found') throw NO_SUCH();
  throw new Refused(textOfRefusal(outcome.refusal));
}

/** The mode in the path or the query. Throws `Refused`. */
export function modeOf(text: string | null | undefined): Mode {
  if (text === 'live' || text === 'test') return text;
  throw NO_SUCH();
}
