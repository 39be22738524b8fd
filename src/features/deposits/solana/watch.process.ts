import { ChainUnavailable, type Block } from '../../../ports/chain/chain.ts';
import { toSec } from '../../../ports/clock.ts';
import { TrackedDeposits } from '../chain/deposits.ts';
import { IDLE, type WatchStatus } from '../chain/types.ts';
import { Need } from '../need.ts';
import type { SweepMarks } from '../../../domain/events/operations-events.ts';
import { WatchedAccounts } from './looks.ts';
import { SolanaCoverage } from './coverage.ts';
import type { WatchedOwner } from './owners.ts';
import { SolanaSweep } from './sweep.ts';
import type { Pace, WatchSolanaDeps, WatchSolanaOptions } from './types.ts';
import type { NetworkWatcher } from '../network-watcher.ts';
import { Polling, systemSleep } from '../polling.ts';
import { Listeners } from '../../../runtime/util/listeners.ts';
import { must } from '../../../domain/values/must.ts';

/** How far a tier of open sessions was read without a gap. */
interface Reached {
  readonly slot: number;
  readonly timeSec: number;
}

type EndedTier = 'recent' | 'old';
const TIERS = ['recent', 'old'] as const satisfies readonly EndedTier[];
const SYSTEM_PACE: Pace = { nowMs: () => performance.now(), sleep: systemSleep };

/** Owners of a tier read per poll (at most one whole turn more), and final checks per poll. */
const MAX_SWEEP = 500;
const MAX_FINAL_CHECKS = 20;
/** Settled deposits this far below finality are forgotten. */
const REMEMBERED_SLOTS = 256;
const OLD_INTERVAL_MS = 6 * 3600 * 1000;

/**
 * Watches the token accounts of deposit owners, a hundred per call: those of open sessions often, those of ended ones
 * less and less. If the known history does not explain a balance, the account's transactions are read, so nothing
 * depends on polling at the right moment. Deposits are recorded at `confirmed`, become final at `finalized` and are
 * reverted when they vanish, by the same rules as on block-based chains.
 */
export class SolanaWatcher implements NetworkWatcher {
  readonly #deps: WatchSolanaDeps;
  readonly #options: Required<WatchSolanaOptions>;
  readonly #deposits: TrackedDeposits;
  readonly #coverage: SolanaCoverage;
  readonly #accounts: WatchedAccounts;
  readonly #listeners = new Listeners<number>();
  readonly #polling: Polling;
  readonly #need: Need;
  readonly #reached: { fresh: Reached | null; waiting: Reached | null } = { fresh: null, waiting: null };
  /** Ended sessions whose finalised history must still be read once. */
  readonly #finalChecks = new Map<string, WatchedOwner>();
  #finalized: Block | null = null;
  #scannedToSec: number | null = null;
  #waitingAtMs = -Infinity;
  #countedAtMs = -Infinity;
  readonly #pace: Pace;
  readonly #sweeps: { readonly recent: SolanaSweep; readonly old: SolanaSweep };
  /** Progress of the sweeps when nothing behind them was left unexplained. */
  #sweptTo: SweepMarks = { recent: null, old: null };
  /**
   * Owners of ended sessions that could not be read, or whose balance has no explanation yet. Read again with every
   * poll.
   */
  readonly #unexplained = new Map<string, WatchedOwner>();
  #begun = false;
  #look = 0;

  constructor(deps: WatchSolanaDeps, options: WatchSolanaOptions) {
    this.#deps = deps;
    this.#options = {
      waitingIntervalMs: 5 * options.pollIntervalMs,
      recentIntervalMs: 60_000,
      oldIntervalMs: OLD_INTERVAL_MS,
      coverageIntervalMs: 60_000,
      countIntervalMs: 15_000,
      unexplainedAfterMs: 60_000,
      isNewChain: false,
      idle: IDLE,
      ...options,
    };
    this.#pace = deps.pace ?? SYSTEM_PACE;
    this.#sweeps = {
      recent: new SolanaSweep(this.#options.recentIntervalMs, true),
      old: new SolanaSweep(this.#options.oldIntervalMs, false),
    };
    const { idle, coverageIntervalMs } = this.#options;
    this.#need = new Need({
      awaited: deps.awaited,
      unsettled: () => this.#deposits.unsettled + this.#finalChecks.size + this.#unexplained.size,
      idle,
      nowMs: () => this.#pace.nowMs(),
    });
    this.#coverage = new SolanaCoverage(
      deps,
      () => (this.#need.isIdle && !this.#coverage.holdsTransfers ? idle.coverageIntervalMs : coverageIntervalMs),
      () => this.#pace.nowMs(),
    );
    const observer = deps.observer ?? {};
    this.#deposits = new TrackedDeposits({
      ...deps,
      finalIsForever: true,
      observer: {
        ...observer,
        onReverted: (reverted) => {
          this.#lookAgain(deps.owners.ofSession(reverted.sessionId)?.owner);
          observer.onReverted?.(reverted);
        },
      },
    });
    const { unexplainedAfterMs } = this.#options;
    this.#accounts = new WatchedAccounts({
      ...deps,
      deposits: this.#deposits.intake,
      found: this.#coverage,
      pace: this.#pace,
      unexplainedAfterMs,
    });
    this.#polling = new Polling({
      verify: () => deps.chain.verify(),
      poll: () => this.#poll(),
      status: () => this.status(),
      observer: deps.observer,
      awaited: deps.awaited,
      intervalMs: () => (this.#need.isIdle ? idle.pollIntervalMs : options.pollIntervalMs),
      sleep: (ms, signal) => this.#pace.sleep(ms, signal),
    });
  }

  /** Resolves after the first attempt to read. */
  start(): Promise<void> {
    return this.#polling.start();
  }

  stop(): Promise<void> {
    return this.#polling.stop();
  }

  /** Chain time up to which every transfer to an open session is known. Null before anything was read. */
  scannedToSec(): number | null {
    const parked = this.#deposits.intake.oldestParked;
    return parked && this.#scannedToSec !== null
      ? Math.min(this.#scannedToSec, parked.timeSec - 1)
      : this.#scannedToSec;
  }

  /** Calls the listener whenever `scannedToSec` advances. Returns the function that unsubscribes. */
  readonly onScanned = this.#listeners.add;

  status(): WatchStatus {
    return {
      headBlock: this.#accounts.headSlot,
      scannedBlock: this.#openReached()?.slot ?? null,
      scannedToSec: this.scannedToSec(),
      finalizedBlock: this.#finalized?.number ?? null,
      coveredBlock: this.#coverage.coveredBlock,
      trackedDeposits: this.#deposits.unsettled,
      consecutiveFailures: this.#polling.consecutiveFailures,
    };
  }

  /**
   * Reads the whole finalised history of an owner's accounts again and sends its transfers; known ones change nothing.
   * Rejects with `ChainUnavailable` when it cannot be read.
   */
  async recheck(owner: string): Promise<{ readonly transfers: number }> {
    this.#accounts.forget(owner);
    return { transfers: await this.#accounts.readFinal(owner) };
  }

  async #poll(): Promise<void> {
    await this.#deps.addressesComplete?.();
    if (!this.#begun) await this.#begin();
    const coverageDue = this.#coverage.isDue;
    if (coverageDue || this.#deposits.unsettled > 0) await this.#readFinalized();
    // Transfers that no session accepted are offered again with every poll. Their history is explained, so no later
    // poll would return to them.
    await this.#deposits.intake.observe([]);
    await this.#lookAtOpen();
    await this.#sweep();
    await this.#checkEnded();
    await this.#accounts.readOverdue();
    this.#look += 1;
    const heights = { headNumber: this.#accounts.headSlot ?? 0, finalizedNumber: this.#finalized?.number ?? -1 };
    await this.#deposits.settle({ ...heights, look: this.#look, isReadToHead: true });
    await this.#countSmall();
    if (coverageDue) await this.#cover();
  }

  async #begin(): Promise<void> {
    const pending = await this.#deps.pendingDeposits();
    if (this.#options.isNewChain) {
      for (const { sessionId, facts, status } of pending) {
        if (status !== 'detected') continue;
        await this.#deps.deposits.revert(
          sessionId,
          { depositKey: facts.depositKey, reason: 'reorg', headNumber: 0 },
          facts.network,
        );
      }
    } else {
      this.#deposits.restore(pending, false);
      this.#sweptTo = (await this.#coverage.restore()) ?? this.#sweptTo;
    }
    await this.#accounts.begin();
    await this.#readFinalized();
    const nowMs = this.#deps.clock.nowMs();
    for (const tier of TIERS) {
      const left = this.#sweptTo[tier];
      this.#sweeps[tier].begin(
        left,
        must(this.#finalized).timeSec,
        nowMs - (left?.startedSec ?? 0) * 1000,
        this.#pace.nowMs(),
      );
    }
    this.#begun = true;
  }

  /** A lagging provider reports an older slot; finality never moves back. */
  async #readFinalized(): Promise<void> {
    const finalized = await this.#deps.chain.finalized();
    if (!this.#finalized || finalized.number > this.#finalized.number) this.#finalized = finalized;
    this.#accounts.finalizedSlot = this.#finalized.number;
  }

  async #lookAtOpen(): Promise<void> {
    const open = this.#deps.owners.open(toSec(this.#deps.clock.nowMs()), this.#scannedToSec);
    for (const watched of open.fresh) this.#finalChecks.set(watched.owner, watched);
    const waitingDue = this.#pace.nowMs() - this.#waitingAtMs >= this.#options.waitingIntervalMs;
    if (waitingDue || open.fresh.length > 0) {
      const tiers = waitingDue ? (['fresh', 'waiting'] as const) : (['fresh'] as const);
      const looked = await this.#accounts.look(tiers.flatMap((tier) => open[tier]));
      if (waitingDue) this.#waitingAtMs = this.#pace.nowMs();
      for (const tier of tiers)
        if (!open[tier].some(({ owner }) => looked.unexplained.has(owner))) this.#reached[tier] = looked;
    }
    // A tier without owners has been read as far as the other one.
    if (open.waiting.length === 0) this.#reached.waiting = this.#reached.fresh;
    else if (open.fresh.length === 0) this.#reached.fresh = this.#reached.waiting;
    const reached = this.#openReached();
    if (reached === null || reached.timeSec <= (this.#scannedToSec ?? -1)) return;
    this.#scannedToSec = reached.timeSec;
    this.#listeners.tell(must(this.scannedToSec()));
  }

  #openReached(): Reached | null {
    const { fresh, waiting } = this.#reached;
    return fresh === null || waiting === null || fresh.slot <= waiting.slot ? fresh : waiting;
  }

  /** Reads the ended sessions whose turn it is. After a failure the turns remain due. */
  async #sweep(): Promise<void> {
    const nowMs = this.#pace.nowMs();
    const turns = { recent: 0, old: 0 };
    const due = new Map(this.#unexplained);
    for (const tier of TIERS) turns[tier] = this.#takeTurns(tier, nowMs, due);
    const { timeSec } = this.#accounts;
    if (due.size > 0) {
      const { unexplained } = await this.#accounts.look([...due.values()]);
      for (const [owner, watched] of due) {
        if (unexplained.has(owner)) this.#unexplained.set(owner, watched);
        else this.#unexplained.delete(owner);
        if (this.#deps.owners.find(owner)?.endedAtSec !== null) this.#accounts.release(owner);
      }
    }
    if (timeSec === null) return;
    for (const tier of TIERS) if (turns[tier] > 0) this.#sweeps[tier].done(turns[tier], timeSec, nowMs);
    if (this.#unexplained.size === 0) this.#sweptTo = { recent: this.#sweeps.recent.mark, old: this.#sweeps.old.mark };
  }

  /** Takes whole turns, so that it is clear which owners were read. Returns their number. */
  #takeTurns(tier: EndedTier, nowMs: number, due: Map<string, WatchedOwner>): number {
    const sweep = this.#sweeps[tier];
    const nowSec = toSec(this.#deps.clock.nowMs());
    const most = sweep.due(nowMs);
    let taken = 0;
    for (let owners = 0; taken < most && owners < MAX_SWEEP; taken += 1) {
      for (const watched of this.#deps.owners.atTurn(tier, sweep.position + taken, nowSec)) {
        due.set(watched.owner, watched);
        owners += 1;
      }
    }
    return taken;
  }

  /** Reads each session's finalised history once after its deadline, whatever the balances say. */
  async #checkEnded(): Promise<void> {
    let checked = 0;
    for (const [owner, watched] of [...this.#finalChecks]) {
      if (checked >= MAX_FINAL_CHECKS) break;
      if (watched.expiresAtSec >= (this.#finalized?.timeSec ?? -1)) continue;
      checked += 1;
      const isChecked = await this.#isChecked(owner);
      this.#finalChecks.delete(owner);
      // One that cannot be read goes behind the others.
      if (!isChecked) this.#finalChecks.set(owner, watched);
    }
  }

  async #isChecked(owner: string): Promise<boolean> {
    try {
      await this.#accounts.readFinal(owner);
      return true;
    } catch (error) {
      if (error instanceof ChainUnavailable) return false;
      throw error;
    }
  }

  /** Reads the owner of a reverted deposit again with the next poll. */
  #lookAgain(owner: string | undefined): void {
    const watched = owner === undefined ? null : this.#deps.owners.find(owner);
    if (!watched) return;
    this.#accounts.forget(watched.owner);
    this.#unexplained.set(watched.owner, watched);
  }

  async #countSmall(): Promise<void> {
    const reached = this.#openReached();
    if (!this.#finalized || !reached || this.#pace.nowMs() - this.#countedAtMs < this.#options.countIntervalMs) return;
    this.#countedAtMs = this.#pace.nowMs();
    const { number } = this.#finalized;
    await this.#deposits.countSmall(Math.min(number, reached.slot), this.#accounts.headSlot ?? number);
  }

  async #cover(): Promise<void> {
    const reached = this.#openReached();
    if (!this.#finalized || !reached) return;
    await this.#coverage.write(this.#finalized, reached.slot, this.#sweptTo);
    this.#deposits.forgetBelow(this.#finalized.number - REMEMBERED_SLOTS);
  }
}
