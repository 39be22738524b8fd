import type { MoveRequested } from '../../domain/events/treasury-move-events.ts';
import { formatAmount } from '../../domain/money/money.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { NOTHING_RESERVED } from '../../ports/outgoing/transaction.ts';
import type { Random } from '../../ports/random.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
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
  /** Amount in 10^-18 units from which an address is swept automatically; null: only on command. */
  readonly fromUnits: bigint | null;
  readonly everyMs: number;
}

/** The result for one candidate. */
export interface PlannedSweep extends SweepCandidate {
  /** Null in a dry run, or if the address already has a sweep in progress. */
  readonly moveId: string | null;
  readonly toAddress: string;
  readonly note: string;
  /** Only if the chain was asked: the current network fee in 10^-18 units of its coin; null if unknown. */
  readonly fee?: bigint | null;
}

interface SweepRun {
  readonly requestedBy: string;
  readonly dryRun: boolean;
  /** Whether a dry run asks the chain what each sweep would cost and whether it could be made. */
  readonly estimate?: boolean;
  /** Maximum number of addresses per treasury, besides those with a sweep in progress. */
  readonly most?: number;
}

/** Limit of addresses per treasury and run, besides those with a sweep in progress. The next run takes the rest. */
const MAX_SWEEPS = 500;

/** Moves money from collection addresses to the treasury, automatically above a threshold or on command. */
export class SweepCollected {
  readonly #deps: SweepCollectedDeps;
  #timer: NodeJS.Timeout | null = null;
  /** The run in progress that the timer started. */
  #look: Promise<unknown> | null = null;
  #stopped = false;

  constructor(deps: SweepCollectedDeps) {
    this.#deps = deps;
  }

  start(): void {
    const { fromUnits, everyMs, log } = this.#deps;
    if (fromUnits === null) return;
    this.#timer = setInterval(() => {
      // A chain may take longer than the interval. A second run would find the same, and `stop` would not wait for
      // both.
      this.#look ??= this.sweep({ minUnits: fromUnits }, { requestedBy: 'threshold', dryRun: false })
        .catch((error: unknown) => log.error({ err: error }, 'collection addresses could not be checked'))
        .finally(() => (this.#look = null));
    }, everyMs);
  }

  /** Waits for the current address only, not for all that remain. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer) clearInterval(this.#timer);
    await this.#look;
  }

  /** Orders a sweep of everything that passes the filter; a dry run only reports what it would do. */
  async sweep(filter: SweepFilter, run: SweepRun): Promise<PlannedSweep[]> {
    const planned: PlannedSweep[] = [];
    // The addresses of one treasury do not block those of another.
    for (const executor of this.#deps.moves.executors) {
      const { mode, network } = executor.chain;
      if ((filter.mode ?? mode) !== mode || (filter.network ?? network) !== network) continue;
      planned.push(...(await this.#sweepOf(executor, { ...filter, mode, network }, run)));
    }
    return planned;
  }

  async #sweepOf(
    executor: MoveExecutor,
    filter: SweepFilter,
    { requestedBy, dryRun, estimate = true, most = MAX_SWEEPS }: SweepRun,
  ): Promise<PlannedSweep[]> {
    const { treasury: toAddress, chain } = executor;
    const planned: PlannedSweep[] = [];
    const sweeping = await sweepingOf(executor);
    let left = most;
    for await (const candidate of sweepCandidates(this.#deps, filter)) {
      if (this.#stopped) break;
      const plan = { ...candidate, toAddress, moveId: null };
      const isUnderWay = sweeping.has(candidate.address);
      if (!isUnderWay) left -= 1;
      try {
        if (dryRun && estimate) planned.push(await this.#forecast(candidate, executor));
        else if (isUnderWay) planned.push({ ...plan, note: `${candidate.address} has a move of this kind under way` });
        else if (dryRun) planned.push({ ...plan, note: '' });
        else planned.push(await this.#order(candidate, executor, requestedBy));
      } catch (error) {
        if (!isTransient(error)) throw error;
        const { mode, network } = chain;
        this.#deps.log.warn(
          { err: error, mode, network },
          'collection addresses of a network cannot currently be checked',
        );
        planned.push({ ...plan, note: messageOf(error) });
        break;
      }
      // Looking for one more could mean reading a million other addresses.
      if (left === 0) break;
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
   * The look-ups may lag behind a sweep that just finished. Another sweep would wait forever for money that is gone and
   * block later ones of the address, so the chain is asked.
   */
  async #isEmptied(candidate: SweepCandidate, executor: MoveExecutor): Promise<string | null> {
    const held = (await executor.chain.balances(candidate.address)).coins[candidate.coin] ?? 0n;
    return held >= candidate.units ? null : `the address now holds ${formatAmount(held)} ${candidate.coin}`;
  }

  async #forecast(candidate: SweepCandidate, executor: MoveExecutor): Promise<PlannedSweep> {
    const data = requestOf(candidate, executor.treasury, 'dry-run', 'dry-run', 0);
    const order = orderOf({ kind: 'sweep', terms: data });
    const check = await executor.chain.check(order, NOTHING_RESERVED);
    // A missing estimate does not withhold the other results.
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

async function sweepingOf(executor: MoveExecutor): Promise<ReadonlySet<string>> {
  const { moves } = await executor.context();
  return new Set(Object.values(moves).flatMap(({ kind, terms }) => (kind === 'sweep' ? [terms.fromAddress] : [])));
}

function requestOf(
  candidate: SweepCandidate,
  treasury: string,
  moveId: string,
  requestedBy: string,
  requestedAtSec: number,
): MoveRequested {
  const { mode, network, coin, units, address, derivationIndex } = candidate;
  return {
    moveId,
    mode,
    network,
    coin,
    amount: formatAmount(units),
    fromAddress: address,
    toAddress: treasury,
    derivationIndex,
    ...{ merchantId: null, forMoveId: null, requestedBy, reason: null, requestedAtSec },
  };
}
