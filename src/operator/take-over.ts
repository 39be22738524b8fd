import { type AdminCommands, optionalText, refused, requiredText } from './commands.ts';
import type { CommandParts } from './treasury-arguments.ts';
import { parseRefundId, parseSessionId, type MerchantId, type RefundId, type SessionId } from '../domain/ids.ts';
import { isOwed, type MoveRequested } from '../domain/events/treasury-move-events.ts';
import { amountOf, isCoin } from '../domain/money.ts';
import { addressFamilyOf } from '../domain/networks.ts';
import { sessionStream } from '../domain/streams.ts';
import { toSec } from '../ports/clock.ts';
import { validityOf, type Fate, type OutgoingTransaction } from '../ports/outgoing.ts';
import type { SignedPayment } from '../ports/outgoing-signer.ts';
import type { JsonValue } from '../ports/read-model.ts';
import { indexKey } from '../features/addresses/address-index.ts';
import { refOf, type MoveExecutor } from '../features/payouts/moves/records.ts';
import { tokenDecimals } from '../features/sessions/request-refund.ts';
import { messageOf } from '../runtime/util/message-of.ts';
import { planRefund } from '../../state-machines/checkout-session/refund-allocation.ts';
import { optionAt } from '../../state-machines/checkout-session/session.state.ts';
import { agree } from './approvals.ts';

export interface TakeOverParts extends CommandParts {
  /** Refunds where they are paid; throws `CommandRefused` where another process pays. */
  readonly refunds: {
    takeOver(
      mode: 'live' | 'test',
      leg: { readonly sessionId: SessionId; readonly refundId: string },
      payment: SignedPayment,
    ): Promise<void>;
  };
  readonly sessionOfRefund: (id: RefundId) => Promise<SessionId | null>;
}

interface Lost {
  readonly executor: MoveExecutor;
  /** Oldest first. */
  readonly payments: readonly SignedPayment[];
}

/**
 * What the signer signed and a restored ledger lost: who wants it written into the ledger again names it, and two
 * approvers agree.
 */
export function takeOverCommands(parts: TakeOverParts): AdminCommands {
  const lostOf = async (executor: MoveExecutor): Promise<Lost> => {
    const { mode, network } = executor.chain;
    const found = await parts.payouts.signer.signedAfter(mode, network, (await executor.context()).journal);
    return 'payments' in found ? { executor, payments: found.payments } : refused(found.message);
  };
  return {
    'treasury.lost': async () => {
      const lost: JsonValue[] = [];
      for (const executor of parts.treasury().moves.executors) {
        const { payments } = await lostOf(executor);
        for (const payment of payments)
          lost.push(shown(payment, executor, await fateOf(payment, { executor, payments })));
      }
      return { lost };
    },
    'treasury.take-over': async (args) => {
      const txHash = requiredText(args, 'tx');
      const proposedBy = requiredText(args, 'operator');
      const reason = requiredText(args, 'reason');
      for (const executor of parts.treasury().moves.executors) {
        const lost = await lostOf(executor);
        const payment = lost.payments.find((each) => each.txHash === txHash);
        if (!payment) continue;
        const [oldest] = lost.payments;
        if (oldest !== payment)
          return refused(`${oldest!.txHash} was signed before it on ${payment.network}: take that one over first`);
        const fate = await fateOf(payment, lost);
        if (fate.kind === 'alarm') return refused(`the chain contradicts the journal: ${fate.detail}`);
        if (fate.kind === 'pending' || (fate.kind === 'landed' && !fate.final))
          return refused('it is not final on chain yet: try again in some minutes');
        const written = await prepare(parts, executor, payment, {
          proposedBy,
          reason,
          session: optionalText(args, 'session') ?? null,
        });
        const { mode, network } = executor.chain;
        const agreed = await agree(
          parts.payouts.signer,
          [{ kind: 'take_over', mode, network, txHash, reason, proposedBy }],
          args,
        );
        if (!agreed.ok) return agreed.answer;
        if (!agreed.done) return { tx: txHash, approved_by: agreed.approvers, status: 'waiting_for_approval' };
        await written(agreed.approvers).catch((error: unknown) =>
          refused(`it was not taken over: ${messageOf(error)}`),
        );
        return { ...shown(payment, executor, fate), approved_by: agreed.approvers, status: 'taken_over' };
      }
      return refused('tx: no payment that this ledger lost has the transaction');
    },
  };
}

const shown = (
  { kind, id, attempt, coin, amount, toAddress, txHash, signedAtSec }: SignedPayment,
  { chain }: MoveExecutor,
  fate: Fate,
) => ({
  ...{
    mode: chain.mode,
    network: chain.network,
    kind,
    id,
    attempt,
    coin,
    amount,
    to_address: toAddress,
    tx: txHash,
    signed_at: signedAtSec,
  },
  ...{ on_chain: fate.kind, block: fate.kind === 'landed' ? fate.landed.blockNumber : null },
});

/**
 * What the chain says of it, and of whatever else was signed in its place. The hash that is looked for is one over
 * receiver, coin and amount.
 */
function fateOf(
  { kind, id, network, coin, amount, fromAddress, toAddress }: SignedPayment,
  { executor, payments }: Lost,
): Promise<Fate> {
  const money = { kind, id, mode: executor.chain.mode, network, coin, amount, fromAddress, toAddress };
  const order: OutgoingTransaction = { ...money, derivationIndex: null, merchantId: null, refund: null, deposits: [] };
  const sent = payments
    .filter((each) => each.id === id)
    .map(({ txHash, signedBytes, draft }) => ({ txHash, signedBytes, validity: validityOf(draft) }));
  return executor.chain.fate(order, sent);
}

interface Wanted {
  readonly proposedBy: string;
  readonly reason: string;
  /** Of a refund that the ledger does not know. */
  readonly session: string | null;
}

type Write = (approvers: readonly string[]) => Promise<void>;

/** Checks that the ledger can take it, and answers how. Throws `CommandRefused`. */
function prepare(parts: TakeOverParts, executor: MoveExecutor, payment: SignedPayment, wanted: Wanted): Promise<Write> {
  return payment.kind === 'refund'
    ? prepareRefund(parts, executor, payment, wanted)
    : prepareMove(parts, executor, payment, wanted);
}

async function prepareRefund(
  { core, refunds, sessionOfRefund, random }: TakeOverParts,
  { chain }: MoveExecutor,
  payment: SignedPayment,
  { proposedBy, session }: Wanted,
): Promise<Write> {
  const refundId = parseRefundId(payment.id.replace(/-\d+$/, '')) ?? refused(`${payment.id} names no refund`);
  const known = await sessionOfRefund(refundId);
  const sessionId =
    known ??
    parseSessionId(
      session ??
        refused(`the ledger does not know the refund ${refundId}: name the session that it was for by --session`),
    );
  const context =
    (sessionId && (await core.sessionHandler.read(sessionStream(sessionId)))?.context) ||
    refused('session: there is no such session');
  const takeOver = (): Promise<void> => refunds.takeOver(chain.mode, { sessionId: sessionId!, refundId }, payment);
  if (context.refunds[refundId]) return takeOver;
  // One that was asked for since may be the same wish once more: the merchant's request was lost with the refund.
  const open = Object.values(context.refunds).find(({ status }) => status === 'PENDING');
  if (open)
    return refused(
      `session: its refund ${open.requested.refundId} waits to be paid and may be the same wish once more: give it up by "quittance treasury reject" first`,
    );
  const coin = isCoin(payment.coin) ? payment.coin : refused(`${payment.coin} is no coin of a refund`);
  const [deposit, ...others] = payment.depositKeys;
  const terms = {
    ...{ refundId, coin, units: amountOf(payment.amount), decimals: tokenDecimals([chain.settings], coin) },
    namedDeposit: others.length === 0 ? (deposit ?? null) : null,
  };
  const plan = planRefund(context, terms);
  if (!plan.ok)
    return refused(
      `session: ${plan.refusal.message}; a refund asked for since the restore is given up by "quittance treasury reject"`,
    );
  const [leg] = plan.legs;
  const isSame =
    plan.legs.length === 1 &&
    leg!.legId === payment.id &&
    leg!.network === payment.network &&
    leg!.toAddress === payment.toAddress;
  if (!isSame) return refused('session: it did not receive this money from this payer');
  return async () => {
    const asked = {
      asked: null,
      reason: null,
      idempotencyStream: null,
      acknowledgedSender: true,
      claim: null,
      senders: {},
      nowSec: payment.signedAtSec,
    };
    const why = { correlationId: random.uuid(), actor: proposedBy };
    const requested = await core.sessionHandler.execute(
      sessionStream(sessionId!),
      { type: 'RequestRefund', ...terms, ...asked },
      why,
    );
    if (!requested.ok) throw new Error(requested.refusal.message);
    await takeOver();
  };
}

async function prepareMove(
  parts: TakeOverParts,
  executor: MoveExecutor,
  payment: SignedPayment,
  wanted: Wanted,
): Promise<Write> {
  const { kind, id } = payment;
  if (kind === 'refund') return refused('a refund is no move');
  const known = (await executor.context()).moves[id];
  const data = known ? null : await requestOf(parts, executor, payment, wanted);
  return async (approvers) => {
    const tell = async (command: Parameters<MoveExecutor['tell']>[0], actor: string): Promise<void> => {
      const fault = await executor.tell(command, actor);
      if (fault !== null) throw new Error(fault);
    };
    if (data) await tell({ type: 'RequestMove', kind, data }, wanted.proposedBy);
    const nowSec = toSec(parts.clock.nowMs());
    if (kind === 'withdrawal' || kind === 'settlement')
      for (const approver of approvers) await tell({ type: 'ApproveMove', moveId: id, approver, nowSec }, approver);
    await executor.takeOver(refOf(id), payment);
    parts.treasury().moves.wake(executor);
  };
}

/** The request that the ledger lost, as far as the journal and the ledger tell it. */
async function requestOf(
  { core }: TakeOverParts,
  { chain }: MoveExecutor,
  { kind, id, network, coin, amount, fromAddress, toAddress, merchantId, draft, signedAtSec }: SignedPayment,
  { proposedBy, reason }: Wanted,
): Promise<MoveRequested> {
  if (kind === 'return' || kind === 'native_return')
    return refused(`the ledger does not know the ${kind} ${id}, and the journal does not say what it returns`);
  if (isOwed(kind) && merchantId === null) return refused(`the journal names no merchant for ${toAddress}`);
  const money = { moveId: id, mode: chain.mode, network, coin, amount, fromAddress, toAddress };
  const address = kind === 'sweep' ? fromAddress : kind === 'gas_top_up' ? toAddress : null;
  const ofAddress = address === null ? null : await indexOf(core, chain, address);
  const derivationIndex = draft.kind === 'solana-nonce-account' ? draft.nonceIndex : ofAddress;
  const by = {
    merchantId: merchantId as MerchantId | null,
    forMoveId: null,
    requestedBy: proposedBy,
    reason,
    requestedAtSec: signedAtSec,
  };
  return { ...money, derivationIndex, ...by };
}

async function indexOf(
  core: TakeOverParts['core'],
  { mode, network }: MoveExecutor['chain'],
  address: string,
): Promise<number> {
  const sessionId = core.addressIndexes.get(indexKey(mode, addressFamilyOf(network)))?.sessionOf(address) ?? null;
  const created = sessionId && (await core.sessionHandler.read(sessionStream(sessionId)))?.context.created;
  const option = created ? optionAt(created, address) : undefined;
  return option?.derivationIndex ?? refused(`the ledger lost the session that ${address} was given to`);
}
