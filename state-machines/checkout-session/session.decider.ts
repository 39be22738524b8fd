import type {
  DepositFacts,
  DepositConfirmed,
  DepositReverted,
  SessionCreated,
  SessionEvent,
  SessionExpired,
} from '../../src/domain/events/session-events.ts';
import type { Valuation } from '../../src/domain/events/coin-events.ts';
import type { RefundLeg } from '../../src/domain/events/refund-events.ts';
import type { RefundId } from '../../src/domain/values/ids.ts';
import { COINS, formatAmount, type Coin } from '../../src/domain/money/money.ts';
import { accept, refuse, type Decision, type Refusal } from '../../src/domain/values/result.ts';
import { needsAcknowledgement, type Sender } from '../../src/domain/networks/senders.ts';
import { chosenBy, openAlternative } from './coin.ts';
import { kindInBlock, kindOf } from './deposit-kind.ts';
import { paymentOf } from './payment.ts';
import { decidePayout, type PayoutCommand } from './payouts.decider.ts';
import { decideTransferOfSession, type TransferCommandOfSession } from './transfers.decider.ts';
import { planRefund, type RefundTerms } from './refund-allocation.ts';
import type { SessionValue } from './session.machine.ts';
import {
  arrived,
  createdOf,
  finalOf,
  foldConfirmed,
  hasPending,
  held,
  isSufficient,
  optionAt,
  refundable,
  type SessionContext,
} from './session.state.ts';
import { must } from '../../src/domain/values/must.ts';

export interface SessionState {
  readonly value: SessionValue;
  readonly context: SessionContext;
}

/* Commands: imperative, with every fact from outside (time, quotes, chain observations) as data. */

export interface CreateSession {
  readonly type: 'CreateSession';
  readonly data: SessionCreated['data'];
}
export interface CancelSession {
  readonly type: 'CancelSession';
  readonly nowSec: number;
}
/** Sandbox only, and only to an earlier time: chain time cannot be turned back. */
export interface MoveDeadline {
  readonly type: 'MoveDeadline';
  readonly expiresAtSec: number;
  readonly nowSec: number;
}
export interface RecordDeposit {
  readonly type: 'RecordDeposit';
  readonly facts: DepositFacts;
  /** It came from an address of ours, in whichever mode. */
  readonly isOwn?: boolean;
}
export interface ConfirmDeposit {
  readonly type: 'ConfirmDeposit';
  readonly data: Omit<DepositConfirmed['data'], 'kind'>;
  readonly nowSec: number;
  readonly valuation: Valuation | null;
}
/** A reorganisation put a confirmed deposit into another block. */
export interface MoveDeposit {
  readonly type: 'MoveDeposit';
  readonly facts: DepositFacts;
  readonly headNumber: number;
  readonly nowSec: number;
}
export interface RevertDeposit {
  readonly type: 'RevertDeposit';
  readonly depositKey: string;
  readonly reason: DepositReverted['data']['reason'];
  readonly headNumber: number;
  readonly revertedAtSec: number;
}
/** Sent only when every offered network was scanned past the deadline, or the longest wait is over. */
export interface ExpireSession {
  readonly type: 'ExpireSession';
  readonly nowSec: number;
  readonly scannedToSec: SessionExpired['data']['scannedToSec'];
}
export interface RequestRefund extends Omit<RefundTerms, 'refundId'> {
  readonly type: 'RequestRefund';
  readonly refundId: RefundId;
  readonly asked: { readonly value: string; readonly currency: string } | null;
  readonly reason: string | null;
  readonly idempotencyStream: string | null;
  readonly acknowledgedSender: boolean;
  /** Senders by deposit key, where the session itself does not know them. */
  readonly senders: Readonly<Record<string, Sender>>;
  readonly nowSec: number;
}

export type SessionCommand =
  | CreateSession
  | CancelSession
  | MoveDeadline
  | RecordDeposit
  | ConfirmDeposit
  | MoveDeposit
  | RevertDeposit
  | ExpireSession
  | RequestRefund
  | TransferCommandOfSession
  | PayoutCommand;

/** Decides the commands of a checkout session. Repeating a command adds no events. */
export function decideSession(command: SessionCommand, state: SessionState): Decision<SessionEvent> {
  if (command.type === 'CreateSession') return create(command, state);
  if (state.value === 'absent') return refuse('not_found', 'no such session');
  switch (command.type) {
    case 'CancelSession':
      return cancel(command, state);
    case 'MoveDeadline':
      return moveDeadline(command, state);
    case 'RecordDeposit':
      return recordDeposit(command, state);
    case 'ConfirmDeposit':
      return confirmDeposit(command, state);
    case 'MoveDeposit':
      return moveDeposit(command, state);
    case 'RevertDeposit':
      return revertDeposit(command, state);
    case 'ExpireSession':
      return expire(command, state);
    case 'RequestRefund':
      return requestRefund(command, state);
    case 'SetDepositAside':
    case 'GiveUpTransfer':
    case 'CreditTransfer':
    case 'ReverseTransferCredit':
      return decideTransferOfSession(command, state.context);
    default:
      return decidePayout(command, state.context);
  }
}

/* Decisions */

/** For a used `order_id`, the same request is a safe retry and a different one a conflict. */
function create({ data }: CreateSession, state: SessionState): Decision<SessionEvent> {
  if (state.value === 'absent') return accept({ type: 'SessionCreated', data });
  if (state.context.created?.requestHash === data.requestHash) return accept();
  return refuse('order_id_conflict', 'order_id is already used by a session with another body', 'order_id');
}

function cancel({ nowSec }: CancelSession, { value, context }: SessionState): Decision<SessionEvent> {
  if (value === 'paid') return refuse('session_already_paid', 'the session is already paid');
  if ((value !== 'open' && value !== 'processing') || nowSec >= context.expiresAtSec)
    return refuse('session_expired', 'the session is already expired');
  return accept({
    type: 'SessionCancelled',
    data: {
      cancelledAtSec: nowSec,
      coin: createdOf(context).dueCoin,
      received: formatAmount(held(context)),
      inFlight: value === 'processing',
    },
  });
}

function moveDeadline(
  { expiresAtSec, nowSec }: MoveDeadline,
  { value, context }: SessionState,
): Decision<SessionEvent> {
  if (context.created?.mode !== 'test') return refuse('not_found', 'no such test session');
  if (value === 'paid') return refuse('session_already_paid', 'the session is already paid');
  if ((value !== 'open' && value !== 'processing') || nowSec > context.expiresAtSec)
    return refuse('session_expired', 'the session is already expired');
  const sooner = Math.max(expiresAtSec, nowSec);
  return sooner >= context.expiresAtSec
    ? accept()
    : accept({ type: 'SessionDeadlineMoved', data: { expiresAtSec: sooner, movedAtSec: nowSec } });
}

function recordDeposit({ facts, isOwn }: RecordDeposit, { context }: SessionState): Decision<SessionEvent> {
  const known = context.deposits.get(facts.depositKey);
  if (known && (known.credit || known.status === 'detected' || known.status === 'final')) return accept();
  // Whatever look-up led to this session, only its own events tell what it offered.
  if (!optionAt(createdOf(context), facts.toAddress))
    return refuse('conflict', `${facts.toAddress} is not an address of this session`);
  const kind = isOwn === true ? 'own' : kindOf(context, facts);
  const other = kind === 'on_time' && facts.coin !== createdOf(context).dueCoin ? must(openAlternative(context)) : null;
  const detected: SessionEvent = { type: 'DepositDetected', data: { ...facts, kind } };
  return other
    ? accept<SessionEvent>({ type: 'CoinChosen', data: chosenBy(other) }, detected)
    : accept<SessionEvent>(detected);
}

function confirmDeposit({ data, nowSec, valuation }: ConfirmDeposit, state: SessionState): Decision<SessionEvent> {
  const deposit = state.context.deposits.get(data.depositKey);
  if (deposit?.status !== 'detected') return accept();
  const kind = kindInBlock(state.context, deposit, data);
  const facts = { ...data, ...(kind !== deposit.kind && { kind }) };
  const confirmed: SessionEvent = { type: 'DepositConfirmed', data: facts };
  const after = { ...state.context, ...foldConfirmed(state.context, facts) };
  return accept<SessionEvent>(confirmed, ...paymentOf(after, { paidAtSec: nowSec, valuation }));
}

/**
 * A late deposit that is on time in its new block is detected again, because it pays once that block is confirmed; one
 * that an operator set aside pays when it is put back.
 */
function moveDeposit({ facts, headNumber, nowSec }: MoveDeposit, { context }: SessionState): Decision<SessionEvent> {
  const { depositKey } = facts;
  const deposit = context.deposits.get(depositKey);
  const isLate = deposit?.status === 'final' && deposit.kind === 'late' && !deposit.credit;
  const kind = isLate ? kindInBlock(context, deposit, facts) : 'late';
  if (kind === 'late') return accept();
  const left = { depositKey, reason: 'reorg', afterFinal: true, headNumber, revertedAtSec: nowSec } as const;
  return accept<SessionEvent>(
    { type: 'DepositReverted', data: left },
    { type: 'DepositDetected', data: { ...facts, kind } },
  );
}

function revertDeposit(
  { depositKey, reason, headNumber, revertedAtSec }: RevertDeposit,
  { context }: SessionState,
): Decision<SessionEvent> {
  const { status, credit } = context.deposits.get(depositKey) ?? {};
  if (credit || (status !== 'detected' && status !== 'final')) return accept();
  return accept({
    type: 'DepositReverted',
    data: { depositKey, reason, afterFinal: status === 'final', headNumber, revertedAtSec },
  });
}

/** While on-time money is under way, the session neither expires nor fails: the money's finality decides. */
function expire({ nowSec, scannedToSec }: ExpireSession, { value, context }: SessionState): Decision<SessionEvent> {
  if (value !== 'open' || hasPending(context) || nowSec <= context.expiresAtSec || !context.created) return accept();
  const coin = context.created.dueCoin;
  const money = formatAmount(held(context));
  // If enough money arrived, it was not lost: it was refunded.
  const isLost = context.sufficientSeen && !isSufficient(context, arrived(context));
  if (isLost)
    return accept({
      type: 'SessionFailed',
      data: { failedAtSec: nowSec, coin, received: money, reason: 'payment_lost' },
    });
  return accept({ type: 'SessionExpired', data: { expiredAtSec: nowSec, coin, received: money, scannedToSec } });
}

function requestRefund(command: RequestRefund, { context }: SessionState): Decision<SessionEvent> {
  const { coin, refundId } = command;
  if (context.refunds[refundId]) return accept();
  if (finalOf(context, coin) === 0n) return nothingOf(coin, context);
  const plan = planRefund(context, command);
  if (!plan.ok) return plan;
  const { legs } = plan;
  const doubt = command.acknowledgedSender ? null : doubtfulSender(context, legs, command.senders);
  if (doubt) return { ok: false, refusal: doubt };
  return accept({
    type: 'RefundRequested',
    data: {
      refundId,
      coin,
      amount: formatAmount(plan.units),
      asked: command.asked,
      namedDeposit: command.namedDeposit,
      refundType: plan.refundType,
      legs,
      requestedAtSec: command.nowSec,
      reason: command.reason,
      idempotencyStream: command.idempotencyStream,
      acknowledgedSender: command.acknowledgedSender,
    },
  });
}

/** A request for the wrong coin is refused and names the coin that can be refunded. */
function nothingOf(coin: Coin, context: SessionContext): Decision<SessionEvent> {
  const others = COINS.filter((other) => refundable(context, other) > 0n);
  if (others.length === 0)
    return refuse('session_not_paid', 'no final money was received for this session, so there is nothing to refund');
  const there = others.map((other) => `${formatAmount(refundable(context, other))} ${other}`).join(' and ');
  return refuse(
    'session_not_paid',
    `no final ${coin} was received for this session, but ${there} can be refunded: specify the coin`,
    'amount.currency',
  );
}

/** Why a refund may not reach its payee; null if nothing speaks against any payee. */
function doubtfulSender(
  context: SessionContext,
  legs: readonly RefundLeg[],
  senders: RequestRefund['senders'],
): Refusal | null {
  for (const { toAddress, takenFrom } of legs) {
    for (const { depositKey } of takenFrom) {
      const sender = context.deposits.get(depositKey)?.sender ?? senders[depositKey];
      // The senders were looked up for the money that was left at that moment.
      if (!sender)
        return {
          code: 'conflict',
          message: 'the remaining money has changed meanwhile: send the request again',
        };
      if (!needsAcknowledgement(sender)) continue;
      const who = sender.kind === 'exchange' ? `a wallet of ${sender.name ?? 'an exchange'}` : 'a contract';
      return {
        code: 'sender_not_acknowledged',
        message: `${toAddress} is ${who}: a refund may be lost there`,
        param: 'acknowledge_sender',
      };
    }
  }
  return null;
}
