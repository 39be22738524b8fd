import type { DepositFacts } from '../../src/domain/events/session-events.ts';
import type { SessionId } from '../../src/domain/values/ids.ts';
import type { TokenAccount } from '../../src/ports/chain/account-chain.ts';
import { SolanaWatcher } from '../../src/features/deposits/solana/watch.process.ts';
import { WatchedOwners, type WatchedOwner } from '../../src/features/deposits/solana/owners.ts';
import type { WatchSolanaOptions } from '../../src/features/deposits/solana/types.ts';
import type { CoveredBlock, PendingDeposit } from '../../src/features/deposits/chain/types.ts';
import { ScriptedAccountChain } from './account-chain.ts';
import { keepingAll } from './watching.ts';

const POLL_MS = 1_000;

/** Watchers, one after the other, over one chain and one event log, in a time that passes as fast as they read. */
export class SolanaWorld {
  /** The chain begins at its slot 1,000, a second a slot. */
  static readonly START_SEC = 1_800_001_000;
  readonly chain = new ScriptedAccountChain();
  readonly given: WatchedOwner[] = [];
  /** When each owner's balance was looked at, in seconds. */
  readonly looks = new Map<string, number[]>();
  /** Calls that read balances, each of at most 99 accounts. */
  readings = 0;
  readonly shownAtSec = new Map<string, number>();
  /** The recorded deposits. */
  readonly deposits = new Map<string, PendingDeposit>();
  /** What was told of each deposit, oldest first. */
  readonly told = new Map<string, string[]>();
  /** Deposits that were reverted while the chain held them, in the very slot that the event log names. */
  readonly wronglyReverted: string[] = [];
  readonly #options: Partial<WatchSolanaOptions>;
  covered: CoveredBlock | null = null;
  booked: [string, bigint][] = [];
  #nowMs = 0;
  #untilMs = 0;
  #current: SolanaWatcher | null = null;

  constructor(options: Partial<WatchSolanaOptions>) {
    this.#options = options;
    const balances = this.chain.balances.bind(this.chain);
    this.chain.balances = async (accounts: readonly TokenAccount[]) => {
      const look = await balances(accounts);
      this.readings += Math.max(1, Math.ceil(accounts.length / 99));
      for (const { owner } of accounts) this.looks.set(owner, [...(this.looks.get(owner) ?? []), this.nowSec]);
      return look;
    };
    this.#moveChain();
  }

  get nowSec(): number {
    return this.#nowMs / 1000;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  open(name: string): string {
    const createdAtSec = SolanaWorld.START_SEC;
    this.given.push({
      owner: name,
      sessionId: `cs_${name}` as SessionId,
      createdAtSec,
      expiresAtSec: createdAtSec + 1_800,
      endedAtSec: null,
    });
    return name;
  }

  ended(name: string, agoSec: number): string {
    const endedAtSec = SolanaWorld.START_SEC - agoSec;
    this.given.push({
      owner: name,
      sessionId: `cs_${name}` as SessionId,
      createdAtSec: endedAtSec - 60,
      expiresAtSec: endedAtSec,
      endedAtSec,
    });
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
        deposits: keepingAll({
          record: async (sessionId, facts: DepositFacts) => {
            if (!this.shownAtSec.has(facts.txHash)) this.shownAtSec.set(facts.txHash, this.nowSec);
            this.#tell(facts.depositKey, 'record', {
              sessionId,
              facts,
              rule: { kind: 'finalized' },
              status: 'detected',
            });
          },
          confirm: async (_, { depositKey }) =>
            this.#tell(depositKey, 'confirm', { ...this.deposits.get(depositKey)!, status: 'final' }),
          move: async () => false,
          revert: async (_, { depositKey }) => {
            const { facts } = this.deposits.get(depositKey)!;
            if (
              this.chain.transactions.some(({ txHash, slot }) => txHash === facts.txHash && slot === facts.blockNumber)
            )
              this.wronglyReverted.push(depositKey);
            this.#tell(depositKey, 'revert', {
              ...this.deposits.get(depositKey)!,
              status: 'reverted',
              revertedForSec: 0,
            });
          },
        }),
        coverage: {
          lastCovered: async () => this.covered,
          record: async ({ toBlock, toBlockHash, toBlockTimeSec, sweeps }) =>
            void (this.covered = {
              block: toBlock,
              hash: toBlockHash,
              timeSec: toBlockTimeSec,
              ...(sweeps && { sweeps }),
            }),
        },
        clock: { nowMs: () => SolanaWorld.START_SEC * 1000 + this.#nowMs },
        finalityRuleOf: () => ({ kind: 'finalized' }),
        pendingDeposits: async () => [...this.deposits.values()],
        booked: async () => this.booked,
        pace: { nowMs: () => this.#nowMs, sleep: (ms, signal) => this.#sleep(ms, signal) },
      },
      { pollIntervalMs: POLL_MS, ...this.#options },
    );
    await this.#current.start();
  }

  async stop(): Promise<void> {
    await this.#current?.stop();
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

  #tell(depositKey: string, what: string, deposit: PendingDeposit): void {
    this.deposits.set(depositKey, deposit);
    this.told.set(depositKey, [...(this.told.get(depositKey) ?? []), what]);
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
