import { afterEach, describe, expect, it } from 'vitest';
import type { DepositFacts } from '../../src/domain/events/session-events.ts';
import type { SessionId } from '../../src/domain/ids.ts';
import type { TokenAccount } from '../../src/ports/account-chain.ts';
import { SolanaWatcher } from '../../src/processes/watch-solana.process.ts';
import { WatchedOwners } from '../../src/processes/watch-solana-owners.ts';
import type { WatchedOwner } from '../../src/processes/watch-solana-owners.ts';
import type { WatchSolanaOptions } from '../../src/processes/watch-solana-types.ts';
import type { CoveredBlock } from '../../src/processes/watch-chain-types.ts';
import { ScriptedAccountChain } from '../support/account-chain.ts';

/** The chain begins at its slot 1,000, a second a slot. */
const NOW_SEC = 1_800_001_000;
const POLL_MS = 1_000;
const DAY_SEC = 86_400;

const running: SolanaWatcher[] = [];
afterEach(async () => {
  for (const watcher of running.splice(0)) await watcher.stop();
});

/** Watchers, one after the other, over one chain and one ledger, in a time that passes as fast as they read. */
class World {
  readonly chain = new ScriptedAccountChain();
  readonly given: WatchedOwner[] = [];
  /** When each owner's balance was looked at, in seconds. */
  readonly looks = new Map<string, number[]>();
  readonly shownAtSec = new Map<string, number>();
  readonly #options: Partial<WatchSolanaOptions>;
  covered: CoveredBlock | null = null;
  booked: [string, bigint][] = [];
  #nowMs = 0;
  #untilMs = 0;
  #current: SolanaWatcher | null = null;

  constructor(options: Partial<WatchSolanaOptions> = {}) {
    this.#options = options;
    const balances = this.chain.balances.bind(this.chain);
    this.chain.balances = async (accounts: readonly TokenAccount[]) => {
      const look = await balances(accounts);
      for (const { owner } of accounts) this.looks.set(owner, [...(this.looks.get(owner) ?? []), this.nowSec]);
      return look;
    };
    this.#moveChain();
  }

  get nowSec(): number {
    return this.#nowMs / 1000;
  }

  ended(name: string, agoSec: number): string {
    const endedAtSec = NOW_SEC - agoSec;
    this.given.push({ owner: name, sessionId: `cs_${name}` as SessionId, createdAtSec: endedAtSec - 60, expiresAtSec: endedAtSec, endedAtSec });
    return name;
  }

  /** What a kill leaves of a watcher is nothing. */
  async restart(): Promise<void> {
    await this.#current?.stop();
    const owners = new WatchedOwners('test');
    for (const watched of this.given) owners.add(watched, this.covered?.timeSec ?? 0);
    this.#current = new SolanaWatcher(
      {
        chain: this.chain,
        owners,
        addresses: { sessionOf: (owner) => (owners.find(owner) ? (`cs_${owner}` as SessionId) : null) },
        deposits: {
          record: async (_, facts: DepositFacts) => {
            if (!this.shownAtSec.has(facts.txHash)) this.shownAtSec.set(facts.txHash, this.nowSec);
          },
          confirm: async () => undefined,
          revert: async () => undefined,
        },
        coverage: {
          lastCovered: async () => this.covered,
          record: async ({ toBlock, toBlockHash, toBlockTimeSec, sweeps }) =>
            void (this.covered = { block: toBlock, hash: toBlockHash, timeSec: toBlockTimeSec, ...(sweeps && { sweeps }) }),
        },
        clock: { nowMs: () => NOW_SEC * 1000 + this.#nowMs },
        finalityRuleOf: () => ({ kind: 'finalized' }),
        pendingDeposits: async () => [],
        booked: async () => this.booked,
        pace: { nowMs: () => this.#nowMs, sleep: (ms, signal) => this.#sleep(ms, signal) },
      },
      { pollIntervalMs: POLL_MS, ...this.#options },
    );
    running.push(this.#current);
    await this.#current.start();
  }

  async run(seconds: number): Promise<void> {
    this.#untilMs = this.#nowMs + seconds * 1000;
    while (this.#nowMs < this.#untilMs) await new Promise(setImmediate);
  }

  /** The longest time that the owner was not looked at, from the first second to now. */
  longestGapSec(owner: string): number {
    const times = [0, ...(this.looks.get(owner) ?? []), this.nowSec];
    return Math.max(...times.slice(1).map((time, index) => time - times[index]!));
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    while (this.#nowMs >= this.#untilMs && !signal.aborted) await new Promise(setImmediate);
    if (signal.aborted) return;
    this.#nowMs += ms;
    this.#moveChain();
  }

  /** A slot a second. */
  #moveChain(): void {
    this.chain.slot = Math.max(this.chain.slot, this.chain.transactions.at(-1)?.slot ?? 0) + 1;
    this.chain.slot = Math.max(this.chain.slot, 1_000 + Math.floor(this.nowSec));
    this.chain.finalizedSlot = this.chain.slot - 32;
  }
}

const many = (world: World, count: number, agoSec: number, name: string): string[] =>
  Array.from({ length: count }, (_, index) => world.ended(`${name}-${index}`, agoSec));

describe('the time until a transfer to an ended session is shown', { timeout: 60_000 }, () => {
  it('is a minute for those of the last day, and an interval for older ones, while all is well', async () => {
    const world = new World({ oldIntervalMs: 600_000 });
    const recent = many(world, 1_500, 3_600, 'recent');
    const old = many(world, 2_000, 9 * DAY_SEC, 'old');
    world.covered = { block: 900, hash: 'hash-900', timeSec: NOW_SEC - 60 };
    await world.restart();
    await world.run(1_900);
    for (const owner of recent) expect(world.longestGapSec(owner)).toBeLessThanOrEqual(62);
    for (const owner of old) expect(world.longestGapSec(owner)).toBeLessThanOrEqual(602);
    for (const owner of old) expect(world.looks.get(owner)!.length).toBeLessThanOrEqual(4);
  });

  it.each([7, 45, 130])('holds although the service is killed every %i seconds', async (everySec) => {
    const world = new World({ oldIntervalMs: 600_000 });
    const recent = many(world, 800, 3_600, 'recent');
    const old = many(world, 1_200, 9 * DAY_SEC, 'old');
    world.covered = { block: 900, hash: 'hash-900', timeSec: NOW_SEC - 60 };
    for (let passedSec = 0; passedSec < 1_900; passedSec += everySec) {
      await world.restart();
      await world.run(everySec);
    }
    for (const owner of recent) expect(world.longestGapSec(owner)).toBeLessThanOrEqual(62);
    for (const owner of old) expect(world.longestGapSec(owner)).toBeLessThanOrEqual(602 + everySec + 40);
  });

  it('is seconds after an outage for those of the last day, whatever their number', async () => {
    const world = new World();
    const recent = many(world, 4_000, 3_600, 'recent');
    await world.restart();
    await world.run(120);
    world.chain.down = true;
    await world.run(3_600);
    const paid = recent.filter((_, index) => index % 400 === 0).map((owner) => world.chain.pay(owner, 1_000_000n).txHash);
    await world.restart();
    world.chain.down = false;
    await world.restart();
    const startedSec = world.nowSec;
    await world.run(20);
    for (const txHash of paid) expect(world.shownAtSec.get(txHash)! - startedSec).toBeLessThanOrEqual(4_000 / 500 + 2);
  });

  it('is no longer for the others when one balance cannot be explained', async () => {
    const world = new World({ unexplainedAfterMs: 1e9 });
    const recent = many(world, 1_000, 3_600, 'recent');
    world.chain.unexplained.set('recent-5', 7n);
    await world.restart();
    await world.run(300);
    const looks = (owner: string): number => world.looks.get(owner)!.length;
    expect(looks('recent-5')).toBeGreaterThan(250);
    for (const owner of recent) if (owner !== 'recent-5') expect(looks(owner)).toBeLessThanOrEqual(7);
    expect(world.covered!.sweeps!.recent!.previousSec).toBeNull();
  });

  it('is not spent on the histories of those who were paid before and are not swept', async () => {
    const world = new World();
    const paid = many(world, 2_000, 3_600, 'paid');
    for (const owner of paid) world.chain.pay(owner, 5_000_000n);
    world.booked = paid.map((owner) => [`ata-${owner}`, 5_000_000n]);
    world.chain.finalizedSlot = world.chain.slot;
    const late = world.chain.pay('paid-1999', 1_000_000n);
    world.chain.calls.length = 0;
    await world.restart();
    await world.run(10);
    expect(world.shownAtSec.get(late.txHash)).toBeLessThanOrEqual(6);
    expect(world.chain.calls.filter((call) => call.startsWith('history')).length).toBeLessThan(60);
    await world.run(600);
    const read = new Set(world.chain.calls.filter((call) => call.startsWith('history')).map((call) => call.split(' ')[1]));
    expect(read.size).toBe(2_000);
  });

  it('ends for a transfer that the history left out, once it lists it, however long that took', async () => {
    const world = new World({ unexplainedAfterMs: 60_000 });
    world.ended('a', 3_600);
    await world.restart();
    await world.run(5);
    const { txHash } = world.chain.pay('a', 3_000_000n);
    world.chain.hiddenFromHistory.add(txHash);
    await world.run(600);
    expect(world.shownAtSec.size).toBe(0);
    world.chain.hiddenFromHistory.clear();
    await world.run(1_200);
    expect(world.shownAtSec.has(txHash)).toBe(true);
  });
});
