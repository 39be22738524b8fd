import type { SessionCreated, SessionEvent, SessionExpired } from '../../src/domain/events/session-events.ts';
import type { RefundLeg } from '../../src/domain/events/refund-events.ts';
import type { RefundId } from '../../src/domain/values/ids.ts';
import { COINS, formatAmount, type Coin } from '../../src/domain/money/money.ts';
import { accept, refuse, type Decision, type Refusal } from '../../src/domain/values/result.ts';
import { needsAcknowledgement, type Sender } from '../../src/domain/networks/senders.ts';
import { decideDeposit, type DepositCommand } from './deposits.decider.ts';
import { decidePayout, type PayoutCommand } from './payouts.decider.ts';
import { decideTransferOfSession, type TransferCommandOfSession } from './transfers.decider.ts';
import { planRefund, type RefundTerms } from './refund-allocation.ts';
import type { SessionValue } from './session.machine.ts';
import {
  arrived,
  createdOf,
  finalOf,
  hasPending,
  held,
  isSufficient,
  refundable,
  type SessionContext,
} from './session.state.ts';

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
  | DepositCommand
  | ExpireSession
  | RequestRefund
  | TransferCommandOfSession
  | PayoutCommand;

/** Refunds of one session, failed ones too. */
const MOST_REFUNDS = 200;

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
    case 'RecordDeposits':
    case 'ConfirmDeposit':
    case 'ConfirmDeposits':
    case 'CountTogether':
    case 'MoveDeposit':
    case 'RevertDeposit':
      return decideDeposit(command, state.context);
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

/** Why another request with a used `order_id` is refused. */
export const ORDER_USED: Refusal = {
  code: 'order_id_conflict',
  message: 'order_id is already used by a session with another body',
  param: 'order_id',
};

/** For a used `order_id`, the same request is a safe retry and a different one a conflict. */
function create({ data }: CreateSession, state: SessionState): Decision<SessionEvent> {
  if (state.value === 'absent') return accept({ type: 'SessionCreated', data });
  if (state.context.created?.requestHash === data.requestHash) return accept();
  return { ok: false, refusal: ORDER_USED };
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
  if (Object.keys(context.refunds).length >= MOST_REFUNDS)
    return refuse('conflict', `a payment has at most ${MOST_REFUNDS} refunds`);
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
