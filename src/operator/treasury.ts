import {
  type AdminArguments,
  type AdminCommands,
  json,
  optionalMode,
  optionalText,
  refused,
  requiredText,
} from './commands.ts';
import {
  destinationOf,
  executorFor,
  moneyOf,
  networkOf,
  optionalCoin,
  optionalNetwork,
  type CommandParts,
} from './treasury-arguments.ts';
import { isOwed, type MoveRequested } from '../domain/events/treasury-move-events.ts';
import { formatAmount, parseAmount } from '../domain/money.ts';
import { NATIVE_COIN } from '../domain/networks.ts';
import type { MerchantId } from '../domain/ids.ts';
import { merchantStream } from '../domain/streams.ts';
import { toSec } from '../ports/clock.ts';
import type { JsonValue } from '../ports/read-model.ts';
import { orderOf } from '../features/payouts/moves/order.ts';
import type { MoveExecutor } from '../features/payouts/moves/records.ts';
import { reportOutflows } from '../features/treasury/reconcile.ts';
import { isMoveId, isOutwardMoveId, newMoveId } from '../features/payouts/moves/ids.ts';
import { isApproved } from '../../state-machines/treasury/moves.ts';
import { Mailboxes } from '../runtime/commands/mailboxes.ts';
import { actorOf } from './acts.ts';
import { nativeReturnCommands } from './native-return.ts';
import { agree } from './approvals.ts';
import { resumeCommands } from './resume.ts';
import { must } from '../domain/must.ts';

/** Mailboxes kept for merchants that settle at the same time; idle ones hold no state. */
const MERCHANTS_IN_TURN = 2;

/** The operator's commands for sweeps, withdrawals and settlements. */
export function treasuryCommands(parts: CommandParts): AdminCommands {
  return {
    ...sweepCommands(parts),
    ...outwardCommands(parts),
    ...destinationCommands(parts),
    ...nativeReturnCommands(parts),
    ...resumeCommands(parts),
  };
}

function sweepCommands(parts: CommandParts): AdminCommands {
  const { treasury } = parts;
  const executorsOf = (args: AdminArguments): readonly MoveExecutor[] => {
    const network = optionalNetwork(args);
    return treasury().moves.executors.filter(({ chain }) => network === undefined || chain.network === network);
  };
  const unbookedOf = async (executor: MoveExecutor, after: string | null): Promise<JsonValue> => {
    const { found, native, addressesRead, next } = await treasury().unbooked(executor, after);
    const money = found.map(({ sessionId, network, address, coin, booked, onChain, todo }) => ({
      ...{ session_id: sessionId, network, address, coin, booked, on_chain: onChain, todo },
    }));
    const nativeCoin = native.map(({ kind, sessionId, network, address, coin, booked, onChain }) => ({
      ...{ kind, session_id: sessionId, network, address, coin, booked_before: booked, on_chain: onChain },
    }));
    return { addresses_read: addressesRead, next, found: money, native_coin: nativeCoin };
  };
  return {
    'treasury.sweep': (args) => sweep(parts, args),
    'treasury.moves': async () => ({ moves: (await Promise.all(treasury().moves.executors.map(movesOf))).flat() }),
    'treasury.reconcile': async (args) => {
      const executors = executorsOf(args);
      const after = optionalText(args, 'after') ?? null;
      if (after !== null && executors.length !== 1)
        refused('after needs --network: it is the end of the address check of one network');
      const treasuries: JsonValue[] = [];
      for (const executor of executors)
        treasuries.push(
          json({ ...(await treasury().reconcile(executor)), unbooked: await unbookedOf(executor, after) }),
        );
      return { treasuries };
    },
    'treasury.acknowledge': (args) => acknowledge(parts, args),
    'treasury.balances': async (args) => {
      const executors = executorsOf(args);
      return { treasuries: await Promise.all(executors.map((executor) => balancesOf(executor))) };
    },
  };
}

async function sweep({ treasury }: CommandParts, args: AdminArguments): Promise<JsonValue> {
  const mode = optionalMode(args);
  const network = optionalNetwork(args);
  const coin = optionalCoin(args);
  const min = optionalText(args, 'min') ?? '0';
  const minUnits = min === '0' ? 1n : (parseAmount(min) ?? refused('min must be a decimal amount such as 10.00'));
  const filter = { ...(mode && { mode }), ...(network && { network }), ...(coin && { coin }), minUnits };
  const dryRun = args['dryRun'] === true;
  const most = wholeOf(args, 'most');
  const sweeps = await treasury().sweeper.sweep(filter, {
    ...{ requestedBy: actorOf(args), dryRun },
    ...(most !== null && { most }),
  });
  const shown = sweeps.map(({ moveId, mode: of, network: on, coin: what, units, address, toAddress, note, fee }) => ({
    ...{
      id: moveId,
      mode: of,
      network: on,
      coin: what,
      amount: formatAmount(units),
      from_address: address,
      to_address: toAddress,
      note,
    },
    ...(dryRun && { fee: fee ? formatAmount(fee) : null, fee_coin: NATIVE_COIN[on] }),
  }));
  return { dry_run: dryRun, sweeps: shown };
}

async function acknowledge({ treasury, payouts, clock }: CommandParts, args: AdminArguments): Promise<JsonValue> {
  const outflow = requiredText(args, 'outflow');
  const facts = {
    actor: requiredText(args, 'operator'),
    reason: requiredText(args, 'reason'),
    nowSec: toSec(clock.nowMs()),
  };
  for (const executor of treasury().moves.executors) {
    // A transaction that moved several coins is explained as a whole.
    const reported = Object.values((await executor.context()).unknownOutflows);
    const meant = reported.filter((found) => found.outflowKey === outflow || found.txHash === outflow);
    if (meant.length === 0) continue;
    const { mode, network } = executor.chain;
    await reportOutflows(executor, payouts.signer);
    const outflowKeys = meant.map(({ outflowKey }) => outflowKey);
    const act = {
      kind: 'acknowledge',
      mode,
      network,
      outflowKeys,
      reason: facts.reason,
      proposedBy: facts.actor,
    } as const;
    const agreed = await agree(payouts.signer, [act], args);
    if (!agreed.ok) return agreed.answer;
    if (!agreed.done) return { outflow, approved_by: agreed.approvers, status: 'waiting_for_approval' };
    for (const { outflowKey } of meant) {
      const fault = await executor.tell({ type: 'AcknowledgeOutflow', outflowKey, ...facts }, facts.actor);
      if (fault !== null) refused(fault);
    }
    return { acknowledged: outflow, approved_by: agreed.approvers };
  }
  return refused('no such outflow is reported');
}

function wholeOf(args: AdminArguments, name: string): number | null {
  const text = optionalText(args, name);
  if (text === undefined) return null;
  return /^[1-9]\d{0,2}$/.test(text) ? Number(text) : refused(`${name} must be a whole number from 1 to 999`);
}

async function movesOf(executor: MoveExecutor): Promise<JsonValue[]> {
  const { moves } = await executor.context();
  return Object.values(moves).map((move) => {
    const { moveId, mode, network, coin, amount, fromAddress, toAddress, merchantId, requestedBy, requestedAtSec } =
      move.terms;
    const waiting = executor.waiting.find((candidate) => candidate.moveId === moveId);
    const status = move.signed.length > 0 ? 'sent' : isApproved(move) ? 'pending' : 'waiting_for_approval';
    return {
      ...{
        id: moveId,
        kind: move.kind,
        status,
        mode,
        network,
        coin,
        amount,
        from_address: fromAddress,
        to_address: toAddress,
        merchant_id: merchantId,
      },
      ...{
        requested_by: requestedBy,
        requested_at: requestedAtSec,
        approved_by: [...move.approvers],
        tx_hash: move.signed.at(-1)?.txHash ?? null,
        waiting: waiting?.detail ?? null,
      },
    };
  });
}

async function balancesOf({ chain, treasury }: MoveExecutor): Promise<JsonValue> {
  const { coins, native } = await chain.balances(treasury);
  const held = Object.fromEntries(Object.entries(coins).map(([coin, units]) => [coin, formatAmount(units)]));
  return { mode: chain.mode, network: chain.network, address: treasury, coins: held, gas: formatAmount(native) };
}

function outwardCommands(parts: CommandParts): AdminCommands {
  const { treasury, payouts, ofRefunds } = parts;
  /** One settlement at a time per merchant: two at once would both count the same money. */
  const settlements = new Mailboxes<null>(MERCHANTS_IN_TURN);
  const executorOf = async (id: string): Promise<MoveExecutor> => {
    for (const executor of treasury().moves.executors) if ((await executor.context()).moves[id]) return executor;
    return refused('no such withdrawal or settlement, or it is done');
  };
  return {
    'treasury.withdraw': async (args) => {
      const executor = executorFor(parts, args);
      const to = destinationOf(parts, executor.chain.network, args);
      return propose(parts, args, executor, 'withdrawal', { toAddress: to, merchantId: null });
    },
    'treasury.settle': async (args) => {
      const merchantId = requiredText(args, 'merchant_id') as MerchantId;
      const merchant = (await parts.core.merchantHandler.read(merchantStream(merchantId)))?.context;
      const mode = merchant?.registered?.mode ?? refused('no such merchant');
      const executor = executorFor(parts, { ...args, mode });
      const { network } = executor.chain;
      const toAddress =
        merchant?.settlementAddresses[network] ?? refused(`the merchant has no settlement address on ${network}`);
      return settlements.run(merchantId, () => propose(parts, args, executor, 'settlement', { toAddress, merchantId }));
    },
    'treasury.approve': async (args) => {
      const id = requiredText(args, 'id');
      if (!isOutwardMoveId(id)) return must(ofRefunds['treasury.approve'])({ ...args, refund_id: id });
      const executor = await executorOf(id);
      const move = must((await executor.context()).moves[id]);
      // Refunds and reorganisations since the proposal may have used up the money.
      if (isOwed(move.kind)) {
        const verdict = await payouts.signer.check(orderOf(move));
        if (!verdict.ok && isOfLedger(verdict.code)) refused(verdict.message);
      }
      const agreed = await agree(
        payouts.signer,
        [{ kind: 'transaction', order: orderOf(move), proposedBy: move.terms.requestedBy }],
        args,
      );
      if (!agreed.ok) return agreed.answer;
      for (const approver of agreed.approvers) {
        const fault = await executor.tell(
          { type: 'ApproveMove', moveId: id, approver, nowSec: toSec(parts.clock.nowMs()) },
          approver,
        );
        if (fault !== null) refused(fault);
      }
      treasury().moves.wake(executor);
      return { id, approved_by: agreed.approvers };
    },
    'treasury.reject': async (args) => {
      const id = requiredText(args, 'id');
      if (!isMoveId(id)) return must(ofRefunds['treasury.reject'])({ ...args, refund_id: id });
      const executor = await executorOf(id);
      const nowSec = toSec(parts.clock.nowMs());
      const facts = {
        reason: 'rejected_by_operator',
        txHash: null,
        networkFee: null,
        feeAddress: executor.treasury,
        nowSec,
      } as const;
      const move = must((await executor.context()).moves[id]);
      if (move.kind === 'return') refused('a return is cancelled with `quittance inbox undo`');
      const lost = await executor.interventions.lostSignature(id);
      if (lost !== null) refused(lost);
      const fault = await executor.tell({ type: 'FailMove', moveId: id, ...facts }, actorOf(args));
      if (fault !== null) refused(fault);
      return { rejected: id };
    },
  };
}

/** Writes nothing when the signer would never sign it. */
async function propose(
  { payouts, clock, random }: CommandParts,
  args: AdminArguments,
  executor: MoveExecutor,
  kind: 'withdrawal' | 'settlement',
  { toAddress, merchantId }: Pick<MoveRequested, 'toAddress' | 'merchantId'>,
): Promise<JsonValue> {
  const requestedBy = requiredText(args, 'operator');
  const { coin, amount } = moneyOf(executor, args);
  const data: MoveRequested = {
    ...{
      moveId: newMoveId(kind, random),
      mode: executor.chain.mode,
      network: executor.chain.network,
      coin,
      amount,
      fromAddress: executor.treasury,
      toAddress,
    },
    ...{
      derivationIndex: null,
      merchantId,
      forMoveId: null,
      requestedBy,
      reason: optionalText(args, 'reason') ?? null,
    },
    requestedAtSec: toSec(clock.nowMs()),
  };
  const verdict = await payouts.signer.check(orderOf({ kind, terms: data }));
  if (!verdict.ok && verdict.code !== 'approval') refused(verdict.message);
  const fault = await executor.tell({ type: 'RequestMove', kind, data }, requestedBy);
  if (fault !== null) refused(fault);
  return { id: data.moveId, kind, coin, amount, to_address: toAddress, status: 'waiting_for_approval' };
}

/**
 * Concerns the merchant's account, or what is owed to unknown senders; the signer computes both from the event log
 * itself.
 */
const isOfLedger = (code: string): boolean =>
  code === 'exceeds_account' || code === 'ledger_behind' || code === 'ledger_disagrees';

function destinationCommands({ payouts, core, givenAddress }: CommandParts): AdminCommands {
  return {
    'merchant.settlement-address': async (args) => {
      const merchantId = requiredText(args, 'merchant_id') as MerchantId;
      const mode =
        (await core.merchantHandler.read(merchantStream(merchantId)))?.context.registered?.mode ??
        refused('no such merchant');
      const network = networkOf(requiredText(args, 'network'));
      const address =
        givenAddress(network, requiredText(args, 'address')) ?? refused(`address is not an address on ${network}`);
      const operator = optionalText(args, 'operator') ?? 'operator';
      const destination = { mode, network, merchantId, address };
      const agreed = await agree(
        payouts.signer,
        [{ kind: 'settlement_address', destination, proposedBy: operator }],
        args,
      );
      if (!agreed.ok) return agreed.answer;
      const { approvers } = agreed;
      if (!agreed.done)
        return { merchant_id: merchantId, network, address, approved_by: approvers, status: 'waiting_for_approval' };
      const set = await core.merchants.setSettlementAddress(
        merchantId,
        { network, address, approvers },
        { correlationId: address, actor: operator },
      );
      if (!set.ok) return refused(set.refusal.message);
      const waiting = set.value.pending_changes.find(
        ({ change }) => change['network'] === network && change['address'] === address,
      );
      return {
        merchant_id: merchantId,
        network,
        address,
        approved_by: approvers,
        status: waiting ? 'waiting' : 'set',
        takes_effect_at: waiting?.takes_effect_at ?? null,
      };
    },
  };
}
