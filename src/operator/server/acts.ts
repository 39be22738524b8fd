import type { OperatorActed } from '../../domain/events/operations-events.ts';
import { LINE_OF_TERMS, onOneLine } from '../../domain/line-of-terms.ts';
import { isPlainName } from '../../domain/values/names.ts';
import { OPERATOR_ACTS_STREAM } from '../../domain/values/streams.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import type { Random } from '../../ports/random.ts';
import { appendNext } from '../../runtime/commands/append-next.ts';
import { CommandRefused, optionalText, requiredText, type AdminArguments, type AdminCommands } from './commands.ts';

export interface ActsParts {
  readonly store: Pick<EventStore, 'append' | 'lastOfStream'>;
  readonly clock: Clock;
  readonly random: Random;
}

/** Commands that change something and leave no other event, with the argument that names their subject. */
const ACTS: Readonly<Record<string, string>> = {
  'projection.rebuild': 'name',
  'chain.rescan': 'network',
  'treasury.stop': 'mode',
  'treasury.resume': 'mode',
  'treasury.limits': 'mode',
  'treasury.reject': 'id',
};
/** For these, proceeding without a record is better than not stopping. */
const MAY_LACK_RECORD: ReadonlySet<string> = new Set(['treasury.stop']);
/** When nodes write at the same moment, one of them is first. */
const ATTEMPTS = 20;
const MAX_ACTOR_LENGTH = 100;

/** The same commands; acts among them are recorded before they are carried out. */
export function withRecordedActs(commands: AdminCommands, parts: ActsParts): AdminCommands {
  const acts = Object.entries(commands).flatMap(([name, run]) => {
    const argument = ACTS[name];
    if (argument === undefined) return [];
    const recorded = async (args: AdminArguments) => {
      const write = recordAct(parts, name, optionalText(args, argument) ?? null, args);
      if (MAY_LACK_RECORD.has(name)) {
        const [answer] = await Promise.all([run(args), write.catch(() => undefined)]);
        return answer;
      }
      await write;
      return run(args);
    };
    return [[name, recorded] as const];
  });
  return { ...commands, ...Object.fromEntries(acts) };
}

/** Records who did it, to what and when. Throws `CommandRefused` for an invalid operator name. */
export async function recordAct(
  parts: ActsParts,
  act: string,
  subject: string | null,
  args: AdminArguments,
): Promise<void> {
  const actor = actorOf(args);
  const stream = OPERATOR_ACTS_STREAM;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const last = await parts.store.lastOfStream(stream);
    const event: OperatorActed = {
      type: 'OperatorActed',
      data: { act, subject, actor, actedAtSec: toSec(parts.clock.nowMs()) },
    };
    const { result } = await appendNext(parts, { stream, last, event, actor });
    if (result.ok) return;
  }
  throw new CommandRefused('others are writing at the same time: try again');
}

/**
 * The proposer of what others approve: the owner of the token, which cannot be overridden, otherwise the name in the
 * command.
 */
export function proposerOf(args: AdminArguments): string {
  if (args['actor'] === undefined) return operatorIn(args);
  if (args['operator'] !== undefined)
    throw new CommandRefused('operator must not be given: it is the owner of the token');
  return nameInTerms(actorOf(args), 'actor');
}

/** The name in the command, which approvers read in the terms; `usual` if it names nobody. Throws `CommandRefused`. */
export function operatorIn(args: AdminArguments, usual?: string): string {
  const given = optionalText(args, 'operator') ?? usual;
  return nameInTerms(given ?? requiredText(args, 'operator'), 'operator');
}

/** Whoever proposed something must not pass for somebody else by letters that look like those of their name. */
export function nameInTerms(name: string, field: string): string {
  if (isPlainName(inTerms(name, field))) return name;
  throw new CommandRefused(`${field} must be in Latin letters, digits and signs`);
}

/** The reason in the command, which approvers read in the terms. Throws `CommandRefused`. */
export const reasonInTerms = (args: AdminArguments): string =>
  inTerms(onOneLine(requiredText(args, 'reason')), 'reason');

/** The signer shows nothing else to approvers, so that what is proposed otherwise could never be approved. */
function inTerms(text: string, field: string): string {
  if (LINE_OF_TERMS.test(text)) return text;
  throw new CommandRefused(
    `${field} must be 1 to 500 letters, digits and signs on one line with single blanks and at most four accents on a letter, and must not begin with a blank or an accent`,
  );
}

/**
 * The name to record: the owner of the token, otherwise the name in the command. Throws `CommandRefused` for an invalid
 * one.
 */
export function actorOf(args: AdminArguments): string {
  const field = args['actor'] === undefined ? 'operator' : 'actor';
  const actor = optionalText(args, field) ?? 'operator';
  if (actor.length > MAX_ACTOR_LENGTH)
    throw new CommandRefused(`${field} must have at most ${MAX_ACTOR_LENGTH} characters`);
  return actor;
}
