import type { DepositPutBack, SessionEvent, TransferCredited } from '../../src/domain/events/session-events.ts';
import type { Valuation } from '../../src/domain/events/coin-events.ts';
import type { MerchantId, Mode } from '../../src/domain/values/ids.ts';
import { accept, refuse, type Decision } from '../../src/domain/values/result.ts';
import { paymentOf } from './payment.ts';
import {
  foldCredited,
  foldPutBack,
  isNewOperation,
  isPayable,
  mayBeCredited,
  whyNotReversible,
  whyNotSetAside,
} from './transfers.ts';
import type { SessionContext } from './session.state.ts';

/* Commands: decisions from the transfer's own stream, carried out in the sessions concerned. */

export interface SetDepositAside {
  readonly type: 'SetDepositAside';
  readonly depositKey: string;
  readonly operation: number;
  readonly nowSec: number;
}
/** Undoes the decision here. If nothing happened yet, it ensures that nothing will. */
export interface GiveUpTransfer {
  readonly type: 'GiveUpTransfer';
  readonly depositKey: string;
  readonly operation: number;
  readonly nowSec: number;
  readonly valuation: Valuation | null;
}
export interface CreditTransfer {
  readonly type: 'CreditTransfer';
  readonly transfer: Omit<TransferCredited['data'], 'kind' | 'creditedAtSec'>;
  readonly mode: Mode;
  /** The merchant who owned the money before; null if nobody did. */
  readonly merchantId: MerchantId | null;
  readonly nowSec: number;
  readonly valuation: Valuation | null;
}
export interface ReverseTransferCredit {
  readonly type: 'ReverseTransferCredit';
  readonly depositKey: string;
  readonly operation: number;
  readonly nowSec: number;
}

export type TransferCommandOfSession = SetDepositAside | GiveUpTransfer | CreditTransfer | ReverseTransferCredit;

/** A step that was carried out and undone must not be repeated by a late process. */
const OVERTAKEN = 'a newer decision has overtaken this one';

/** Repeating a command adds no events. */
export function decideTransferOfSession(
  command: TransferCommandOfSession,
  context: SessionContext,
): Decision<SessionEvent> {
  switch (command.type) {
    case 'SetDepositAside':
      return setAside(command, context);
    case 'GiveUpTransfer':
      return giveUp(command, context);
    case 'CreditTransfer':
      return credit(command, context);
    case 'ReverseTransferCredit':
      return reverse(command, context);
  }
}

/** Refused once the session has the money: the giving-up process is the late one then. */
function giveUp(command: GiveUpTransfer, context: SessionContext): Decision<SessionEvent> {
  const { depositKey, operation, nowSec } = command;
  const { aside, credit: credited, status } = context.deposits.get(depositKey) ?? {};
  if (aside?.operation === operation) return putBack(command, context);
  if (credited?.operation === operation && status === 'final')
    return refuse('conflict', 'the transfer is attached to the session');
  if (!context.created || !isNewOperation(context, depositKey, operation)) return accept();
  return accept({ type: 'TransferGivenUp', data: { depositKey, operation, givenUpAtSec: nowSec } });
}

/**
 * It may have been late when it was set aside and be on time now, because a reorganisation can move a transfer to
 * another block.
 */
function putBack(
  { depositKey, operation, nowSec, valuation }: GiveUpTransfer,
  context: SessionContext,
): Decision<SessionEvent> {
  const back: DepositPutBack = { type: 'DepositPutBack', data: { depositKey, operation, putBackAtSec: nowSec } };
  const after = { ...context, ...foldPutBack(context, back.data) };
  return accept<SessionEvent>(back, ...paymentOf(after, { paidAtSec: nowSec, valuation }));
}

function setAside({ depositKey, operation, nowSec }: SetDepositAside, context: SessionContext): Decision<SessionEvent> {
  if (context.deposits.get(depositKey)?.aside?.operation === operation) return accept();
  if (!isNewOperation(context, depositKey, operation)) return refuse('conflict', OVERTAKEN);
  const why = whyNotSetAside(context, depositKey);
  return why === null
    ? accept({ type: 'DepositSetAside', data: { depositKey, operation, setAsideAtSec: nowSec } })
    : refuse('conflict', why);
}

/** Why the session cannot take the transfer, in words; null if it can. */
export function whyNotCreditable(
  { transfer, mode, merchantId }: Pick<CreditTransfer, 'transfer' | 'mode' | 'merchantId'>,
  { created, deposits }: SessionContext,
): string | null {
  if (!created) return 'no such session';
  if (created.mode !== mode) return `the session is in ${created.mode} mode, the transfer in ${mode} mode`;
  if (merchantId !== null && created.merchantId !== merchantId)
    return `the money is owed to ${merchantId}, but the session belongs to ${created.merchantId}`;
  if (!mayBeCredited(deposits.get(transfer.depositKey))) return 'the transfer came to this session itself';
  return transfer.coin === created.dueCoin
    ? null
    : `the session is due in ${created.dueCoin}, but the transfer is in ${transfer.coin}`;
}

function credit(command: CreditTransfer, context: SessionContext): Decision<SessionEvent> {
  const { transfer, nowSec, valuation } = command;
  const known = context.deposits.get(transfer.depositKey);
  if (known?.status === 'final' && known.credit?.operation === transfer.operation) return accept();
  if (!isNewOperation(context, transfer.depositKey, transfer.operation)) return refuse('conflict', OVERTAKEN);
  const why = whyNotCreditable(command, context);
  if (why !== null) return refuse('conflict', why);
  const payable = isPayable(context);
  const credited: TransferCredited = {
    type: 'TransferCredited',
    data: { ...transfer, kind: payable ? 'on_time' : 'late', creditedAtSec: nowSec },
  };
  const after = { ...context, ...foldCredited(context, credited.data) };
  return accept<SessionEvent>(credited, ...(payable ? paymentOf(after, { paidAtSec: nowSec, valuation }) : []));
}

function reverse(
  { depositKey, operation, nowSec }: ReverseTransferCredit,
  context: SessionContext,
): Decision<SessionEvent> {
  const { credit: credited, status } = context.deposits.get(depositKey) ?? {};
  if (credited?.operation !== operation || status !== 'final') return accept();
  const why = whyNotReversible(context, depositKey);
  if (why !== null) return refuse('conflict', why);
  const { network, coin, amount, kind } = credited;
  return accept({
    type: 'TransferCreditReversed',
    data: { depositKey, network, coin, amount, kind, operation, reversedAtSec: nowSec },
  });
}
