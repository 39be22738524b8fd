import type { MoveRequested } from '../domain/events/treasury-move-events.ts';
import { formatAmount } from '../domain/money.ts';
import { toSec, type Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Random } from '../ports/random.ts';
import type { ReadModel } from '../ports/read-model.ts';
import { newMoveId } from '../use-cases/move-ids.ts';
import type { SessionHandler } from '../use-cases/session-handler.ts';
import { sweepCandidates, type SweepCandidate, type SweepFilter } from '../use-cases/sweep-plan.ts';
import type { MoveDesk } from './move-money-desk.ts';
import type { MoveMoney } from './move-money.process.ts';

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
}

/** Sweeps ordered by one look; the next one takes the rest. */
const MAX_SWEEPS = 500;

/** Brings money from collection addresses to the treasury, above a threshold by itself, or when told to. */
export class SweepCollected {
  readonly #deps: SweepCollectedDeps;
  #timer: NodeJS.Timeout | null = null;
  #look: Promise<unknown> = Promise.resolve();

  constructor(deps: SweepCollectedDeps) {
    this.#deps = deps;
  }

  start(): void {
    const { fromUnits, everyMs, log } = this.#deps;
    if (fromUnits === null) return;
    this.#timer = setInterval(() => {
      this.#look = this.sweep({ minUnits: fromUnits }, { requestedBy: 'threshold', dryRun: false }).catch((error: unknown) =>
        log.error({ err: error }, 'collection addresses could not be looked through'),
      );
    }, everyMs);
  }

  async stop(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    await this.#look;
  }

  /** Orders a sweep for everything the filter names; in a dry run it only says what it would do. */
  async sweep(filter: SweepFilter, { requestedBy, dryRun }: { readonly requestedBy: string; readonly dryRun: boolean }): Promise<PlannedSweep[]> {
    const planned: PlannedSweep[] = [];
    for await (const candidate of sweepCandidates(this.#deps, filter)) {
      const desk = this.#deps.moves.desk(candidate.mode, candidate.network);
      if (!desk) continue;
      planned.push(dryRun ? await this.#forecast(candidate, desk) : await this.#order(candidate, desk, requestedBy));
      if (planned.length >= MAX_SWEEPS) break;
    }
    return planned;
  }

  async #order(candidate: SweepCandidate, desk: MoveDesk, requestedBy: string): Promise<PlannedSweep> {
    const moveId = newMoveId('sweep', this.#deps.random);
    const emptied = await this.#isEmptied(candidate, desk);
    if (emptied !== null) return { ...candidate, toAddress: desk.treasury, moveId: null, note: emptied };
    const data = requestOf(candidate, desk.treasury, moveId, requestedBy, toSec(this.#deps.clock.nowMs()));
    const refused = await desk.tell({ type: 'RequestMove', kind: 'sweep', data }, requestedBy);
    if (refused === null) this.#deps.moves.wake(desk);
    return { ...candidate, toAddress: desk.treasury, moveId: refused === null ? moveId : null, note: refused ?? 'ordered' };
  }

  /**
   * What the look-ups say may be older than a sweep that is just done. Ordered again, it would wait for ever for money that
   * is gone and hold up every later sweep of the address, so the chain is asked.
   */
  async #isEmptied(candidate: SweepCandidate, desk: MoveDesk): Promise<string | null> {
    const held = (await desk.chain.balances(candidate.address)).coins[candidate.coin] ?? 0n;
    return held >= candidate.units ? null : `the address holds ${formatAmount(held)} ${candidate.coin} by now`;
  }

  async #forecast(candidate: SweepCandidate, desk: MoveDesk): Promise<PlannedSweep> {
    const data = requestOf(candidate, desk.treasury, 'dry-run', 'dry-run', 0);
    const check = await desk.chain.check({ kind: 'sweep', ...data }, desk.treasury, { coins: {}, payouts: 0 });
    const note =
      check.kind === 'needs_gas'
        ? `needs ${formatAmount(check.amount)} of the native coin from the treasury first`
        : check.kind === 'wait'
          ? check.detail
          : check.kind === 'fail'
            ? `would fail: ${check.reason}`
            : 'ready';
    return { ...candidate, toAddress: desk.treasury, moveId: null, note };
  }
}

function requestOf(candidate: SweepCandidate, treasury: string, moveId: string, requestedBy: string, requestedAtSec: number): MoveRequested {
  const { mode, network, coin, units, address, derivationIndex } = candidate;
  return {
    ...{ moveId, mode, network, coin, amount: formatAmount(units), fromAddress: address, toAddress: treasury, derivationIndex },
    ...{ merchantId: null, forMoveId: null, requestedBy, reason: null, requestedAtSec },
  };
}
