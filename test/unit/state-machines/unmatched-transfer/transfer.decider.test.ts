import { describe, expect, it } from 'vitest';
import type { UnmatchedTransfer } from '../../../../src/domain/events/transfer-events.ts';
import type { MerchantId, SessionId } from '../../../../src/domain/values/ids.ts';
import { transferTable } from '../../../../src/features/shared/handlers/transfer-handler.ts';
import {
  decideTransfer,
  type By,
  type TransferCommand,
  type TransferState,
} from '../../../../state-machines/unmatched-transfer/transfer.decider.ts';
import { STRAY_FACTS } from '../../../fixtures/events/transfer-samples.ts';

const SOURCE = `cs_${'a'.repeat(32)}` as SessionId;
const TARGET = `cs_${'b'.repeat(32)}` as SessionId;
const transfer: UnmatchedTransfer = {
  ...STRAY_FACTS,
  mode: 'live',
  origin: { kind: 'session', sessionId: SOURCE, merchantId: 'mer_abcdefghij2345672345' as MerchantId },
  derivationIndex: 41,
  sender: { kind: 'wallet', name: null },
};
const by = (actor: string): By => ({ actor, reason: 'because', nowSec: 1_800_090_000 });
const attach: TransferCommand = { type: 'AttachTransfer', transfer, sessionId: TARGET, by: by('ada') };
const giveBack: TransferCommand = {
  type: 'ReturnTransfer',
  transfer,
  moveId: 'rtn_1',
  acknowledgedSender: false,
  by: by('ben'),
};
const undo: TransferCommand = { type: 'UndoTransfer', by: by('cyd') };
const settled = (operation: number): TransferCommand => ({ type: 'SettleAttached', operation, nowSec: 1 });
const reopened = (operation: number): TransferCommand => ({
  type: 'SettleReopened',
  operation,
  why: 'undone',
  because: 'x',
  nowSec: 1,
});
const paid = (operation: number): TransferCommand => ({
  type: 'SettleReturned',
  operation,
  txHash: '0xpaid',
  nowSec: 1,
});

/** The state after the commands, each of which must be accepted, and the types of the events of the last one. */
function after(...commands: TransferCommand[]): { state: TransferState; last: string[] } {
  let state: TransferState = transferTable.initial;
  let last: string[] = [];
  for (const command of commands) {
    const decision = decideTransfer(command, state);
    if (!decision.ok) throw new Error(decision.refusal.message);
    last = decision.events.map(({ type }) => type);
    state = transferTable.replay(decision.events, state);
  }
  return { state, last };
}

function refusalOf(command: TransferCommand, ...given: TransferCommand[]): string {
  const decision = decideTransfer(command, after(...given).state);
  if (decision.ok) throw new Error(`${command.type} was accepted`);
  return decision.refusal.message;
}

describe('an unmatched transfer', () => {
  it('is recorded with the first decision about it', () => {
    const { state, last } = after(attach);
    expect(last).toEqual(['TransferRecorded', 'TransferAttachRequested']);
    expect(state.context).toMatchObject({
      transfer,
      operation: 1,
      decision: { actor: 'ada', reason: 'because', target: { sessionId: TARGET } },
    });
  });

  it('is in one place at a time: the second of two operators learns about the first', () => {
    expect(refusalOf(giveBack, attach)).toBe(`it is being attached to ${TARGET} by ada`);
    expect(refusalOf(giveBack, attach, settled(1))).toBe(`it is attached to ${TARGET} by ada; undo that first`);
    expect(refusalOf(attach, giveBack)).toBe('it is being returned (rtn_1) by ben; undo that first');
    expect(refusalOf(attach, giveBack, paid(1))).toBe('it was returned (rtn_1)');
  });

  it('can be decided again once a decision was undone, under a new number', () => {
    const { state } = after(attach, settled(1), undo, reopened(1), giveBack);
    expect(state).toMatchObject({
      value: 'returning',
      context: { operation: 2, decision: { target: { moveId: 'rtn_1' } } },
    });
  });

  it('cannot be undone while nothing holds, while it is carried out, or after it was paid', () => {
    expect(refusalOf(undo)).toBe('nothing was decided about it');
    expect(refusalOf(undo, attach)).toContain('right now');
    expect(refusalOf(undo, attach, settled(1), undo, reopened(1))).toContain('nothing to undo');
    expect(refusalOf(undo, giveBack, paid(1))).toContain('cannot be undone');
  });

  it('stays where it is if something depends on it', () => {
    const refused: TransferCommand = {
      type: 'SettleUndoRefused',
      operation: 1,
      because: 'the session is paid with it',
      nowSec: 1,
    };
    expect(after(attach, settled(1), undo, refused)).toMatchObject({
      state: { value: 'attached' },
      last: ['TransferUndoRefused'],
    });
    expect(after(giveBack, undo, refused).state.value).toBe('returning');
  });

  it('counts as returned if its return lands while it is being cancelled', () => {
    expect(after(giveBack, undo, paid(1)).state.value).toBe('returned');
  });

  it('hears nothing of a step that carries out an older decision', () => {
    const given = [attach, settled(1), undo, reopened(1), attach] as const;
    expect(after(...given, settled(1)).last).toEqual([]);
    expect(after(...given, reopened(1)).state.value).toBe('attaching');
    expect(after(...given, settled(2), settled(2)).last).toEqual([]);
  });

  it('is returned to the payer only', () => {
    const none = { ...giveBack, transfer: { ...transfer, fromAddress: null } } as TransferCommand;
    expect(refusalOf(none)).toBe('the chain does not name exactly one paying address');
    const event = {
      type: 'TransferReturnRequested',
      data: {
        depositKey: transfer.depositKey,
        operation: 1,
        moveId: 'rtn_1',
        toAddress: '0x000000000000000000000000000000000000dEaD',
        ...{ actor: 'eve', reason: 'mine', requestedAtSec: 1 },
      },
    } as const;
    const { state } = after({ type: 'RecordTransfer', transfer, by: by('ada') });
    expect(transferTable.next(state, event)).toBeNull();
    expect(
      transferTable.next(state, { ...event, data: { ...event.data, toAddress: transfer.fromAddress! } }),
    ).not.toBeNull();
  });

  it.each([
    [{ kind: 'exchange', name: 'Binance' }, 'is a wallet of Binance'],
    [{ kind: 'contract', name: null }, 'is a contract'],
    [null, 'could not be determined'],
  ] as const)('goes back to %j only with an acknowledgement', (sender, words) => {
    const command = { ...giveBack, transfer: { ...transfer, sender } } as TransferCommand;
    expect(refusalOf(command)).toContain(words);
    expect(after({ ...command, acknowledgedSender: true } as TransferCommand).state.value).toBe('returning');
  });
});
