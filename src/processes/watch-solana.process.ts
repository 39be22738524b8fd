import { setTimeout as sleep } from 'node:timers/promises';
import { ChainUnavailable, WrongChain } from '../ports/chain.ts';
import type { Block } from '../ports/chain.ts';
import type { BalanceLook, TokenAccount } from '../ports/account-chain.ts';
import { toSec } from '../ports/clock.ts';
import { TrackedDeposits } from './watch-chain-deposits.ts';
import type { WatchStatus } from './watch-chain-types.ts';
import { AccountHistories } from './watch-solana-accounts.ts';
import type { AccountReading } from './watch-solana-accounts.ts';
import { SolanaCoverage } from './watch-solana-coverage.ts';
import type { WatchedOwner } from './watch-solana-owners.ts';
import type { NetworkWatcher, WatchSolanaDeps, WatchSolanaOptions } from './watch-solana-types.ts';

/** How far a tier of open sessions was read without a gap. */
interface Reached {
  readonly slot: number;
  readonly timeSec: number;
}

const LONGEST_PAUSE_MS = 15_000;
const STOP_GRACE_MS = 5_000;
/** Accounts whose histories are read at the same time. */
const CONCURRENCY = 8;
/** Owners of one sweep step at most, and final checks of one poll at most. */
const MAX_SWEEP = 500;
const MAX_FINAL_CHECKS = 20;
/** Settled deposits are forgotten this far below finality. */
const REMEMBERED_SLOTS = 256;
const OLD_INTERVAL_MS = 6 * 3600 * 1000;

/**
 * Watches the token accounts of deposit owners, a hundred a call: those of open sessions often, of ended ones ever less.
 * A balance that its known history does not explain is followed through the account's transactions, so nothing depends on
 * having been there at the right moment. Deposits are recorded when confirmed, confirmed when finalized, and reverted when
 * they vanish, by the same rules as on block-based chains.
 */
export class SolanaWatcher implements NetworkWatcher {
  readonly #deps: WatchSolanaDeps;
  readonly #options: Required<WatchSolanaOptions>;
  readonly #histories: AccountHistories;
  readonly #deposits: TrackedDeposits;
  readonly #coverage: SolanaCoverage;
  readonly #accounts = new Map<string, readonly TokenAccount[]>();
  readonly #listeners = new Set<(scannedToSec: number) => void>();
  readonly #stopping = new AbortController();
  readonly #reached: { fresh: Reached | null; waiting: Reached | null } = { fresh: null, waiting: null };
  /** Ended sessions whose finalized history is still to be read once. */
  readonly #finalChecks = new Map<string, WatchedOwner>();
  #running: Promise<void> = Promise.resolve();
  #finalized: Block | null = null;
  #headSlot: number | null = null;
  #scannedToSec: number | null = null;
  #waitingAtMs = -Infinity;
  readonly #sweptAtMs = { recent: performance.now(), old: performance.now() };
  /** When balances were first seen to differ from what is explained: a history must have come that far. */
  readonly #changed = new Map<string, { readonly slot: number; readonly atMs: number }>();
  /** Owners of ended sessions that could not be read, or whose balance no history explained yet: looked at with every poll. */
  readonly #unexplained = new Map<string, WatchedOwner>();
  #verified = false;
  #begun = false;
  #failures = 0;

  constructor(deps: WatchSolanaDeps, options: WatchSolanaOptions) {
    this.#deps = deps;
    this.#options = {
      waitingIntervalMs: 5 * options.pollIntervalMs,
      recentIntervalMs: 60_000,
      oldIntervalMs: OLD_INTERVAL_MS,
      coverageIntervalMs: 60_000,
      unexplainedAfterMs: 60_000,
      isNewChain: false,
      ...options,
    };
    this.#histories = new AccountHistories(deps.chain);
    this.#coverage = new SolanaCoverage(deps, this.#options.coverageIntervalMs);
    const observer = deps.observer ?? {};
    this.#deposits = new TrackedDeposits({
      ...deps,
      observer: {
        ...observer,
        onReverted: (reverted) => {
          this.#forget(deps.owners.ofSession(reverted.sessionId));
          observer.onReverted?.(reverted);
        },
      },
    });
  }

  /**
   * Resolves after the first attempt to read, whether or not the chain could be reached; reading goes on until `stop`.
   * Rejects with `WrongChain` and reads nothing when the providers serve another chain or other tokens.
   */
  async start(): Promise<void> {
    const first = this.#attempt();
    this.#running = first.then(() => undefined);
    const wrong = await first;
    if (wrong) throw wrong;
    this.#running = this.#loop();
  }

  /** Waits for the running poll, but not for providers that do not answer. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.race([this.#running, sleep(STOP_GRACE_MS, undefined, { ref: false })]);
  }

  /** Chain time up to which every transfer to an open session is known. Null before anything was read. */
  scannedToSec(): number | null {
    const parked = this.#deposits.oldestParked;
    return parked && this.#scannedToSec !== null ? Math.min(this.#scannedToSec, parked.timeSec - 1) : this.#scannedToSec;
  }

  /** Called whenever `scannedToSec` moved, until the returned function is called. */
  onScanned(listener: (scannedToSec: number) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  status(): WatchStatus {
    return {
      headBlock: this.#headSlot,
      scannedBlock: this.#openReached()?.slot ?? null,
      scannedToSec: this.scannedToSec(),
      finalizedBlock: this.#finalized?.number ?? null,
      coveredBlock: this.#coverage.coveredBlock,
      trackedDeposits: this.#deposits.unsettled,
      consecutiveFailures: this.#failures,
    };
  }

  /**
   * Reads the whole finalized history of an owner's accounts again and sends what is there; known transfers change nothing.
   * Rejects with `ChainUnavailable` when it cannot be read.
   */
  async recheck(owner: string): Promise<{ readonly transfers: number }> {
    let transfers = 0;
    for (const account of this.#accountsOf(owner)) {
      this.#histories.forget(account.account);
      transfers += await this.#readFinal(account);
    }
    return { transfers };
  }

  async #loop(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const { pollIntervalMs } = this.#options;
      const pauseMs = this.#failures === 0 ? pollIntervalMs : Math.min(LONGEST_PAUSE_MS, pollIntervalMs * 2 ** Math.min(this.#failures, 12));
      await sleep(pauseMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
      if (!this.#stopping.signal.aborted) await this.#attempt();
    }
  }

  /** One poll; trouble is reported and tried again later. Answers the one error that must end a start. */
  async #attempt(): Promise<WrongChain | null> {
    try {
      if (!this.#verified) await this.#deps.chain.verify();
      this.#verified = true;
      await this.#poll();
      this.#failures = 0;
      this.#deps.observer?.onTick?.(this.status());
      return null;
    } catch (error) {
      this.#failures += 1;
      this.#deps.observer?.onTrouble?.({ error, consecutiveFailures: this.#failures });
      return error instanceof WrongChain ? error : null;
    }
  }

  async #poll(): Promise<void> {
    await this.#deps.addressesComplete?.();
    if (!this.#begun) await this.#begin();
    const coverageDue = this.#coverage.isDue;
    if (coverageDue || this.#deposits.unsettled > 0) await this.#readFinalized();
    // What no session took is offered again with every poll: its history is explained, so no later look comes back to it.
    await this.#deposits.observe([]);
    await this.#lookAtOpen();
    await this.#sweep();
    await this.#checkEnded();
    await this.#deposits.settle({ headNumber: this.#headSlot ?? 0, finalizedNumber: this.#finalized?.number ?? -1, isReadToHead: true });
    if (coverageDue) await this.#cover();
  }

  async #begin(): Promise<void> {
    const pending = await this.#deps.pendingDeposits();
    if (this.#options.isNewChain) {
      for (const { sessionId, facts, status } of pending) {
        if (status !== 'detected') continue;
        await this.#deps.deposits.revert(sessionId, { depositKey: facts.depositKey, reason: 'reorg', headNumber: 0 }, facts.network);
      }
    } else {
      this.#deposits.restore(pending, false);
      await this.#coverage.restore();
    }
    await this.#readFinalized();
    this.#begun = true;
  }

  /** A provider that lags reports an older one; final stays final. */
  async #readFinalized(): Promise<void> {
    const finalized = await this.#deps.chain.finalized();
    if (!this.#finalized || finalized.number > this.#finalized.number) this.#finalized = finalized;
  }

  async #lookAtOpen(): Promise<void> {
    const open = this.#deps.owners.open(toSec(this.#deps.clock.nowMs()), this.#scannedToSec);
    for (const watched of open.fresh) this.#finalChecks.set(watched.owner, watched);
    const waitingDue = performance.now() - this.#waitingAtMs >= this.#options.waitingIntervalMs;
    this.#reached.fresh = (await this.#look(open.fresh)) ?? this.#reached.fresh;
    if (waitingDue) {
      this.#reached.waiting = (await this.#look(open.waiting)) ?? this.#reached.waiting;
      this.#waitingAtMs = performance.now();
    } else if (open.waiting.length === 0) {
      this.#reached.waiting = this.#reached.fresh;
    }
    const reached = this.#openReached();
    if (reached === null || reached.timeSec <= (this.#scannedToSec ?? -1)) return;
    this.#scannedToSec = reached.timeSec;
    for (const listener of this.#listeners) listener(this.scannedToSec()!);
  }

  #openReached(): Reached | null {
    const { fresh, waiting } = this.#reached;
    return fresh === null || waiting === null || fresh.slot <= waiting.slot ? fresh : waiting;
  }

  /** Null when a balance could not be explained: nothing is known then about how far it was read. */
  async #look(watched: readonly WatchedOwner[]): Promise<Reached | null> {
    const accounts = watched.flatMap(({ owner }) => this.#accountsOf(owner));
    const look = await this.#deps.chain.balances(accounts);
    this.#headSlot = Math.max(this.#headSlot ?? 0, look.slot);
    this.#coverage.saw(look.providers);
    const changed = accounts.flatMap((account, index) => {
      const units = look.units[index]!;
      if (units !== this.#histories.explainedUnits(account.account)) return [{ account, units }];
      this.#changed.delete(account.account);
      return [];
    });
    let explained = true;
    for (let at = 0; at < changed.length; at += CONCURRENCY) {
      const results = await Promise.all(changed.slice(at, at + CONCURRENCY).map(({ account, units }) => this.#follow(account, units, look)));
      explained &&= results.every(Boolean);
    }
    return explained ? look : null;
  }

  /** Reads what changed a balance. False while the history does not explain it yet. */
  async #follow(account: TokenAccount, units: bigint, look: BalanceLook): Promise<boolean> {
    const changed = this.#changed.get(account.account) ?? { slot: look.slot, atMs: performance.now() };
    this.#changed.set(account.account, changed);
    let reading: AccountReading;
    try {
      reading = await this.#histories.read(account, { commitment: 'confirmed', minSlot: changed.slot }, this.#finalized?.number ?? -1);
    } catch (error) {
      // The balance is newer than any history that can be had right now.
      if (error instanceof ChainUnavailable) return false;
      throw error;
    }
    await this.#take(reading);
    const isExplained = reading.isComplete && reading.explainedUnits === units;
    const isHopeless = reading.isComplete && performance.now() - changed.atMs > this.#options.unexplainedAfterMs;
    if (!isExplained && !isHopeless) return false;
    this.#changed.delete(account.account);
    if (isExplained) return true;
    this.#reportUnexplained(account, units, reading.explainedUnits);
    this.#histories.absorb(account.account, units);
    return true;
  }

  /** What was read is remembered only after every transfer was accepted by its session, or parked. */
  async #take(reading: AccountReading): Promise<void> {
    await this.#deposits.observe(reading.transfers);
    this.#coverage.found(reading.transfers.length);
    reading.accept();
  }

  #reportUnexplained({ owner, account }: TokenAccount, balanceUnits: bigint, explainedUnits: bigint): void {
    const sessionId = this.#deps.addresses.sessionOf(owner);
    if (sessionId !== null) this.#deps.observer?.onUnexplainedBalance?.({ sessionId, account, balanceUnits, explainedUnits });
  }

  /** Moves on through the ended sessions, so that each comes up once in its interval. */
  async #sweep(): Promise<void> {
    const next = [
      ...this.#unexplained.values(),
      ...this.#nextOf('recent', this.#options.recentIntervalMs),
      ...this.#nextOf('old', this.#options.oldIntervalMs),
    ];
    const due = [...new Map(next.map((watched) => [watched.owner, watched])).values()];
    if (due.length === 0) return;
    // Their turn is over: one that fails now comes up again with the next poll, not with the next turn.
    for (const watched of due) this.#unexplained.set(watched.owner, watched);
    const isExplained = (await this.#look(due)) !== null;
    for (const { owner } of due) {
      if (isExplained) this.#unexplained.delete(owner);
      this.#release(owner);
    }
  }

  #nextOf(tier: 'recent' | 'old', intervalMs: number): WatchedOwner[] {
    const { owners, clock } = this.#deps;
    const elapsedMs = performance.now() - this.#sweptAtMs[tier];
    const share = Math.min(MAX_SWEEP, Math.floor((owners.sizeOf(tier) * elapsedMs) / intervalMs));
    if (share === 0) return [];
    this.#sweptAtMs[tier] = performance.now();
    return owners.next(tier, share, toSec(clock.nowMs()));
  }

  /** Once after its deadline each session's finalized history is read, whatever the balances say. */
  async #checkEnded(): Promise<void> {
    let checked = 0;
    for (const [owner, watched] of this.#finalChecks) {
      if (checked >= MAX_FINAL_CHECKS) break;
      if (watched.expiresAtSec >= (this.#finalized?.timeSec ?? -1)) continue;
      checked += 1;
      if (await this.#isChecked(owner)) this.#finalChecks.delete(owner);
    }
  }

  async #isChecked(owner: string): Promise<boolean> {
    try {
      for (const account of this.#accountsOf(owner)) await this.#readFinal(account);
      return true;
    } catch (error) {
      if (error instanceof ChainUnavailable) return false;
      throw error;
    }
  }

  async #readFinal(account: TokenAccount): Promise<number> {
    const reading = await this.#histories.read(account, { commitment: 'finalized' }, this.#finalized?.number ?? -1);
    if (!reading.isComplete) throw new ChainUnavailable(`${account.account} lists a transaction that cannot be read yet`);
    await this.#take(reading);
    return reading.transfers.length;
  }

  async #cover(): Promise<void> {
    const reached = this.#openReached();
    if (!this.#finalized || !reached) return;
    await this.#coverage.write(this.#finalized, reached.slot);
    this.#deposits.forgetBelow(this.#finalized.number - REMEMBERED_SLOTS);
  }

  #accountsOf(owner: string): readonly TokenAccount[] {
    let accounts = this.#accounts.get(owner);
    if (!accounts) this.#accounts.set(owner, (accounts = this.#deps.chain.tokenAccountsOf(owner)));
    return accounts;
  }

  /** Derived accounts of ended sessions are not kept: they are many, and their turn comes rarely. */
  #release(owner: string): void {
    if (this.#deps.owners.find(owner)?.endedAtSec !== null) this.#accounts.delete(owner);
  }

  #forget(watched: WatchedOwner | null): void {
    if (watched) for (const { account } of this.#accountsOf(watched.owner)) this.#histories.forget(account);
  }
}
