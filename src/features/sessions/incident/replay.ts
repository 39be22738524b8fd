import { isDeepStrictEqual } from 'node:util';
import { isOfSession } from '../../../domain/events/of-streams.ts';
import type { SessionEvent } from '../../../domain/events/session-events.ts';
import { formatAmount } from '../../../domain/money/money.ts';
import { toSec } from '../../../ports/clock.ts';
import { decodeEvent } from '../../../runtime/commands/codec.ts';
import {
  decideSession,
  type SessionCommand,
  type SessionState,
} from '../../../../state-machines/checkout-session/session.decider.ts';
import { excess, held, pending, refundable } from '../../../../state-machines/checkout-session/session.state.ts';
import { sessionTable } from '../../shared/handlers/session-handler.ts';
import { describeEvent } from '../timeline/words.ts';
import { NoIncident, type IncidentSession } from './incident-file.ts';
import { must } from '../../../domain/values/must.ts';

/** One command, or recorded events that are not decided again, with their time. */
export interface Turn {
  readonly atMs: number;
  readonly actor: string;
  readonly command: SessionCommand | null;
  readonly recorded: readonly SessionEvent[];
  /** Why it differs from the record; absent if it does not. */
  readonly note?: string;
}

/** The figures of a session after a step. */
export interface Standing {
  readonly status: string;
  readonly received: string;
  readonly pending: string;
  readonly excess: string;
  readonly refundable: string;
}

export interface Step {
  readonly atMs: number;
  readonly actor: string;
  /** The command given to the decider; null if the file contains only the outcome. */
  readonly command: string | null;
  /** The decision in words, or why there was none. */
  readonly outcome: readonly string[];
  /** Whether this program's decider agrees with the record; null if there is nothing to compare. */
  readonly agrees: boolean | null;
  readonly note?: string;
  readonly standing: Standing;
}

export interface Replay {
  readonly steps: readonly Step[];
  readonly standing: Standing;
  /** When it was paid and how it ended; null if it was not or did not. */
  readonly paidAtSec: number | null;
  readonly endedAs: string;
}

/** The events of a session as the commands that led to them, in order. */
export function turnsOf({ events }: IncidentSession): Turn[] {
  const stored = events.map(decodeEvent).filter(isOfSession);
  const turns: Turn[] = [];
  for (let at = 0; at < stored.length;) {
    const first = must(stored[at]);
    // Events of one command were committed together.
    const together = stored
      .slice(at)
      .findIndex(
        ({ atMs, metadata }) => atMs !== first.atMs || metadata.correlationId !== first.metadata.correlationId,
      );
    const group = stored.slice(at, together < 0 ? stored.length : at + together);
    const taken = group.slice(0, lengthOf(group.map(({ event }) => event)));
    const recorded = taken.map(({ event }) => event);
    turns.push({ atMs: first.atMs, actor: first.metadata.actor, command: commandOf(recorded, first.atMs), recorded });
    at += taken.length;
  }
  return turns;
}

/** Number of events that the first one's command produced. */
function lengthOf([first, second]: readonly SessionEvent[]): number {
  const brings: Readonly<Partial<Record<SessionEvent['type'], SessionEvent['type']>>> = {
    CoinChosen: 'DepositDetected',
    DepositConfirmed: 'SessionPaid',
  };
  return second && brings[must(first).type] === second.type ? 2 : 1;
}

/** Null if the request cannot be derived from its result. */
function commandOf(recorded: readonly SessionEvent[], atMs: number): SessionCommand | null {
  const event = must(recorded[0]).type === 'CoinChosen' ? must(recorded[1]) : must(recorded[0]);
  switch (event.type) {
    case 'SessionCreated':
      return { type: 'CreateSession', data: event.data };
    case 'DepositDetected': {
      const { kind: _, ...facts } = event.data;
      return { type: 'RecordDeposit', facts };
    }
    case 'DepositConfirmed': {
      const { kind: _, ...data } = event.data;
      const paid = recorded[1]?.type === 'SessionPaid' ? recorded[1].data : null;
      return {
        type: 'ConfirmDeposit',
        data,
        nowSec: paid?.paidAtSec ?? toSec(atMs),
        valuation: paid?.valuation ?? null,
      };
    }
    case 'DepositReverted': {
      const { afterFinal: _, ...data } = event.data;
      return { type: 'RevertDeposit', ...data };
    }
    case 'SessionExpired':
      return { type: 'ExpireSession', nowSec: event.data.expiredAtSec, scannedToSec: event.data.scannedToSec };
    case 'SessionFailed':
      return { type: 'ExpireSession', nowSec: event.data.failedAtSec, scannedToSec: {} };
    case 'SessionCancelled':
      return { type: 'CancelSession', nowSec: event.data.cancelledAtSec };
    case 'SessionDeadlineMoved':
      return { type: 'MoveDeadline', expiresAtSec: event.data.expiresAtSec, nowSec: event.data.movedAtSec };
    default:
      return null;
  }
}

/**
 * Runs the deciders again, turn by turn. `isOther`: under another policy, so differences from the record are expected.
 * Throws `NoIncident`.
 */
export function replay(turns: readonly Turn[], isOther = false): Replay {
  let state: SessionState = sessionTable.initial;
  let paidAtSec: number | null = null;
  const steps: Step[] = [];
  for (const turn of turns) {
    const decision = turn.command && decideSession(turn.command, state);
    const decided: readonly SessionEvent[] = decision ? (decision.ok ? decision.events : []) : turn.recorded;
    const agrees = decision === null || isOther ? null : isDeepStrictEqual(plain(decided), plain(turn.recorded));
    const outcome = decision && !decision.ok ? [`Refused: ${decision.refusal.message}.`] : [];
    // A replay of recorded history continues from the record, whatever this program would decide.
    for (const event of isOther ? decided : turn.recorded) {
      const next = sessionTable.next(state, event);
      if (!next && !isOther) throw new NoIncident(`file: ${event.type} is not legal in ${state.value}`);
      outcome.push(
        next ? describeEvent(event).message : `${event.type} was recorded but could not have happened here.`,
      );
      if (next && event.type === 'SessionPaid') paidAtSec = event.data.paidAtSec;
      state = next ?? state;
    }
    if (outcome.length === 0) outcome.push(`Nothing: the session is ${state.value}.`);
    const { atMs, actor, note } = turn;
    steps.push({
      atMs,
      actor,
      command: turn.command?.type ?? null,
      outcome,
      agrees,
      ...(note !== undefined && { note }),
      standing: standingOf(state),
    });
  }
  return { steps, standing: standingOf(state), paidAtSec, endedAs: state.value };
}

/** Makes absent and undefined fields equal. */
const plain = (events: readonly SessionEvent[]): unknown => JSON.parse(JSON.stringify(events));

function standingOf({ value, context }: SessionState): Standing {
  const coin = context.created?.dueCoin;
  return {
    status: value,
    received: formatAmount(coin ? held(context) : 0n),
    pending: formatAmount(pending(context)),
    excess: formatAmount(excess(context)),
    refundable: formatAmount(coin ? refundable(context, coin) : 0n),
  };
}
