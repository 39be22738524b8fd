import { SESSION_FORGET } from '../../domain/events/operations-events.ts';
import { parseSessionId, type SessionId } from '../../domain/values/ids.ts';
import { sessionStream } from '../../domain/values/streams.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import { MayNotErase } from '../../ports/event-log/personal-keys.ts';
import type { Random } from '../../ports/random.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import { recordAct } from '../server/acts.ts';
import { CommandRefused, refused, requiredText, type AdminArguments } from '../server/commands.ts';

export interface ForgetParts {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly erase: (id: SessionId) => Promise<void>;
}

/** `quittance forget`: records who asked for it before anything is erased. Throws `CommandRefused`. */
export async function forgetSession(
  { store, clock, random, erase }: ForgetParts,
  args: AdminArguments,
): Promise<JsonValue> {
  const id = sessionIdOf(args);
  const [created] = await store.readStream(sessionStream(id), { limit: 1 });
  if (!created) return refused('no such session');
  await recordAct({ store, clock, random }, SESSION_FORGET, id, args);
  await erase(id).catch((error: unknown) => {
    throw error instanceof MayNotErase ? new CommandRefused(error.message) : error;
  });
  return { id, erased: true };
}

export function sessionIdOf(args: AdminArguments): SessionId {
  return parseSessionId(requiredText(args, 'session_id')) ?? refused('session_id is not a session id');
}
