import type { BlockRange, OutflowFacts, TreasuryReconciled } from '../../domain/events/treasury-move-events.ts';
import { formatAmount, signedAmountOf } from '../../domain/money.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { ApprovalSigner } from '../../ports/approvals.ts';
import type { SeenInflow, SeenOutflow, SoughtInflows, StrangersAmong } from '../../ports/outgoing-chain.ts';
import type { OutgoingSigner } from '../../ports/outgoing-signer.ts';
import type { WholeRows } from '../../runtime/projections/whole-rows.ts';
import { messageOf } from '../../runtime/util/message-of.ts';
import { InTurnByKey } from '../../runtime/util/in-turn.ts';
import { inflowKey } from '../../../state-machines/treasury/moves.ts';
import type { MoveExecutor } from '../payouts/moves/records.ts';
import { fundingsOf } from './fundings.ts';
import {
  amountsAt,
  hasDifference,
  isSameDifference,
  lookAt,
  shortfall,
  type Account,
  type Look,
  type LookDeps,
} from './reconcile-look.ts';

export interface ReconcileDeps extends LookDeps {
  /**
   * The books must be whole while they are read: what they lack would be taken for money that was brought, or that
   * left.
   */
  readonly wholeBooks: WholeRows;
  /** Rejects where the books that were read are not what the event log says. False where no proof can be made now. */
  readonly proveBooks: () => Promise<boolean>;
  readonly signer: Pick<OutgoingSigner, 'unknownTransactions'> & Pick<ApprovalSigner, 'reportOutflows'>;
  readonly clock: Clock;
  readonly log: Log;
  /** A difference counts once it is the same after this pause: what lands meanwhile is recorded by then. */
  readonly pause: () => Promise<void>;
}

/** Looks before a difference is believed. */
const LOOKS = 3;
/** Looks after which it is believed although it still changes: money that goes on leaving must not go unnoticed. */
const MOST_LOOKS = 5;
/** Money that goes on leaving is reported as far as it is seen by then. */
const ROUNDS = 3;

/**
 * Looks at one treasury one after another: each would find the same money otherwise, and only one of them could be
 * recorded.
 */
export function inTurnReconciler(
  deps: ReconcileDeps,
): (executor: MoveExecutor) => ReturnType<typeof reconcileTreasury> {
  const turns = new InTurnByKey();
  return (executor) =>
    turns.run(`${executor.chain.mode}/${executor.chain.network}`, () => reconcileTreasury(executor, deps));
}

/**
 * Compares one treasury and its collection addresses with the books. Money that is missing, or a transaction that the
 * signer's journal does not know, is an outflow nobody ordered, and stops payouts; money that is too much was brought
 * by the operator.
 */
export async function reconcileTreasury(
  executor: MoveExecutor,
  deps: ReconcileDeps,
): Promise<TreasuryReconciled['data'] & { readonly unknown: readonly OutflowFacts[] }> {
  const { differencesSettled: settled } = await executor.context();
  const { look, strangers } = await steadyLook(executor, deps);
  const { mode, network } = executor.chain;
  const foundAtSec = toSec(deps.clock.nowMs());
  // The same money is not reported twice: by its transaction where that is known, by the balance otherwise.
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
  // What would be booked as brought must not come from an edited row. Where money is missing as well, the next look
  // that is proven books what was brought.
  const isProven = fundings.length === 0 || (await isProvenBy(deps, unknown));
  const outflows = unknown.map((facts) => ({ ...facts, foundAtSec }));
  const result = {
    mode,
    network,
    throughBlock: look.throughBlock,
    accounts: look.accounts,
    reconciledAtSec: foundAtSec,
  };
  const refused = await executor.tell(
    { type: 'RecordReconciliation', settled, fundings: isProven ? fundings : [], outflows, result },
    'reconcile',
  );
  if (refused !== null) {
    // What was recorded meanwhile may be what this look found; what else it found, another one finds.
    if ((await executor.context()).differencesSettled !== settled) return reconcileTreasury(executor, deps);
    throw new Error(`the reconciliation of ${mode} ${network} cannot be recorded: ${refused}`);
  }
  await reportOutflows(executor, deps.signer);
  return { ...result, unknown };
}

/**
 * An outflow stops payments, which is never wrong: it is recorded whatever the books are. Rejects where there is
 * none to record.
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
 * The signer stands still as well, whatever becomes of this process: all that is not explained yet, since it knows what
 * it was told before.
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
  const told = open.length === 0 ? null : await signer.reportOutflows(mode, network, open);
  if (told && !told.ok)
    throw new Error(`the signer could not be informed of outflows of ${mode} ${network}: ${told.message}`);
}

/**
 * Balances, and the strange transactions that they show the effect of: what leaves between the two reads is read again.
 */
async function steadyLook(
  executor: MoveExecutor,
  deps: ReconcileDeps,
): Promise<{ look: Look; strangers: readonly OutflowFacts[] }> {
  const lookNow = (): Promise<Look> => deps.wholeBooks(() => lookAt(executor, deps));
  let strangers = await unknownTransactions(executor, deps);
  for (let round = 1; ; round++) {
    let look = await lookNow();
    for (let looks = 2; looks <= MOST_LOOKS && hasDifference(look); looks++) {
      const before = look;
      await deps.pause();
      look = await lookNow();
      if (looks >= LOOKS && isSameDifference(before, look)) break;
    }
    if (strangers.length === 0 && !hasDifference(look)) return { look, strangers };
    const now = await unknownTransactions(executor, deps);
    if (now.length === strangers.length || round === ROUNDS) return { look, strangers: now };
    strangers = now;
  }
}

/** Tells which transactions the signer never signed. */
const strangersTo =
  (signer: ReconcileDeps['signer'], { mode, network }: MoveExecutor['chain']): StrangersAmong =>
  async (txHashes) =>
    new Set(await signer.unknownTransactions(mode, network, txHashes));

/**
 * Transactions of the treasury that the signer never signed and nobody reported yet. What was before the first look is
 * a part of its balance.
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
 * Transfers to the treasury that are none of our own and were not booked before. They only say which transaction
 * brought what the balance shows: where they cannot be read, the money is booked without. What was there before the
 * first look is a part of its balance.
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
