import { refused } from '../server/commands.ts';
import type { CommandParts } from './arguments.ts';
import type { MoveRequested } from '../../domain/events/treasury-move-events.ts';
import { parseMerchantId, parseSessionId, type RefundId, type SessionId } from '../../domain/values/ids.ts';
import { amountOf, isCoin } from '../../domain/money/money.ts';
import { addressFamilyOf } from '../../domain/networks/networks.ts';
import { sessionStream } from '../../domain/values/streams.ts';
import { toSec } from '../../ports/clock.ts';
import type { Fate } from '../../ports/outgoing/transaction.ts';
import type { SignedPayment } from '../../ports/outgoing/signer.ts';
import { indexKey } from '../../features/addresses/address-index.ts';
import { orderOf } from '../../features/payouts/moves/order.ts';
import { refOf, type MoveExecutor } from '../../features/payouts/moves/records.ts';
import { orderedLeg } from '../../features/payouts/refunds/orders.ts';
import { isOfOrder } from '../../features/payouts/take-over.ts';
import { tokenDecimals } from '../../features/sessions/refunds/request.ts';
import { planRefund } from '../../../state-machines/checkout-session/refund-allocation.ts';
import { optionAt } from '../../../state-machines/checkout-session/session.state.ts';
import { needsApproval, standsInTheWay } from '../../../state-machines/treasury/moves.ts';
import { endedMove, knownRefund, refundOf, type EndedMove, type Lost, type LostParts } from './lost-payments.ts';
import { must } from '../../domain/values/must.ts';

/* Whether and how the event log can take over a payment that it lost. Every refusal comes before anybody signs. */

export interface TakeOverParts extends CommandParts, LostParts {
  /** Refunds, where this process pays them; throws `CommandRefused` where another process pays. */
  readonly refunds: {
    takeOver(
      mode: 'live' | 'test',
      leg: { readonly sessionId: SessionId; readonly refundId: RefundId },
      payment: SignedPayment,
    ): Promise<void>;
  };
}

export interface Wanted {
  readonly proposedBy: string;
  readonly reason: string;
  /** What the chain says about the payment. */
  readonly fate: Fate;
  /** The session of a refund that the event log does not know. */
  readonly session: string | null;
}

export interface Plan {
  /** Who requested the payment, and so must not approve it; null where the requester is unknown or there is none. */
  readonly requestedBy: string | null;
  readonly write: (approvers: readonly string[]) => Promise<void>;
}

/** Throws `CommandRefused` where the event log cannot take it over. */
export async function prepare(parts: TakeOverParts, lost: Lost, payment: SignedPayment, wanted: Wanted): Promise<Plan> {
  return payment.kind === 'refund'
    ? { requestedBy: null, write: await prepareRefund(parts, lost.executor, payment, wanted) }
    : prepareMove(parts, lost, payment, wanted);
}

/** The merchant's own words were lost with the refund. */
const UNKNOWN_REQUEST = {
  asked: null,
  reason: null,
  idempotencyStream: null,
  acknowledgedSender: true,
  senders: {},
};

async function prepareRefund(
  parts: TakeOverParts,
  { chain, treasury }: MoveExecutor,
  payment: SignedPayment,
  { proposedBy, session }: Wanted,
): Promise<Plan['write']> {
  const { core, refunds, random } = parts;
  const refundId = refundOf(payment.id);
  const known = await knownRefund(parts, payment.id);
  const sessionId =
    known?.sessionId ??
    parseSessionId(
      session ?? refused(`the event log does not know the refund ${refundId}: give its session with --session`),
    );
  const context =
    (sessionId && (await core.sessionHandler.read(sessionStream(sessionId)))?.context) ||
    refused('session: no such session');
  const takeOver = (): Promise<void> => refunds.takeOver(chain.mode, { sessionId: must(sessionId), refundId }, payment);
  if (context.refunds[refundId]) {
    const leg = orderedLeg(context, refundId, payment.id, treasury);
    if (!leg || !isOfOrder(payment, leg.order))
      return refused(`${payment.id} has different terms in the event log and in the journal`);
    if (leg.leg.status === 'FAILED' && leg.leg.payouts.length === 0)
      return refused(
        `${payment.id} was given up in this event log although the journal says it was signed: restore the backup again and take it over before giving anything up`,
      );
    return takeOver;
  }
  // A refund requested since may be the same request again: the merchant's request was lost with the refund.
  const open = Object.values(context.refunds).find(({ status }) => status === 'PENDING');
  if (open)
    return refused(
      `session: its refund ${open.requested.refundId} waits to be paid and may be a repeat of the same request: first give it up with "quittance treasury reject"`,
    );
  const coin = isCoin(payment.coin) ? payment.coin : refused(`${payment.coin} is not a coin of refunds`);
  const [deposit, ...others] = payment.depositKeys;
  const terms = {
    ...{ refundId, coin, units: amountOf(payment.amount), decimals: tokenDecimals([chain.settings], coin) },
    namedDeposit: others.length === 0 ? (deposit ?? null) : null,
  };
  const plan = planRefund(context, terms);
  if (!plan.ok)
    return refused(
      `session: ${plan.refusal.message}; give up a refund requested since the restore with "quittance treasury reject"`,
    );
  const [leg] = plan.legs;
  const isSame =
    plan.legs.length === 1 &&
    must(leg).legId === payment.id &&
    must(leg).network === payment.network &&
    must(leg).toAddress === payment.toAddress;
  if (!isSame) return refused('session: it did not receive this money from this payer');
  return async () => {
    const asked = { ...UNKNOWN_REQUEST, nowSec: payment.signedAtSec };
    const why = { correlationId: random.uuid(), actor: proposedBy };
    const requested = await core.sessionHandler.execute(
      sessionStream(must(sessionId)),
      { type: 'RequestRefund', ...terms, ...asked },
      why,
    );
    if (!requested.ok) throw new Error(requested.refusal.message);
    await takeOver();
  };
}

async function prepareMove(parts: TakeOverParts, lost: Lost, payment: SignedPayment, wanted: Wanted): Promise<Plan> {
  const { executor } = lost;
  const { kind, id } = payment;
  if (kind === 'refund') return refused('a refund is not a move');
  const known = (await executor.context()).moves[id];
  if (known && !isOfOrder(payment, orderOf(known)))
    return refused(`${id} has different terms in the event log and in the journal`);
  const ended = known ? null : await endedMove(parts, executor, payment);
  if (ended && ended.sent.length > 0) return passOver(parts, executor, payment, { ...wanted, ended });
  if (ended && kind === 'return')
    return refused(`${id} was given up in this event log although the journal says it was signed`);
  const data = known ? null : (ended?.requested ?? (await requestOf(parts, lost, payment, wanted)));
  const inTheWay = data ? standsInTheWay(await executor.context(), kind, data) : undefined;
  if (inTheWay && inTheWay.signed.length > 0)
    return refused(`${inTheWay.terms.moveId}, from the same address, is under way: try again once it is done`);
  const write = async (approvers: readonly string[]): Promise<void> => {
    const tell = async (command: Parameters<MoveExecutor['tell']>[0], actor: string): Promise<void> => {
      const fault = await executor.tell(command, actor);
      if (fault !== null) throw new Error(fault);
    };
    if (inTheWay) await giveWay(executor, inTheWay.terms.moveId, payment);
    if (data) await tell({ type: 'RequestMove', kind, data }, wanted.proposedBy);
    const nowSec = toSec(parts.clock.nowMs());
    if (needsApproval(kind))
      for (const approver of approvers) await tell({ type: 'ApproveMove', moveId: id, approver, nowSec }, approver);
    await executor.interventions.takeOver(refOf(id), payment);
    parts.treasury().moves.wake(executor);
  };
  const requestedBy = known?.terms.requestedBy ?? ended?.requested.requestedBy ?? null;
  return { requestedBy: needsApproval(kind) ? requestedBy : null, write };
}

/** Gives up the same request where it was made again since the restore, with the gas ordered for it. */
async function giveWay(executor: MoveExecutor, moveId: string, payment: SignedPayment): Promise<void> {
  const { moves } = await executor.context();
  const gas = Object.values(moves).filter(({ terms, signed }) => terms.forMoveId === moveId && signed.length === 0);
  for (const each of [moveId, ...gas.map(({ terms }) => terms.moveId)])
    await executor.interventions.giveWay(refOf(each), payment);
}

/** Another transaction of the move ended it, so this one can never land: only the journal position remains. */
async function passOver(
  { clock }: TakeOverParts,
  executor: MoveExecutor,
  payment: SignedPayment,
  { proposedBy, fate, ended }: Wanted & { readonly ended: EndedMove },
): Promise<Plan> {
  const { mode, network } = executor.chain;
  const endedByTxHash = fate.kind === 'landed' ? fate.landed.txHash : fate.kind === 'ineffective' ? fate.txHash : null;
  if (endedByTxHash === null || endedByTxHash !== ended.txHash)
    return refused(
      `${payment.id} ended in the event log with ${ended.txHash ?? 'no transaction'}, but the chain shows ${endedByTxHash ?? 'none'}`,
    );
  const { journal: from } = await executor.context();
  const passed = { moveId: payment.id, txHash: payment.txHash, endedByTxHash };
  return {
    requestedBy: null,
    write: (approvers) =>
      executor.interventions.passOver(payment, {
        ...{ mode, network, why: 'excluded', from, to: payment.journal, passed, proposedBy, approvers },
        movedAtSec: toSec(clock.nowMs()),
      }),
  };
}

/** The request that was lost, as far as the journal and the event log can tell. */
async function requestOf(
  { core }: TakeOverParts,
  lost: Lost,
  payment: SignedPayment,
  { proposedBy, reason }: Wanted,
): Promise<MoveRequested> {
  const { chain } = lost.executor;
  const { kind, id, network, coin, amount, fromAddress, toAddress, merchantId, draft, signedAtSec } = payment;
  if (kind === 'return' || kind === 'native_return')
    return refused(`the event log does not know the ${kind} ${id}, and the journal does not say what it returns`);
  if (kind === 'settlement' && merchantId === null) return refused(`the journal names no merchant for ${toAddress}`);
  const money = { moveId: id, mode: chain.mode, network, coin, amount, fromAddress, toAddress };
  const address = kind === 'sweep' ? fromAddress : kind === 'gas_top_up' ? toAddress : null;
  const ofAddress = address === null ? null : await indexOf(core, chain, address);
  const derivationIndex = draft.kind === 'solana-nonce-account' ? draft.nonceIndex : ofAddress;
  const by = {
    merchantId: merchantId === null ? null : must(parseMerchantId(merchantId)),
    forMoveId: kind === 'gas_top_up' ? await sweepFor(lost, payment) : null,
    requestedBy: proposedBy,
    reason,
    requestedAtSec: signedAtSec,
  };
  return { ...money, derivationIndex, ...by };
}

/** An address has one sweep at a time, so gas belongs to the sweep signed after it, or to the one still waiting. */
async function sweepFor({ executor, payments }: Lost, { toAddress, journal }: SignedPayment): Promise<string | null> {
  const signed = payments.find(
    (each) => each.kind === 'sweep' && each.fromAddress === toAddress && each.journal.seq > journal.seq,
  );
  const { moves } = await executor.context();
  const open = Object.values(moves).find(({ kind, terms }) => kind === 'sweep' && terms.fromAddress === toAddress);
  return signed?.id ?? open?.terms.moveId ?? null;
}

async function indexOf(
  core: TakeOverParts['core'],
  { mode, network }: MoveExecutor['chain'],
  address: string,
): Promise<number> {
  const sessionId = core.addressIndexes.get(indexKey(mode, addressFamilyOf(network)))?.sessionOf(address) ?? null;
  const created = sessionId && (await core.sessionHandler.read(sessionStream(sessionId)))?.context.created;
  const option = created ? optionAt(created, address) : undefined;
  return option?.derivationIndex ?? refused(`the event log lost the session that ${address} was assigned to`);
}
