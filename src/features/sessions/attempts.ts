import type { SessionId } from '../../domain/values/ids.ts';
import type { Refusal } from '../../domain/values/result.ts';
import { sessionStream } from '../../domain/values/streams.ts';
import type { SessionState } from '../../../state-machines/checkout-session/session.decider.ts';
import type { SessionHandler } from '../shared/handlers/session-handler.ts';
import type { Caller, Outcome } from '../shared/merchant-api.ts';
import type { Attempt, SessionIds } from './ids.ts';

/* The sessions of one order. Each may supersede the previous one after that has ended unpaid. */

interface AttemptDeps {
  readonly ids: SessionIds;
  readonly sessions: Pick<SessionHandler, 'read'>;
}

/** A used `order_id` is found under the secret that was current at the time. */
export async function currentOrOlderId(deps: AttemptDeps, attempt: Attempt): Promise<SessionId> {
  for (const older of deps.ids.older(attempt)) {
    if (await deps.sessions.read(sessionStream(older))) return older;
  }
  return deps.ids.current(attempt);
}

/** The session that supersedes one that ended unpaid; null if there is none. */
export async function successorOf(deps: AttemptDeps, { value, context }: SessionState): Promise<SessionId | null> {
  if (!context.created || !isOver(value)) return null;
  const id = await currentOrOlderId(deps, { ...context.created, supersedes: context.created.sessionId });
  return (await deps.sessions.read(sessionStream(id))) ? id : null;
}

/** The session has ended and asks for no more money. */
const isOver = (value: SessionState['value']): boolean =>
  value === 'expired' || value === 'cancelled' || value === 'failed';

/** Why no further attempt may follow the session; null if one may. */
export async function supersedingFault(
  deps: AttemptDeps,
  caller: Caller,
  orderId: string,
  id: SessionId,
): Promise<Refusal | null> {
  const state = await deps.sessions.read(sessionStream(id));
  const created = state?.context.created;
  const refused = (code: 'invalid_request' | 'conflict', message: string): Refusal => ({
    code,
    message,
    param: 'supersedes',
  });
  if (!state || created?.merchantId !== caller.merchantId || created.mode !== caller.mode)
    return refused('invalid_request', 'supersedes is not one of your sessions');
  if (created.orderId !== orderId) return refused('invalid_request', 'supersedes belongs to another order');
  if (state.value === 'paid') return refused('conflict', 'the session is paid: the order needs no other session');
  return isOver(state.value)
    ? null
    : refused('conflict', 'the session can still be paid: cancel it first, or wait until it has expired');
}

/** A safe retry returns the session, unless it is over: that would be a dead link for the payer. */
export const repeatOf = (id: SessionId, state: SessionState): Outcome<SessionState> =>
  isOver(state.value)
    ? { ok: false, refusal: overRefusal(id, state.value) }
    : { ok: true, value: state, repeated: true };

const overRefusal = (id: SessionId, value: SessionState['value']): Refusal => ({
  code: 'session_expired',
  message: `the session ${id} of this order has ended (${value}): create another one with its id in supersedes`,
  param: 'order_id',
});
