import type { SessionEvent } from '../../../domain/events/session-events.ts';
import { type CommandHandler, handlersOf } from '../../../runtime/commands/handler.ts';
import { MachineTable } from '../../../runtime/commands/machine-table.ts';
import { decideSession, type SessionCommand } from '../../../../state-machines/checkout-session/session.decider.ts';
import {
  checkoutSessionMachine,
  type SessionValue,
} from '../../../../state-machines/checkout-session/session.machine.ts';
import type { SessionContext } from '../../../../state-machines/checkout-session/session.state.ts';

export const sessionTable = new MachineTable<SessionValue, SessionContext, SessionEvent>(checkoutSessionMachine);

/** Session events that merchants are notified of (specification, "Event types"), or can subscribe to. */
export const NOTIFYING_EVENTS: ReadonlySet<string> = new Set([
  'SessionPaid',
  'SessionExpired',
  'SessionFailed',
  'SessionCancelled',
  'RefundCompleted',
  'RefundFailed',
  'DepositDetected',
  'DepositConfirmed',
  'DepositReverted',
  'TransferCredited',
  'RefundRequested',
]);

export type SessionHandler = CommandHandler<SessionValue, SessionContext, SessionEvent, SessionCommand>;

/** The only handler that changes sessions. */
export const createSessionHandler = handlersOf({
  table: sessionTable,
  decide: decideSession,
  notifies: NOTIFYING_EVENTS,
});
