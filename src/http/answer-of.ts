import type { Outcome } from '../features/shared/merchant-api.ts';
import { NOT_FOUND, UNAUTHENTICATED, type Answer } from './answer.ts';

/**
 * The HTTP answer to a command: its value in wire form, or its refusal. Refusals that must not be distinguishable are
 * merged into one.
 */
export function answerOf<Value>(outcome: Outcome<Value>, present: (value: Value) => object): Answer {
  if (outcome.ok) return { ok: true, body: present(outcome.value), repeated: outcome.repeated === true };
  if (outcome.refusal.code === 'not_found') return NOT_FOUND;
  if (outcome.refusal.code === 'authentication_failed') return UNAUTHENTICATED;
  return outcome;
}
