import type {
  JournalPlaceMoved,
  PayoutSequenceReleased,
  PayoutSequenceSigned,
  TreasuryEvent,
} from '../../src/domain/events/treasury-events.ts';
import { accept, refuse, type Decision } from '../../src/domain/values/result.ts';
import { decideMove, type MoveCommand } from './moves.decider.ts';
import { isLegalPlace, isLegalReservation, lastOfLeg, openPayout, type TreasuryValue } from './treasury.machine.ts';
import type { TreasuryContext, Reservation } from './treasury.state.ts';

export interface TreasuryState {
  readonly value: TreasuryValue;
  readonly context: TreasuryContext;
}

/* Commands: imperative, with every fact from outside as data. */

export interface ReservePayoutSequence {
  readonly type: 'ReservePayoutSequence';
  readonly data: Reservation;
}
export interface ReleasePayoutSequence {
  readonly type: 'ReleasePayoutSequence';
  readonly data: PayoutSequenceReleased['data'];
}
export interface RecordPayoutSequenceSigned {
  readonly type: 'RecordPayoutSequenceSigned';
  readonly data: PayoutSequenceSigned['data'];
}

export interface MoveJournalPlace {
  readonly type: 'MoveJournalPlace';
  readonly data: JournalPlaceMoved['data'];
}

export type TreasuryCommand =
  | ReservePayoutSequence
  | ReleasePayoutSequence
  | RecordPayoutSequenceSigned
  | MoveJournalPlace
  | MoveCommand;

/** Assigns sequences. Repeating a command adds no events; a reservation that does not fit is refused. */
export function decideTreasury(command: TreasuryCommand, { context }: TreasuryState): Decision<TreasuryEvent> {
  switch (command.type) {
    case 'ReservePayoutSequence':
      return reserve(command.data, context);
    case 'ReleasePayoutSequence':
      return isOpen(context, command.data) ? accept({ type: 'PayoutSequenceReleased', data: command.data }) : accept();
    case 'RecordPayoutSequenceSigned':
      return recordSigned(command.data, context);
    case 'MoveJournalPlace':
      return moveJournalPlace(command.data, context);
    default:
      return decideMove(command, context);
  }
}

function reserve(data: Reservation, context: TreasuryContext): Decision<TreasuryEvent> {
  if (isOpen(context, data)) return accept();
  if (context.open !== null) return refuse('conflict', 'another sequence is not signed yet');
  if (!isLegalReservation(context, data)) return refuse('conflict', `the sequence does not belong to ${data.legId}`);
  return accept({ type: 'PayoutSequenceReserved', data });
}

function recordSigned(data: PayoutSequenceSigned['data'], context: TreasuryContext): Decision<TreasuryEvent> {
  const last = lastOfLeg(context, data.legId);
  if (last && last.attempt >= data.attempt) return accept();
  if (!isOpen(context, data)) return refuse('conflict', `nothing is reserved for ${data.legId}`);
  return accept({ type: 'PayoutSequenceSigned', data });
}

function moveJournalPlace(data: JournalPlaceMoved['data'], context: TreasuryContext): Decision<TreasuryEvent> {
  if (context.journal?.hash === data.to.hash) return accept();
  if (context.journal?.hash !== data.from?.hash)
    return refuse('conflict', 'the event log has moved to another position in the journal meanwhile');
  if (!isLegalPlace(context, data))
    return refuse(
      'conflict',
      `nothing can be skipped while ${data.passed?.moveId} is open or a sequence is not signed`,
    );
  return accept({ type: 'JournalPlaceMoved', data });
}

const isOpen = (context: TreasuryContext, { legId, attempt }: { legId: string; attempt: number }): boolean =>
  openPayout(context)?.legId === legId && openPayout(context)?.attempt === attempt;
