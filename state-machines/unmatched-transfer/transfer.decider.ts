import type { UnmatchedTransfer, TransferEvent, TransferReopened } from '../../src/domain/events/transfer-events.ts';
import type { SessionId } from '../../src/domain/values/ids.ts';
import { accept, refuse, type Decision } from '../../src/domain/values/result.ts';
import { needsAcknowledgement } from '../../src/domain/networks/senders.ts';
import { unknownPayerWords } from '../../src/domain/networks/unknown-payer.ts';
import type { TransferContext, TransferValue } from './transfer.machine.ts';
import { must } from '../../src/domain/values/must.ts';

export interface TransferState {
  readonly value: TransferValue;
  readonly context: TransferContext;
}

/** Who decided, why and when. */
export interface By {
  readonly actor: string;
  readonly reason: string;
  readonly nowSec: number;
}

/* Commands: imperative, with every fact from outside as data. */

/** `transfer` is recorded with the first decision about it. */
export type TransferCommand =
  | { readonly type: 'RecordTransfer'; readonly transfer: UnmatchedTransfer; readonly by: By }
  | {
      readonly type: 'AttachTransfer';
      readonly transfer: UnmatchedTransfer;
      readonly sessionId: SessionId;
      readonly by: By;
    }
  | {
      readonly type: 'ReturnTransfer';
      readonly transfer: UnmatchedTransfer;
      readonly moveId: string;
      readonly acknowledgedSender: boolean;
      readonly by: By;
    }
  | { readonly type: 'UndoTransfer'; readonly by: By }
  /* Results of carrying out a decision; a newer decision makes them void. */
  | { readonly type: 'SettleAttached'; readonly operation: number; readonly nowSec: number }
  | { readonly type: 'SettleReturned'; readonly operation: number; readonly txHash: string; readonly nowSec: number }
  | {
      readonly type: 'SettleUndoRefused';
      readonly operation: number;
      readonly because: string;
      readonly nowSec: number;
    }
  | {
      readonly type: 'SettleReopened';
      readonly operation: number;
      readonly why: TransferReopened['data']['why'];
      readonly because: string;
      readonly nowSec: number;
    };

type Of<Type extends TransferCommand['type']> = Extract<TransferCommand, { type: Type }>;

/**
 * Decisions about an unmatched transfer. Carrying out twice adds no events; deciding twice is refused with a reason.
 */
export function decideTransfer(command: TransferCommand, state: TransferState): Decision<TransferEvent> {
  switch (command.type) {
    case 'RecordTransfer':
      return state.value === 'absent' ? accept(recorded(command)) : accept();
    case 'AttachTransfer':
      return attach(command, state);
    case 'ReturnTransfer':
      return giveBack(command, state);
    case 'UndoTransfer':
      return undo(command, state);
    default:
      return settle(command, state);
  }
}

const recorded = ({
  transfer,
  by: { actor, reason, nowSec },
}: Pick<Of<'RecordTransfer'>, 'transfer' | 'by'>): TransferEvent => ({
  type: 'TransferRecorded',
  data: { ...transfer, actor, reason, recordedAtSec: nowSec },
});

/** Why nothing can be decided now, in words; null while the transfer waits. */
export function whyNotOpen({ value, context: { decision } }: TransferState): string | null {
  const target = decision?.target;
  const what = target?.kind === 'session' ? target.sessionId : (target?.moveId ?? '');
  switch (value) {
    case 'absent':
    case 'open':
      return null;
    case 'attaching':
      return `it is being attached to ${what} by ${must(decision).actor}`;
    case 'attached':
      return `it is attached to ${what} by ${must(decision).actor}; undo that first`;
    case 'detaching':
      return `it is being detached from ${what}`;
    case 'returning':
      return `it is being returned (${what}) by ${must(decision).actor}; undo that first`;
    case 'cancelling':
      return `its return (${what}) is being cancelled`;
    case 'returned':
      return `it was returned (${what})`;
  }
}

function attach({ transfer, sessionId, by }: Of<'AttachTransfer'>, state: TransferState): Decision<TransferEvent> {
  const why = whyNotOpen(state);
  if (why !== null) return refuse('conflict', why);
  const { actor, reason, nowSec } = by;
  const { depositKey } = transfer;
  const data = { depositKey, operation: state.context.operation + 1, sessionId, actor, reason, requestedAtSec: nowSec };
  return accept<TransferEvent>(...first(state, transfer, by), { type: 'TransferAttachRequested', data });
}

function giveBack(
  { transfer, moveId, acknowledgedSender, by }: Of<'ReturnTransfer'>,
  state: TransferState,
): Decision<TransferEvent> {
  const why = whyNotOpen(state) ?? whyNotReturnable(transfer);
  if (why !== null) return refuse('conflict', why);
  const { sender, depositKey, fromAddress } = transfer;
  if (!acknowledgedSender && (sender === null || needsAcknowledgement(sender)))
    return refuse(
      'sender_not_acknowledged',
      `${senderWords(transfer)}: the money may be lost there`,
      'acknowledge-sender',
    );
  const { actor, reason, nowSec } = by;
  const data = {
    depositKey,
    operation: state.context.operation + 1,
    moveId,
    toAddress: must(fromAddress),
    actor,
    reason,
    requestedAtSec: nowSec,
  };
  return accept<TransferEvent>(...first(state, transfer, by), { type: 'TransferReturnRequested', data });
}

/** Why it cannot be returned, in words; null if it can. */
const whyNotReturnable = ({ fromAddress, unknownPayer }: UnmatchedTransfer): string | null =>
  fromAddress === null ? unknownPayerWords(unknownPayer) : null;

function senderWords({ sender, fromAddress }: UnmatchedTransfer): string {
  if (sender === null) return `the kind of ${fromAddress} could not be determined`;
  return sender.kind === 'exchange'
    ? `${fromAddress} is a wallet of ${sender.name ?? 'an exchange'}`
    : `${fromAddress} is a contract`;
}

const first = (state: TransferState, transfer: UnmatchedTransfer, by: By): TransferEvent[] =>
  state.value === 'absent' ? [recorded({ transfer, by })] : [];

function undo(
  { by: { actor, reason, nowSec } }: Of<'UndoTransfer'>,
  { value, context }: TransferState,
): Decision<TransferEvent> {
  if (value === 'absent') return refuse('not_found', 'nothing was decided about it');
  const { operation, transfer, decision } = context;
  const data = { depositKey: must(transfer).depositKey, operation, actor, reason, requestedAtSec: nowSec };
  switch (value) {
    case 'attached':
    case 'returning':
      return accept({ type: 'TransferUndoRequested', data });
    case 'detaching':
    case 'cancelling':
      return accept();
    case 'attaching':
      return refuse('conflict', 'it is being attached right now; undo it afterwards');
    case 'returned':
      return refuse(
        'conflict',
        `it was paid back (${decision?.target.kind === 'return' ? decision.target.moveId : ''}); a payment in a block cannot be undone`,
      );
    case 'open':
      return refuse('conflict', 'there is nothing to undo: it is waiting for a decision');
  }
}

type Settlement = Of<'SettleAttached' | 'SettleReturned' | 'SettleUndoRefused' | 'SettleReopened'>;

/** The states in which each outcome may be recorded. */
const SETTLES: Readonly<Record<Settlement['type'], readonly TransferValue[]>> = {
  SettleAttached: ['attaching'],
  SettleReturned: ['returning', 'cancelling'],
  SettleUndoRefused: ['detaching', 'cancelling'],
  SettleReopened: ['attaching', 'detaching', 'returning', 'cancelling'],
};

function settle(command: Settlement, { value, context }: TransferState): Decision<TransferEvent> {
  const { operation, decision, transfer } = context;
  if (command.operation !== operation || !decision || !transfer || !SETTLES[command.type].includes(value))
    return accept();
  const { depositKey } = transfer;
  const { target } = decision;
  const { nowSec } = command;
  switch (command.type) {
    case 'SettleAttached':
      return target.kind === 'session'
        ? accept({
            type: 'TransferAttached',
            data: { depositKey, operation, sessionId: target.sessionId, attachedAtSec: nowSec },
          })
        : accept();
    case 'SettleReturned':
      return target.kind === 'return'
        ? accept({
            type: 'TransferReturned',
            data: { depositKey, operation, moveId: target.moveId, txHash: command.txHash, returnedAtSec: nowSec },
          })
        : accept();
    case 'SettleUndoRefused':
      return accept({
        type: 'TransferUndoRefused',
        data: { depositKey, operation, because: command.because, refusedAtSec: nowSec },
      });
    case 'SettleReopened':
      return accept({
        type: 'TransferReopened',
        data: { depositKey, operation, why: command.why, because: command.because, reopenedAtSec: nowSec },
      });
  }
}
