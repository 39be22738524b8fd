import { ChainUnavailable, type Block, type ScanOptions, type ScanResult } from '../../../ports/chain/chain.ts';
import { toSec } from '../../../ports/clock.ts';
import { commonBlockBelow } from './common-block.ts';
import { CoverageLog } from './coverage.ts';
import { TrackedDeposits } from './deposits.ts';
import { FirstReadings } from './first-readings.ts';
import { KnownBlocks } from './known-blocks.ts';
import { ReadingChecks } from './reading-checks.ts';
import { ReadingPace } from './reading-pace.ts';
import { rescan, type RescanParts } from './rescan.ts';
import { findStart } from './start.ts';
import { Polling } from '../polling.ts';
import { Need } from '../need.ts';
import { IDLE, type Reorg, type RescanResult, type WatchChainDeps, type WatchChainOptions } from './types.ts';
import type { WatchStatus } from './types.ts';
import { Listeners } from '../../../runtime/util/listeners.ts';
import { must } from '../../../domain/values/must.ts';

/** From this many unread final blocks on, payments are confirmed and evidence is written during the read. */
const GAP_BLOCKS = 64;
/** Time limit of the second reading of final blocks per tick, so that new blocks never wait. */
const SECOND_READING_MS = 2_000;

/**
 * Watches one block-based chain in one mode with two cursors. `scanned` follows the head, so that payments show up
 * quickly. `covered` follows the chain's own finality and reads those blocks a second time, from another provider if
 * there is one, otherwise by another method. Only `covered` is durable (`RangeScanned`), so a restart rereads
 * everything that may still change and leaves no gap. Both advance only after sessions have accepted every transfer
 * passed, and `covered` only after those transfers are confirmed.
 */
export class ChainWatcher {
  readonly #deps: WatchChainDeps;
  readonly #options: Required<WatchChainOptions>;
  readonly #known = new KnownBlocks();
  readonly #deposits: TrackedDeposits;
  readonly #coverage: CoverageLog;
  readonly #firstReadings = new FirstReadings();
  readonly #checks: ReadingChecks;
  readonly #listeners = new Listeners<number>();
  readonly #polling: Polling;
  readonly #need: Need;
  readonly #createdSec: number;
  #scanned: Block | null = null;
  #covered: Block | null = null;
  readonly #pace = new ReadingPace();
  #finalized: Block | null = null;
  #head: Block | null = null;
  #headMoved = false;
  #look = 0;
  #coveredAtMs = -Infinity;

  constructor(deps: WatchChainDeps, options: WatchChainOptions) {
    this.#deps = deps;
    this.#options = {
      pollWhileWaitingMs: options.pollIntervalMs,
      pollAfterBlockMs: options.pollIntervalMs,
      sandbox: false,
      maxScanBlocks: 2_000,
      secondReadingMs: 15_000,
      coverageIntervalMs: 60_000,
      deepBlocks: 256,
      idle: IDLE,
      ...options,
    };
    this.#createdSec = toSec(deps.clock.nowMs());
    this.#deposits = new TrackedDeposits(deps);
    this.#checks = new ReadingChecks(deps, this.#known, this.#deposits);
    const { idle, coverageIntervalMs } = this.#options;
    this.#need = new Need({
      awaited: deps.awaited,
      unsettled: () => this.#deposits.unsettled,
      idle,
      nowMs: () => performance.now(),
    });
    this.#coverage = new CoverageLog(deps, () =>
      this.#need.isIdle && !this.#coverage.holdsTransfers ? idle.coverageIntervalMs : coverageIntervalMs,
    );
    this.#polling = new Polling({
      verify: () => deps.chain.verify(),
      poll: () => this.#tick(),
      status: () => this.status(),
      observer: deps.observer,
      awaited: deps.awaited,
      intervalMs: () => {
        if (this.#deposits.unsettled > 0) return this.#options.pollWhileWaitingMs;
        if (this.#need.isIdle) return idle.pollIntervalMs;
        return this.#headMoved ? this.#options.pollAfterBlockMs : options.pollIntervalMs;
      },
    });
  }

  /** Resolves after the first attempt to read. */
  start(): Promise<void> {
    return this.#polling.start();
  }

  async stop(): Promise<void> {
    await this.#polling.stop();
    await this.#coverage.write();
  }

  /**
   * Chain time up to which everything was read and accepted: every transfer in an earlier block is known. Blocks with
   * this very second may still follow. Null before anything was read.
   */
  scannedToSec(): number | null {
    if (!this.#scanned) return null;
    const parked = this.#deposits.intake.oldestParked;
    return parked ? Math.min(this.#scanned.timeSec, parked.timeSec - 1) : this.#scanned.timeSec;
  }

  /** Calls the listener whenever `scannedToSec` advances. Returns the function that unsubscribes. */
  readonly onScanned = this.#listeners.add;

  status(): WatchStatus {
    return {
      headBlock: this.#head?.number ?? null,
      scannedBlock: this.#scanned?.number ?? null,
      scannedToSec: this.scannedToSec(),
      finalizedBlock: this.#finalized?.number ?? null,
      coveredBlock: this.#covered?.number ?? null,
      trackedDeposits: this.#deposits.unsettled,
      consecutiveFailures: this.#polling.consecutiveFailures,
      readPace: this.#pace.ratio,
    };
  }

  /**
   * Reads any range again and sends its transfers; known ones change nothing. Does not move the cursors. Rejects with
   * `ChainUnavailable` when the range cannot be read.
   */
  rescan(fromBlock: number, toBlock: number): Promise<RescanResult> {
    const { chain, coverage } = this.#deps;
    const parts = {
      scan: (from: number, to: number, readBefore: readonly string[] = []) => this.#scan(from, to, { readBefore }),
      observe: (transfers: ScanResult['transfers']) => this.#deposits.intake.observe(transfers),
      oldestParked: () => this.#deposits.intake.oldestParked?.number ?? Infinity,
      isSound: async (from: number, result: ScanResult) =>
        this.#checks.isSameChain(result) && (await this.#checks.isComplete(from, result)),
      coveredBlock: this.#covered?.number ?? -1,
      maxScanBlocks: this.#options.maxScanBlocks,
      record: (range: Parameters<RescanParts['record']>[0]) =>
        coverage.recordAgain({ mode: chain.mode, network: chain.network, ...range }),
    };
    return rescan(parts, fromBlock, toBlock);
  }

  async #tick(): Promise<void> {
    this.#look += 1;
    const head = await this.#deps.chain.head();
    this.#headMoved = head.hash !== this.#head?.hash;
    this.#head = head;
    await this.#deps.addressesComplete?.();
    if (!this.#covered || !this.#scanned) await this.#begin();
    // With nothing to unsettle, the reading itself shows in time whether it follows.
    else if (this.#deposits.unsettled > 0 || head.number <= this.#scanned.number) await this.#mendFork(head);
    const { idle, secondReadingMs } = this.#options;
    const secondReadingDue =
      performance.now() - this.#coveredAtMs >= (this.#need.isIdle ? idle.secondReadingMs : secondReadingMs);
    if (secondReadingDue || (this.#headMoved && this.#deposits.unsettled > 0) || this.#isFarBehind(head))
      await this.#readFinalized();
    // Confirmations do not wait for new blocks.
    await this.#settle();
    if (must(this.#scanned).number < head.number) {
      await this.#readRecent(head);
      await this.#settle();
    }
    if (secondReadingDue) await this.#readFinal();
  }

  #settle(): Promise<void> {
    const { number: headNumber } = must(this.#head);
    const isReadToHead = must(this.#scanned).number >= headNumber;
    return this.#deposits.settle({
      look: this.#look,
      headNumber,
      finalizedNumber: this.#finalized?.number ?? -1,
      isReadToHead,
    });
  }

  #isFarBehind(head: Block): boolean {
    const gap = Math.max(head.number - this.#options.maxScanBlocks, (this.#finalized?.number ?? 0) - GAP_BLOCKS);
    return must(this.#scanned).number < gap;
  }

  async #begin(): Promise<void> {
    const { sandbox, deepBlocks } = this.#options;
    const start = await findStart(this.#deps, { sandbox, deepBlocks, nowSec: this.#createdSec });
    const pending = await this.#deps.pendingDeposits(start.kind === 'replaced' ? start.block.number + 1 : undefined);
    this.#deposits.restore(pending, sandbox);
    if (start.kind === 'replaced') {
      this.#deposits.suspectAbove(start.block.number, sandbox);
      const { depthBlocks } = start;
      if (!sandbox) this.#report({ commonBlock: start.block.number, depthBlocks, beyondFinality: true });
    }
    this.#finalized = await this.#deps.chain.finalized();
    if (start.kind === 'fresh') await this.#readFirst(start.block);
    this.#known.add(start.block);
    this.#covered = start.block;
    this.#moveTo(start.block);
  }

  /** The durable cursor must exist before any session that relies on it. */
  async #readFirst(block: Block): Promise<void> {
    const result = await this.#scan(block.number, block.number);
    await this.#deposits.intake.observe(result.transfers);
    await this.#coverage.add(block.number, result, result.transfers.length);
    await this.#coverage.write();
  }

  async #readFinalized(): Promise<void> {
    const finalized = await this.#deps.chain.finalized();
    // A lagging provider reports an older block; finality never moves back.
    if (finalized && finalized.number > (this.#finalized?.number ?? -1)) this.#finalized = finalized;
  }

  /** Compares the known hashes with the chain, newest first, and rewinds to the last common block. */
  async #mendFork(head: Block): Promise<void> {
    const scanned = must(this.#scanned);
    if (
      head.number === scanned.number + 1
        ? head.parentHash === scanned.hash
        : head.number === scanned.number && head.hash === scanned.hash
    )
      return;
    let isNewest = true;
    for (const known of this.#known.downFrom(Math.min(scanned.number, head.number))) {
      const block = known.number === head.number ? head : await this.#deps.chain.blockAt(known.number);
      // The provider lacks a block below its own head, so nothing is known at present.
      if (block === null) return;
      if (block.hash === known.hash) {
        // A shorter chain with the same blocks is a node that lags, or one that will produce the missing blocks again.
        if (!isNewest) await this.#rewindTo(known, head);
        return;
      }
      isNewest = false;
    }
    await this.#mendDeepFork(head);
  }

  /** None of the hashes in memory is on the chain: deposits settled long ago must be confirmed again too. */
  async #mendDeepFork(head: Block): Promise<void> {
    const common = await commonBlockBelow(
      this.#deps,
      Math.min(must(this.#covered).number, head.number),
      this.#options.deepBlocks,
    );
    if (!common) return;
    this.#deposits.restore(await this.#deps.pendingDeposits(common.number + 1), false);
    await this.#rewindTo(common, head);
  }

  async #rewindTo(fork: Block, head: Block): Promise<void> {
    const scanned = must(this.#scanned);
    // What was counted together is counted again from its first block on.
    const from = this.#deposits.togetherFrom(fork.number);
    const common = (from <= fork.number && (await this.#deps.chain.blockAt(Math.max(0, from - 1)))) || fork;
    const beyondFinality = common.number < must(this.#covered).number;
    // A running chain never gets shorter. Only a local node that was killed and came back with an older state does.
    const rewound = this.#options.sandbox && head.number < scanned.number;
    this.#known.dropAbove(common.number);
    this.#known.add(common);
    this.#firstReadings.dropAbove(common.number);
    this.#deposits.suspectAbove(common.number, rewound);
    this.#moveTo(common);
    if (beyondFinality) {
      this.#covered = common;
      this.#finalized = null;
      this.#coverage.truncate(common);
    }
    const depthBlocks = scanned.number - fork.number;
    if (!rewound) this.#report({ commonBlock: fork.number, depthBlocks, beyondFinality });
  }

  #report(reorg: Reorg): void {
    this.#deps.observer?.onReorg?.(reorg);
  }

  /** Follows the head. Stops early if the chain changes during the read; the next tick repairs that. */
  async #readRecent(head: Block): Promise<void> {
    while (must(this.#scanned).number < head.number && !this.#polling.isStopping) {
      const from = must(this.#scanned).number + 1;
      const to = Math.min(head.number, from + this.#options.maxScanBlocks - 1);
      const result = await this.#pace.measured(from, head.number, () => this.#scan(from, to, { head }));
      if (!(await this.#checks.follows(must(this.#scanned), result))) return this.#mendFork(head);
      await this.#deposits.intake.observe(result.transfers);
      this.#firstReadings.add(from, result.lastBlock.number, result.providers);
      for (const block of result.headers ?? [result.lastBlock]) this.#known.add(block);
      this.#moveTo(result.lastBlock);
      if (!this.#isFarBehind(head)) continue;
      await this.#settle();
      await this.#readFinal();
    }
  }

  /**
   * Reads newly final blocks a second time, oldest first, and moves the durable cursor over them. Never goes beyond the
   * first reading: newer blocks may pay an address that is not known here yet. Failures hold up nothing else.
   */
  async #readFinal(): Promise<void> {
    const end = Math.min(this.#finalized?.number ?? -1, must(this.#head).number, must(this.#scanned).number);
    const untilMs = performance.now() + SECOND_READING_MS;
    for (let goesOn = true; goesOn && must(this.#covered).number < end && !this.#polling.isStopping;) {
      const from = must(this.#covered).number + 1;
      const { to, providers } = this.#firstReadings.from(from);
      const limit = Math.min(end, to, this.#deposits.oldestUndecided - 1, from + this.#options.maxScanBlocks - 1);
      if (limit < from || performance.now() > untilMs) return;
      if (this.#need.isIdle && (await this.#coverAsRead(from, limit, providers))) continue;
      goesOn = await this.#coverSome(from, limit, providers).catch((error: unknown) => {
        if (!(error instanceof ChainUnavailable)) throw error;
        this.#deps.observer?.onAnomaly?.({ kind: 'unproven', fromBlock: from, error });
        return false;
      });
    }
    this.#coveredAtMs = performance.now();
  }

  /**
   * Moves the durable cursor over blocks that were read once and hold nothing of ours, as far as the chain still has
   * the block in which that reading ended. Nobody was expected to pay in them, so that a second reading is not worth
   * its requests. False if it takes one.
   */
  async #coverAsRead(from: number, limit: number, providers: readonly string[]): Promise<boolean> {
    if (providers.length === 0) return false;
    const last = this.#known.newestUpTo(limit);
    if (last === null || last.number < from || this.#deposits.oldestUncovered <= limit) return false;
    if (this.#deposits.missingIn(from, limit, new Set()).length > 0) return false;
    if ((await this.#deps.chain.blockAt(last.number))?.hash !== last.hash) return false;
    await this.#cover(from, { transfers: [], lastBlock: last, providers });
    return true;
  }

  /** False if something in the range holds the cursor back. */
  async #coverSome(from: number, limit: number, readBefore: readonly string[]): Promise<boolean> {
    const result = await this.#scan(from, limit, { readBefore });
    if (!this.#checks.isSameChain(result) || !(await this.#checks.isComplete(from, result))) return false;
    for (const depositKey of await this.#deposits.intake.observe(result.transfers))
      this.#deps.observer?.onAnomaly?.({ kind: 'found-late', depositKey });
    await this.#settle();
    await this.#deposits.countSmall(result.lastBlock.number, must(this.#head).number);
    if (this.#deposits.oldestUncovered <= result.lastBlock.number) return false;
    await this.#cover(from, result);
    return true;
  }

  async #cover(from: number, result: Pick<ScanResult, 'transfers' | 'lastBlock' | 'providers'>): Promise<void> {
    const { lastBlock } = result;
    this.#covered = lastBlock;
    this.#firstReadings.dropBelow(lastBlock.number + 1);
    this.#known.insert(lastBlock);
    this.#known.dropBelow(lastBlock.number - this.#options.deepBlocks);
    this.#deposits.forgetBelow(lastBlock.number - this.#options.deepBlocks);
    await this.#coverage.add(from, result, result.transfers.length);
  }

  #scan(from: number, to: number, options: Omit<ScanOptions, 'isIdle'> = {}): Promise<ScanResult> {
    return this.#deps.chain.scan(from, to, this.#deps.addresses.isOurs, { ...options, isIdle: this.#need.isIdle });
  }

  #moveTo(block: Block): void {
    this.#scanned = block;
    this.#listeners.tell(must(this.scannedToSec()));
  }
}
