import {
  type AdminArguments,
  type AdminCommands,
  json,
  optionalMode,
  optionalText,
  refused,
  requiredText,
} from '../server/commands.ts';
import { operatorIn, reasonInTerms } from '../server/acts.ts';
import { optionalCoin, optionalNetwork, type CommandParts } from './arguments.ts';
import { formatAmount, parseAmount } from '../../domain/money/money.ts';
import { NATIVE_COIN } from '../../domain/networks/networks.ts';
import { toSec } from '../../ports/clock.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import type { MoveExecutor } from '../../features/payouts/moves/records.ts';
import { reportOutflows } from '../../features/treasury/reconcile.ts';
import { isApproved } from '../../../state-machines/treasury/moves.ts';
import { actorOf } from '../server/acts.ts';
import { nativeReturnCommands } from './native-return.ts';
import { agree, approvedBy } from './approvals.ts';
import { resumeCommands } from './resume.ts';
import { destinationCommands, outwardCommands } from './proposals.ts';
import { optionalWhole } from '../server/whole-number.ts';

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
    const [mode, network] = [optionalMode(args), optionalNetwork(args)];
    return treasury().moves.executors.filter(
      ({ chain }) =>
        (mode === undefined || chain.mode === mode) && (network === undefined || chain.network === network),
    );
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
        refused('after needs one network (--network, and --mode if it is used in both modes)');
      const treasuries: JsonValue[] = [];
      for (const executor of executors)
        treasuries.push(
          json({ ...(await treasury().reconcile(executor)), unbooked: await unbookedOf(executor, after) }),
        );
      return { treasuries };
    },
    'treasury.outflows': async () => ({
      outflows: (await Promise.all(treasury().moves.executors.map(outflowsOf))).flat(),
    }),
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
  const most = optionalWhole(args, 'most', { min: 1, max: 999 });
  const estimate = args['estimate'] !== false;
  const sweeps = await treasury().sweeper.sweep(filter, {
    ...{ requestedBy: actorOf(args), dryRun, estimate },
    ...(most !== undefined && { most }),
  });
  const shown = sweeps.map(({ moveId, mode: of, network: on, coin: what, units, address, toAddress, note, fee }) => ({
    id: moveId,
    mode: of,
    network: on,
    coin: what,
    amount: formatAmount(units),
    from_address: address,
    to_address: toAddress,
    note,
    ...(dryRun && estimate && { fee: fee ? formatAmount(fee) : null, fee_coin: NATIVE_COIN[on] }),
  }));
  return { dry_run: dryRun, sweeps: shown };
}

async function acknowledge({ treasury, payouts, clock }: CommandParts, args: AdminArguments): Promise<JsonValue> {
  const outflow = requiredText(args, 'outflow');
  const facts = {
    actor: operatorIn(args),
    reason: reasonInTerms(args),
    nowSec: toSec(clock.nowMs()),
  };
  for (const executor of treasury().moves.executors) {
    const reported = Object.values((await executor.context()).unknownOutflows);
    const [meant, ...more] = reported.filter((found) => found.outflowKey === outflow || found.txHash === outflow);
    if (!meant) continue;
    const { outflowKey } = meant;
    if (more.length > 0)
      refused(
        `outflow: ${outflow} took several things, each explained by itself: ${[meant, ...more].map((found) => found.outflowKey).join(', ')}`,
      );
    const { mode, network } = executor.chain;
    await reportOutflows(executor, payouts.signer);
    const act = {
      kind: 'acknowledge',
      mode,
      network,
      outflowKeys: [outflowKey],
      reason: facts.reason,
      proposedBy: facts.actor,
    } as const;
    const agreed = await agree(payouts.signer, [act], args);
    if (!agreed.ok) return agreed.answer;
    if (!agreed.done) return { outflow, ...approvedBy(agreed), status: 'waiting_for_approval' };
    const fault = await executor.tell({ type: 'AcknowledgeOutflow', outflowKey, ...facts }, facts.actor);
    if (fault !== null) refused(fault);
    return { acknowledged: outflow, ...approvedBy(agreed) };
  }
  return refused('no such outflow is reported');
}

async function movesOf(executor: MoveExecutor): Promise<JsonValue[]> {
  const { moves } = await executor.context();
  return Object.values(moves).map((move) => {
    const { moveId, mode, network, coin, amount, fromAddress, toAddress, merchantId, requestedBy, requestedAtSec } =
      move.terms;
    const waiting = executor.waiting.find((candidate) => candidate.moveId === moveId);
    const status = move.signed.length > 0 ? 'sent' : isApproved(move) ? 'pending' : 'waiting_for_approval';
    return {
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
      requested_by: requestedBy,
      requested_at: requestedAtSec,
      approved_by: [...move.approvers],
      tx_hash: move.signed.at(-1)?.txHash ?? null,
      waiting: waiting?.detail ?? null,
    };
  });
}

/** What left without an order and is not explained yet. */
async function outflowsOf(executor: MoveExecutor): Promise<JsonValue[]> {
  const { unknownOutflows } = await executor.context();
  return Object.values(unknownOutflows).map(
    ({ mode, network, outflowKey, txHash, coin, amount, address, toAddress, blockNumber }) => ({
      ...{ mode, network, outflow: outflowKey, tx_hash: txHash, coin, amount },
      ...{ from_address: address, to_address: toAddress, block_number: blockNumber },
    }),
  );
}

async function balancesOf({ chain, treasury }: MoveExecutor): Promise<JsonValue> {
  const { coins, native } = await chain.balances(treasury);
  const held = Object.fromEntries(Object.entries(coins).map(([coin, units]) => [coin, formatAmount(units)]));
  return { mode: chain.mode, network: chain.network, address: treasury, coins: held, gas: formatAmount(native) };
}
