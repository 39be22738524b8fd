import { refused } from '../server/commands.ts';
import type { CommandParts } from './arguments.ts';
import type { DomainEvent } from '../../domain/events/domain-event.ts';
import { isStep, MOVE_KINDS, type MoveRequested } from '../../domain/events/treasury-move-events.ts';
import { parseRefundId, type RefundId, type SessionId } from '../../domain/values/ids.ts';
import { sessionStream, treasuryStream } from '../../domain/values/streams.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import {
  validityOf,
  type Fate,
  type OutgoingTransaction,
  type SentTransaction,
} from '../../ports/outgoing/transaction.ts';
import type { SignedPayment } from '../../ports/outgoing/signer.ts';
import type { MoveExecutor } from '../../features/payouts/moves/records.ts';
import { decodeEvent } from '../../runtime/commands/codec.ts';
import type { LegState, SessionContext } from '../../../state-machines/checkout-session/session.state.ts';

/*
 * Payments that the signer signed and a restored event log lost, alongside what the event log still knows about them.
 */

export interface LostParts extends Pick<CommandParts, 'payouts' | 'core'> {
  readonly store: Pick<EventStore, 'readStream'>;
  readonly sessionOfRefund: (id: RefundId) => Promise<SessionId | null>;
}

export interface Lost {
  readonly executor: MoveExecutor;
  /** Oldest first. */
  readonly payments: readonly SignedPayment[];
}

/** Throws `CommandRefused` where the journal lacks something that the event log knows. */
export async function lostOf({ payouts }: LostParts, executor: MoveExecutor): Promise<Lost> {
  const { mode, network } = executor.chain;
  const found = await payouts.signer.signedAfter(mode, network, (await executor.context()).journal);
  return 'payments' in found ? { executor, payments: found.payments } : refused(found.message);
}

/** What the event log knows about the refund that a payment is for. */
export interface KnownRefund {
  readonly refundId: RefundId;
  readonly sessionId: SessionId;
  readonly context: SessionContext;
  readonly leg: LegState | null;
}

/** Null where the event log does not know it. */
export async function knownRefund({ core, sessionOfRefund }: LostParts, legId: string): Promise<KnownRefund | null> {
  const refundId = refundOf(legId);
  const sessionId = await sessionOfRefund(refundId);
  const context = sessionId && (await core.sessionHandler.read(sessionStream(sessionId)))?.context;
  return sessionId && context
    ? { refundId, sessionId, context, leg: context.refunds[refundId]?.legs[legId] ?? null }
    : null;
}

export const refundOf = (legId: string): RefundId =>
  parseRefundId(legId.replace(/-\d+$/, '')) ?? refused(`${legId} names no refund`);

/** A move that is no longer tracked, because it has ended. */
export interface EndedMove {
  readonly requested: MoveRequested;
  readonly sent: readonly SentTransaction[];
  /** The transaction that ended it; null where it was given up unsigned. */
  readonly txHash: string | null;
}

const PAGE = 1_000;

/** According to the newest events of the treasury; null where it was never requested. */
export async function endedMove(
  { store }: LostParts,
  { chain: { mode, network } }: MoveExecutor,
  { kind, id }: SignedPayment,
): Promise<EndedMove | null> {
  if (kind === 'refund') return null;
  let found: EndedMove | null = null;
  for (let from = 0, page = PAGE; page === PAGE; from += PAGE) {
    const events = await store.readStream(treasuryStream(mode, network), { from, limit: PAGE });
    page = events.length;
    for (const recorded of events) {
      const { event } = decodeEvent(recorded);
      if (!('moveId' in event.data) || event.data.moveId !== id) continue;
      found = withEvent(found, event);
    }
  }
  return found;
}

const isRequest = isStep(MOVE_KINDS, 'Requested');
const isSignature = isStep(MOVE_KINDS, 'Signed');
const isEnd = isStep(MOVE_KINDS, 'Completed', 'Failed');

function withEvent(move: EndedMove | null, event: DomainEvent): EndedMove | null {
  if (isRequest(event)) return { requested: event.data, sent: [], txHash: null };
  if (move === null) return null;
  if (isSignature(event)) return { ...move, sent: [...move.sent, event.data] };
  return isEnd(event) ? { ...move, txHash: event.data.txHash } : move;
}

/**
 * What the chain says about it, and about everything else signed in its place according to the journal or the event
 * log. The search uses a hash of receiver, coin and amount.
 */
export async function fateOf(parts: LostParts, payment: SignedPayment, lost: Lost): Promise<Fate> {
  const { kind, id, network, coin, amount, fromAddress, toAddress } = payment;
  const { chain } = lost.executor;
  const money = { kind, id, mode: chain.mode, network, coin, amount, fromAddress, toAddress };
  const order: OutgoingTransaction = { ...money, derivationIndex: null, merchantId: null, refund: null, deposits: [] };
  const sent = lost.payments
    .filter((each) => each.id === id)
    .map(({ txHash, signedBytes, draft }) => ({ txHash, signedBytes, validity: validityOf(draft) }));
  return chain.fate(order, [...(await knownAttempts(parts, payment, lost.executor)), ...sent]);
}

async function knownAttempts(
  parts: LostParts,
  payment: SignedPayment,
  executor: MoveExecutor,
): Promise<readonly SentTransaction[]> {
  if (payment.kind === 'refund') return (await knownRefund(parts, payment.id))?.leg?.payouts ?? [];
  if (payment.attempt === 1) return [];
  const open = (await executor.context()).moves[payment.id];
  return open?.signed ?? (await endedMove(parts, executor, payment))?.sent ?? [];
}
