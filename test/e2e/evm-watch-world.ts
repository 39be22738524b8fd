import { setTimeout as sleep } from 'node:timers/promises';
import { createEvmChain, type EvmChainOptions } from '../../src/adapters/evm/chain.ts';
import { createRpcPool, type RpcPoolOptions } from '../../src/adapters/rpc/pool.ts';
import type { RangeScanned } from '../../src/domain/events/operations-events.ts';
import type { DepositConfirmed, DepositFacts, FinalityRule } from '../../src/domain/events/session-events.ts';
import type { SessionId } from '../../src/domain/values/ids.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { ChainWatcher } from '../../src/features/deposits/chain/watch.process.ts';
import type {
  Anomaly,
  CoveredBlock,
  PendingDeposit,
  Reorg,
  RevertedDeposit,
  WatchChainOptions,
} from '../../src/features/deposits/chain/types.ts';
import { AddressIndex } from '../../src/features/addresses/address-index.ts';
import { Anvil, localSettings } from '../support/anvil.ts';
import { keepingAll } from '../support/watching.ts';

export const sessionId = (letter: string): SessionId => `cs_${letter.repeat(32)}` as SessionId;

/** What the sessions would know, by the rules of their decider: repeated commands add nothing. */
export class DepositBook {
  readonly log: string[] = [];
  readonly deposits = new Map<
    string,
    {
      sessionId: SessionId;
      facts: DepositFacts;
      status: 'detected' | 'final' | 'reverted';
      confirmed: DepositConfirmed['data'] | null;
    }
  >();
  readonly reverts: (RevertedDeposit & { afterFinal: boolean })[] = [];
  /** Thrown by `record`, once for every use. */
  failures: Error[] = [];
  commands = 0;

  async record(id: SessionId, facts: DepositFacts): Promise<void> {
    this.commands += 1;
    const failure = this.failures.shift();
    if (failure) throw failure;
    const known = this.deposits.get(facts.depositKey);
    if (known && known.status !== 'reverted') return;
    this.deposits.set(facts.depositKey, { sessionId: id, facts, status: 'detected', confirmed: null });
    this.log.push(`detected ${facts.amount} in ${facts.blockNumber}`);
  }

  async confirm(_id: SessionId, data: DepositConfirmed['data']): Promise<void> {
    this.commands += 1;
    const known = this.deposits.get(data.depositKey);
    if (known?.status !== 'detected') return;
    const { blockNumber, blockHash, blockTimeSec } = data;
    Object.assign(known, {
      status: 'final',
      confirmed: data,
      facts: { ...known.facts, blockNumber, blockHash, blockTimeSec },
    });
    this.log.push(`confirmed ${known.facts.amount} in ${data.blockNumber}`);
  }

  /** Only a session that knows its deadline does anything with it. */
  async move(): Promise<boolean> {
    this.commands += 1;
    return false;
  }

  async revert(_id: SessionId, revert: RevertedDeposit): Promise<void> {
    this.commands += 1;
    const known = this.deposits.get(revert.depositKey);
    if (!known || known.status === 'reverted') return;
    const afterFinal = known.status === 'final';
    known.status = 'reverted';
    this.reverts.push({ ...revert, afterFinal });
    this.log.push(`reverted ${known.facts.amount}${afterFinal ? ' after final' : ''}`);
  }
}

export interface WorldOptions {
  readonly rule?: FinalityRule;
  readonly urls?: readonly string[];
  readonly watch?: Partial<WatchChainOptions>;
  readonly pool?: Partial<RpcPoolOptions>;
  readonly chain?: Partial<EvmChainOptions>;
}

const coveredBy = (range: RangeScanned['data'] | undefined): CoveredBlock | null =>
  range ? { block: range.toBlock, hash: range.toBlockHash, timeSec: range.toBlockTimeSec } : null;

/** A watcher over real anvil, and everything it reports to. `restart` gives a new watcher what the event log would. */
export class WatchWorld {
  readonly anvil: Anvil;
  readonly token: string;
  readonly book = new DepositBook();
  readonly addresses = new AddressIndex('evm');
  readonly ranges: RangeScanned['data'][] = [];
  readonly rescans: RangeScanned['data'][] = [];
  readonly reorgs: Reorg[] = [];
  readonly anomalies: Anomaly[] = [];
  readonly troubles: unknown[] = [];
  readonly ours: string;
  /** Reverts lie too far back to be looked at. */
  forgetsReverted = false;
  rule: FinalityRule;
  watcher: ChainWatcher;
  #options: WorldOptions;
  #closeChain: () => Promise<void> = async () => undefined;

  private constructor(anvil: Anvil, token: string, options: WorldOptions) {
    this.anvil = anvil;
    this.token = token;
    this.#options = options;
    this.rule = options.rule ?? { kind: 'confirmations', confirmations: 3 };
    this.ours = anvil.account(5);
    this.addresses.add(this.ours, sessionId('a'));
    this.watcher = this.#createWatcher();
  }

  /** `slotsInAnEpoch` 50 keeps `finalized` a hundred blocks behind, out of the way. */
  static async create(
    options: WorldOptions & { readonly slotsInAnEpoch?: number; readonly pruned?: boolean } = {},
  ): Promise<WatchWorld> {
    const anvil = await Anvil.start({ slotsInAnEpoch: options.slotsInAnEpoch ?? 50, pruned: options.pruned ?? false });
    try {
      return new WatchWorld(anvil, await anvil.deployToken(6), options);
    } catch (error) {
      await anvil.stop();
      throw error;
    }
  }

  #createWatcher(): ChainWatcher {
    const pool = createRpcPool({
      network: 'ethereum',
      urls: this.#options.urls ?? [this.anvil.url],
      maxWaitMs: 500,
      ...this.#options.pool,
    });
    const chain = createEvmChain({ settings: localSettings(this.token), pool, ...this.#options.chain });
    this.#closeChain = () => chain.close();
    return new ChainWatcher(
      {
        chain,
        addresses: this.addresses,
        deposits: keepingAll(this.book),
        clock: systemClock,
        coverage: {
          lastCovered: async () => this.lastCovered(),
          recordAgain: async (range) => void this.rescans.push(range),
          coveredBelow: async (block) => coveredBy(this.ranges.findLast(({ toBlock }) => toBlock < block)),
          record: async (range) => void this.ranges.push(range),
        },
        finalityRuleOf: () => this.rule,
        pendingDeposits: async (finalFrom) => this.pending(finalFrom),
        observer: {
          onReorg: (reorg) => this.reorgs.push(reorg),
          onAnomaly: (anomaly) => this.anomalies.push(anomaly),
          onTrouble: ({ error }) => this.troubles.push(error),
        },
      },
      { pollIntervalMs: 20, secondReadingMs: 0, coverageIntervalMs: 0, ...this.#options.watch },
    );
  }

  lastCovered(): CoveredBlock | null {
    return coveredBy(this.ranges.at(-1));
  }

  pending(finalFrom = (this.lastCovered()?.block ?? 0) - 63): PendingDeposit[] {
    return [...this.book.deposits.values()].flatMap(({ sessionId: id, facts, status }) =>
      (status === 'final' ? facts.blockNumber >= finalFrom : status === 'detected' || !this.forgetsReverted)
        ? [{ sessionId: id, facts, rule: this.rule, status, ...(status === 'reverted' && { revertedForSec: 60 }) }]
        : [],
    );
  }

  /** A new process: nothing is left but what the event log has. */
  async restart(options: Partial<WorldOptions> = {}): Promise<void> {
    await this.watcher.stop();
    await this.#closeChain();
    this.#options = { ...this.#options, ...options };
    this.watcher = this.#createWatcher();
    await this.watcher.start();
  }

  /** Resolves when the watcher has read the node's head and settled what it could. */
  async caughtUp(): Promise<void> {
    await this.until(async () => this.watcher.status().scannedBlock === (await this.anvil.head()));
    await this.ticks(2);
  }

  /** Waits for a number of whole polls. */
  async ticks(count: number): Promise<void> {
    await sleep(count * 60);
  }

  async until(condition: () => boolean | Promise<boolean>, withinMs = 15_000): Promise<void> {
    for (let waited = 0; waited < withinMs; waited += 25) {
      if (await condition()) return;
      await sleep(25);
    }
    throw new Error(
      `the condition did not come true: ${condition.toString()}; log: ${this.book.log.join(', ')}; last trouble: ${String(this.troubles.at(-1))}`,
    );
  }

  async close(): Promise<void> {
    await this.watcher.stop();
    await this.#closeChain();
    await this.anvil.stop();
  }
}
