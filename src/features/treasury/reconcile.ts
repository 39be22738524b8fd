import type { BlockRange, OutflowFacts, TreasuryReconciled } from '../../domain/events/treasury-move-events.ts';
import { formatAmount, signedAmountOf } from '../../domain/money/money.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { ApprovalSigner } from '../../ports/signer/approvals.ts';
import type { SeenInflow, SeenOutflow, SoughtInflows, StrangersAmong } from '../../ports/outgoing/chain.ts';
import type { OutgoingSigner } from '../../ports/outgoing/signer.ts';
import { messageOf } from '../../runtime/util/message-of.ts';
import { InTurnByKey } from '../../runtime/util/in-turn.ts';
import { inflowKey } from '../../../state-machines/treasury/moves.ts';
import type { MoveExecutor } from '../payouts/moves/records.ts';
import { fundingsOf } from './fundings.ts';
import { amountsAt, hasDifference, shortfall, type Account, type Look } from './reconcile-look.ts';
import { noWitnesses, settledLook, type SettledLookDeps, type Witnesses } from './settled-look.ts';

export interface ReconcileDeps extends SettledLookDeps {
  /** Rejects if the books contradict the event log. False if no proof is possible now. */
  readonly proveBooks: () => Promise<boolean>;
  readonly signer: Pick<OutgoingSigner, 'unknownTransactions'> & Pick<ApprovalSigner, 'reportOutflows'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Rounds after which a continuing outflow is reported as far as it was seen. */
const ROUNDS = 3;

/**
 * Serialises the reconciliations of a treasury, which would otherwise find the same money while only one could record
 * it.
 */
export function inTurnReconciler(
  deps: ReconcileDeps,
): (executor: MoveExecutor, addressesTo?: string | null) => ReturnType<typeof reconcileTreasury> {
  const turns = new InTurnByKey();
  const witnesses = new Map<string, Witnesses>();
  return (executor, addressesTo) => {
    const treasury = `${executor.chain.mode}/${executor.chain.network}`;
    const own = witnesses.get(treasury) ?? noWitnesses();
    witnesses.set(treasury, own);
    return turns.run(treasury, () => reconcileTreasury(executor, deps, own, addressesTo));
  };
}

/**
 * Compares one treasury and its collection addresses with the books. Missing money, or a transaction that the signer's
 * journal does not know, is an outflow that nobody ordered and stops payouts. Surplus money was brought in by the
 * operator.
 */
export async function reconcileTreasury(
  executor: MoveExecutor,
  deps: ReconcileDeps,
  witnesses = noWitnesses(),
  addressesTo?: string | null,
): Promise<TreasuryReconciled['data'] & { readonly unknown: readonly OutflowFacts[] }> {
  const { differencesSettled: settled } = await executor.context();
  const { look, strangers } = await steadyLook(executor, deps, witnesses);
  const { mode, network } = executor.chain;
  const foundAtSec = toSec(deps.clock.nowMs());
  // Avoids reporting the same money twice: by its transaction if known, otherwise by the balance.
  const seen = amountsAt(executor.treasury, [
    ...strangers,
    ...Object.values((await executor.context()).unknownOutflows),
  ]);
  const ofTreasury = look.accounts
    .filter(({ account }) => account === 'treasury')
    .map((account) => [account, unexplained(account, seen)] as const);
  const missing = ofTreasury.flatMap(([{ coin }, units]) =>
    units < 0n ? [shortfall(executor, executor.treasury, coin, -units, look.throughBlock)] : [],
  );
  const unknown = [...strangers, ...look.short, ...missing];
  const brought = ofTreasury.filter(([, units]) => units > 0n);
  const window = { fromBlock: ((await executor.context()).reconciledThrough ?? -1) + 1, toBlock: look.newestBlock };
  const inflows = await inflowsTo(
    executor,
    deps,
    window,
    brought.map(([{ coin }]) => coin),
  );
  const place = {
    mode,
    network,
    address: executor.treasury,
    blockNumber: look.throughBlock,
    recordedAtSec: foundAtSec,
  };
  const fundings = brought.flatMap(([{ coin }, units]) => fundingsOf({ ...place, coin }, units, inflows, window));
  // Money must not be booked as brought in because of an edited row. If money is missing as well, the next proven run
  // books what was brought in.
  const isProven = fundings.length === 0 || (await isProvenBy(deps, unknown));
  const outflows = unknown.map((facts) => ({ ...facts, foundAtSec }));
  const result = {
    mode,
    network,
    throughBlock: look.throughBlock,
    accounts: look.accounts,
    reconciledAtSec: foundAtSec,
    ...(addressesTo !== undefined && { addressesTo }),
  };
  const refused = await executor.tell(
    { type: 'RecordReconciliation', settled, fundings: isProven ? fundings : [], outflows, result },
    'reconcile',
  );
  if (refused !== null) {
    // A concurrent record may cover what this run found; the next run finds the rest.
    if ((await executor.context()).differencesSettled !== settled)
      return reconcileTreasury(executor, deps, witnesses, addressesTo);
    throw new Error(`the reconciliation of ${mode} ${network} cannot be recorded: ${refused}`);
  }
  await reportOutflows(executor, deps.signer);
  return { ...result, unknown };
}

/**
 * An outflow stops payments, which is never wrong, so it is recorded whatever the state of the books. Rejects if there
 * is none to record.
 */
async function isProvenBy({ proveBooks, log }: ReconcileDeps, unknown: readonly OutflowFacts[]): Promise<boolean> {
  try {
    return await proveBooks();
  } catch (error) {
    if (unknown.length === 0) throw error;
    log.warn({ err: error }, 'treasury funding is not booked: the books could not be verified');
    return false;
  }
}

const unexplained = ({ coin, difference }: Account, seen: Partial<Record<string, bigint>>): bigint =>
  signedAmountOf(difference) + (seen[coin] ?? 0n);

/**
 * Stops the signer as well, whatever becomes of this process. Reports everything unexplained, because the signer
 * already knows earlier reports.
 */
export async function reportOutflows(
  executor: MoveExecutor,
  signer: Pick<ApprovalSigner, 'reportOutflows'>,
): Promise<void> {
  const open = Object.values((await executor.context()).unknownOutflows).map(
    ({ mode, network, outflowKey, address, coin, amount, toAddress, txHash, blockNumber }): OutflowFacts => {
      return { mode, network, outflowKey, address, coin, amount, toAddress, txHash, blockNumber };
    },
  );
  const { mode, network } = executor.chain;
  const answer = open.length === 0 ? null : await signer.reportOutflows(mode, network, open);
  if (answer && !answer.ok)
    throw new Error(`the signer could not be informed of outflows of ${mode} ${network}: ${answer.message}`);
}

/**
 * Balances together with the unknown transactions that changed them. Reads again if something leaves between the two
 * reads.
 */
async function steadyLook(
  executor: MoveExecutor,
  deps: ReconcileDeps,
  witnesses: Witnesses,
): Promise<{ look: Look; strangers: readonly OutflowFacts[] }> {
  let strangers = await unknownTransactions(executor, deps);
  for (let round = 1; ; round++) {
    const look = await settledLook(executor, deps, witnesses).catch(async (error: unknown) => {
      await recordStrangers(executor, deps, strangers);
      throw error;
    });
    if (strangers.length === 0 && !hasDifference(look)) return { look, strangers };
    const now = await unknownTransactions(executor, deps);
    if (now.length === strangers.length || round === ROUNDS) return { look, strangers: now };
    strangers = now;
  }
}

/** Payments stop because of an unknown transaction even while no balances can be established. */
async function recordStrangers(
  executor: MoveExecutor,
  { signer, clock }: ReconcileDeps,
  strangers: readonly OutflowFacts[],
): Promise<void> {
  const { differencesSettled: settled } = await executor.context();
  const foundAtSec = toSec(clock.nowMs());
  const outflows = strangers.map((facts) => ({ ...facts, foundAtSec }));
  await executor.tell({ type: 'RecordReconciliation', settled, fundings: [], outflows, result: null }, 'reconcile');
  await reportOutflows(executor, signer);
}

/** Tells which transactions the signer never signed. */
const strangersTo =
  (signer: ReconcileDeps['signer'], { mode, network }: MoveExecutor['chain']): StrangersAmong =>
  async (txHashes) =>
    new Set(await signer.unknownTransactions(mode, network, txHashes));

/**
 * Transactions of the treasury that the signer never signed and nobody has reported. Anything before the first run is
 * part of the opening balance.
 */
async function unknownTransactions(executor: MoveExecutor, { signer }: ReconcileDeps): Promise<OutflowFacts[]> {
  const { chain, treasury } = executor;
  const { reconciledThrough, unknownOutflows, knownOutflows } = await executor.context();
  if (reconciledThrough === null) return [];
  const seen = await chain.outflows(treasury, reconciledThrough + 1, strangersTo(signer, chain));
  return seen
    .map((outflow) => factsOf(executor, outflow))
    .filter(({ outflowKey }) => !Object.hasOwn(unknownOutflows, outflowKey) && !knownOutflows.includes(outflowKey));
}

function factsOf(
  { chain: { mode, network }, treasury }: MoveExecutor,
  { coin, units, toAddress, txHash, part, blockNumber }: SeenOutflow,
): OutflowFacts {
  const amount = units === null ? null : formatAmount(units);
  return {
    mode,
    network,
    outflowKey: `${txHash}:${part}`,
    address: treasury,
    coin,
    amount,
    toAddress,
    txHash,
    blockNumber,
  };
}

/**
 * Transfers to the treasury from others that are not booked yet. They only name the transaction behind a balance: if
 * they cannot be read, the money is booked without one. Anything before the first run is part of the opening balance.
 */
async function inflowsTo(
  executor: MoveExecutor,
  { signer, log }: ReconcileDeps,
  window: BlockRange,
  coins: SoughtInflows['coins'],
): Promise<readonly SeenInflow[]> {
  const { chain, treasury } = executor;
  const { reconciledThrough, bookedInflows, unknownInflowsThrough } = await executor.context();
  const sought = { coins, fromBlock: Math.max(window.fromBlock, unknownInflowsThrough + 1), toBlock: window.toBlock };
  if (reconciledThrough === null || coins.length === 0 || sought.fromBlock > sought.toBlock) return [];
  const seen = await chain.inflows(treasury, sought, strangersTo(signer, chain)).catch((error: unknown) => {
    const { mode, network } = chain;
    log.warn(
      { mode, network, message: messageOf(error) },
      'treasury funding is booked without its transactions: they cannot be read',
    );
    return [];
  });
  return seen.filter((inflow) => !Object.hasOwn(bookedInflows, inflowKey(inflow)));
}
