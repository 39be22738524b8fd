import { expect } from 'vitest';
import type { SessionEvent } from '../../src/domain/events/session-events.ts';
import type { ErrorCode } from '../../src/domain/errors.ts';
import { sessionTable } from '../../src/features/shared/handlers/session-handler.ts';
import {
  decideSession,
  type SessionCommand,
  type SessionState,
} from '../../state-machines/checkout-session/session.decider.ts';

/** given/when/then for the session: history, command, and the events or the refusal it must give. */
export function given(...history: SessionEvent[]) {
  const state: SessionState = sessionTable.replay(history);
  return {
    state,
    when(command: SessionCommand) {
      const decision = decideSession(command, state);
      return {
        then(...types: SessionEvent['type'][]) {
          expect(decision).toMatchObject({ ok: true });
          const events = decision.ok ? decision.events : [];
          expect(events.map((event) => event.type)).toEqual(types);
          // The machine is the second assertion: what the decider proposes must be legal, and repeating must add
          // nothing.
          const after = sessionTable.replay(events, state);
          const again = decideSession(command, after);
          if (command.type !== 'CancelSession') expect(again.ok && again.events).toEqual([]);
          return { events, after };
        },
        thenRefused(code: ErrorCode) {
          expect(decision).toMatchObject({ ok: false, refusal: { code } });
        },
      };
    },
  };
}
