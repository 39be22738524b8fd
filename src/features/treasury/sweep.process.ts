import type { MoveRequested } from '../../domain/events/treasury-move-events.ts';
import { formatAmount } from '../../domain/money.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { NOTHING_RESERVED } from '../../ports/outgoing.ts';
import type { Random } from '../../ports/random.ts';
import type { ReadModel } from '../../ports/read-model.ts';
import { newMoveId } from '../payouts/moves/ids.ts';
import type { SessionHandler } from '../shared/handlers/session-handler.ts';
import { sweepCandidates, type SweepCandidate, type SweepFilter } from './sweep-plan.ts';
import { orderOf } from '../payouts/moves/order.ts';
import type { MoveExecutor } from '../payouts/moves/records.ts';
import type { MoveMoney } from '../payouts/moves/moves.process.ts';
import { isTransient } from '../payouts/faults.ts';
import { messageOf } from '../../runtime/util/message-of.ts';

export interface SweepCollectedDeps {
  readonly moves: MoveMoney;
  readonly readModel: ReadModel;
  readonly sessions: SessionHandler;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** 10^-18 units at one address from which it is swept by itself; null: on command only. */
  readonly fromUnits: bigint | null;
  readonly everyMs: number;
}

/** What became of one candidate. */
export interface PlannedSweep extends SweepCandidate {
  /** Null in a dry run, or when the address has a sweep under way. */
  readonly moveId: string | null;
  readonly toAddress: string;
  readonly note: string;
  /** In a dry run, what the network would take now, in 10^-18 units of its coin; null where it does not say. */
  readonly fee?: bigint | null;
}

/** Addresses of one treasury that one look takes, beside those with a sweep under way; the next one takes the rest. */
const MAX_SWEEPS = 500;

/** Brings money from collection addresses to the treasury, above a threshold by itself, or when told to. */
export class SweepCollected {
  readonly #deps: SweepCollectedDeps;
  #timer: NodeJS.Timeout | null = null;
  /** The look under way that the timer began. */
  #look: Promise<unknown> | null = null;
  #stopped = false;

  constructor(deps: SweepCollectedDeps) {
    this.#deps = deps;
  }

  start(): void {
    const { fromUnits, everyMs, log } = this.#deps;
    if (fromUnits === null) return;
    this.#timer = setInterval(() => {
      // A chain may take longer than the time between two looks: a second one would find the same, and `stop` would not
      // wait for both.
      this.#look ??= this.sweep({ minUnits: fromUnits }, { requestedBy: 'threshold', dryRun: false })
        .catch((error: unknown) => log.error({ err: error }, 'collection addresses could not be checked'))
        .finally(() => (this.#look = null));
    }, everyMs);
  }

  /** Waits for the address that is looked at, not for all that remain. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer) clearInterval(this.#timer);
    await this.#look;
  }

  /** Orders a sweep for everything the filter names; in a dry run it only says what it would do. */
  async sweep(
    filter: SweepFilter,
    {
      requestedBy,
      dryRun,
      most = MAX_SWEEPS,
    }: { readonly requestedBy: string; readonly dryRun: boolean; readonly most?: number },
  ): Promise<PlannedSweep[]> {
    const planned: PlannedSweep[] = [];
    const looks = new Map<MoveExecutor, ShareOfTreasury>();
    for await (const candidate of sweepCandidates(this.#deps, filter)) {
      if (this.#stopped) break;
      const executor = this.#deps.moves.executor(candidate.mode, candidate.network);
      if (!executor) continue;
      const look = looks.get(executor) ?? { sweeping: await sweepingOf(executor), left: most };
      looks.set(executor, look);
      // One treasury's addresses hold up those of no other.
      if (look.left === 0) continue;
      const isUnderWay = look.sweeping.has(candidate.address);
      if (!isUnderWay) look.left -= 1;
      try {
        const plan = dryRun
          ? this.#forecast(candidate, executor)
          : isUnderWay
            ? underWay(candidate, executor)
            : this.#order(candidate, executor, requestedBy);
        planned.push(await plan);
      } catch (error) {
        if (!isTransient(error)) throw error;
        const { mode, network } = candidate;
        this.#deps.log.warn(
          { err: error, mode, network },
          'collection addresses of a network cannot currently be checked',
        );
        planned.push({ ...candidate, toAddress: executor.treasury, moveId: null, note: messageOf(error) });
        look.left = 0;
      }
    }
    return planned;
  }

  async #order(candidate: SweepCandidate, executor: MoveExecutor, requestedBy: string): Promise<PlannedSweep> {
    const moveId = newMoveId('sweep', this.#deps.random);
    const emptied = await this.#isEmptied(candidate, executor);
    if (emptied !== null) return { ...candidate, toAddress: executor.treasury, moveId: null, note: emptied };
    const data = requestOf(candidate, executor.treasury, moveId, requestedBy, toSec(this.#deps.clock.nowMs()));
    const refused = await executor.tell({ type: 'RequestMove', kind: 'sweep', data }, requestedBy);
    if (refused === null) this.#deps.moves.wake(executor);
    return {
      ...candidate,
      toAddress: executor.treasury,
      moveId: refused === null ? moveId : null,
      note: refused ?? 'ordered',
    };
  }

  /**
   * What the look-ups say may be older than a sweep that is just done. Ordered again, it would wait forever for money
   * that is gone and hold up every later sweep of the address, so the chain is asked.
   */
  async #isEmptied(candidate: SweepCandidate, executor: MoveExecutor): Promise<string | null> {
    const held = (await executor.chain.balances(candidate.address)).coins[candidate.coin] ?? 0n;
    return held >= candidate.units ? null : `the address now holds ${formatAmount(held)} ${candidate.coin}`;
  }

  async #forecast(candidate: SweepCandidate, executor: MoveExecutor): Promise<PlannedSweep> {
    const data = requestOf(candidate, executor.treasury, 'dry-run', 'dry-run', 0);
    const order = orderOf({ kind: 'sweep', terms: data });
    const check = await executor.chain.check(order, NOTHING_RESERVED);
    // An estimate that is not to be had keeps nobody from knowing the rest.
    const fee = await executor.chain.sweepFee(order).catch(() => null);
    const note =
      check.kind === 'needs_gas'
        ? `needs ${formatAmount(check.amount)} of the native coin from the treasury first`
        : check.kind === 'wait'
          ? check.detail
          : check.kind === 'fail'
            ? `would fail: ${check.reason}`
            : 'ready';
    return { ...candidate, toAddress: executor.treasury, moveId: null, note, fee };
  }
}

/** What one look may still take of one treasury. */
interface ShareOfTreasury {
  readonly sweeping: ReadonlySet<string>;
  left: number;
}

async function sweepingOf(executor: MoveExecutor): Promise<ReadonlySet<string>> {
  const { moves } = await executor.context();
  return new Set(Object.values(moves).flatMap(({ kind, terms }) => (kind === 'sweep' ? [terms.fromAddress] : [])));
}

const underWay = (candidate: SweepCandidate, executor: MoveExecutor): PlannedSweep => ({
  ...candidate,
  toAddress: executor.treasury,
  moveId: null,
  note: `${candidate.address} has a move of this kind under way`,
});

function requestOf(
  candidate: SweepCandidate,
  treasury: string,
  moveId: string,
  requestedBy: string,
  requestedAtSec: number,
): MoveRequested {
  const { mode, network, coin, units, address, derivationIndex } = candidate;
  return {
    ...{
      moveId,
      mode,
      network,
      coin,
      amount: formatAmount(units),
      fromAddress: address,
      toAddress: treasury,
      derivationIndex,
    },
    ...{ merchantId: null, forMoveId: null, requestedBy, reason: null, requestedAtSec },
  };
}
