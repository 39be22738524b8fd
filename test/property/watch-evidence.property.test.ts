import { setTimeout as sleep } from 'node:timers/promises';
import { keccak256, toUtf8Bytes } from 'ethers';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { RangeScanned } from '../../src/domain/events/operations-events.ts';
import type { ChainWatcher } from '../../src/features/deposits/chain/watch.process.ts';
import { AddressIndex } from '../../src/features/addresses/address-index.ts';
import { DepositBook, sessionId } from '../e2e/evm-watch-world.ts';
import { HONEST, ModelChain, ModelProvider, type Lies, type ModelTransfer } from '../support/lying-evm.ts';
import { modelWatcher } from '../support/model-watcher.ts';
import { runsOf } from '../support/runs.ts';

/*
 * The watcher over a chain in memory whose providers leave things out: whatever they do, no money goes that the chain
 * holds.
 */

const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const OURS = '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc';
const STRANGER = `0x${'88'.repeat(20)}`;

const lies = fc.record<Lies>({
  nullReceipts: fc.boolean(),
  nullBlockReceipts: fc.boolean(),
  withoutOurs: fc.boolean(),
  lagBlocks: fc.constantFrom(0, 0, 1, 3, 7),
});
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('mine' as const),
      ours: fc.nat({ max: 2 }),
      strangers: fc.nat({ max: 2 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('empty' as const), blocks: fc.integer({ min: 1, max: 6 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('reorg' as const),
      depth: fc.integer({ min: 1, max: 3 }),
      keep: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('lie' as const), provider: fc.nat({ max: 1 }), lies }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('heal' as const) }) },
  // With `wronged`, an earlier run has taken back what the chain holds.
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('restart' as const), wronged: fc.boolean() }) },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** Pauses pass with the ticks: each takes ten seconds. */
const TICK_MS = 10_000;

class World {
  readonly chain = new ModelChain(TOKEN);
  readonly book = new DepositBook();
  readonly ranges: RangeScanned['data'][] = [];
  readonly wrong: string[] = [];
  readonly #wronged = new Set<string>();
  readonly #providers: readonly ModelProvider[];
  readonly #addresses = new AddressIndex('evm');
  #watcher: ChainWatcher;
  #nowMs = 0;
  #ticks = 0;
  #made = 0;

  constructor(providers: number) {
    vi.spyOn(performance, 'now').mockImplementation(() => this.#nowMs);
    this.#providers = Array.from({ length: providers }, (_, index) => new ModelProvider(`p${index}`, this.chain, OURS));
    this.#addresses.add(OURS, sessionId('a'));
    const revert = this.book.revert.bind(this.book);
    this.book.revert = async (id, reverted) => {
      const { facts } = this.book.deposits.get(reverted.depositKey)!;
      if (this.chain.at(facts.blockNumber)?.hash === facts.blockHash)
        this.wrong.push(`${facts.depositKey} was reverted, and its block is there`);
      await revert(id, reverted);
    };
    this.#watcher = this.#newWatcher();
  }

  #newWatcher(): ChainWatcher {
    return modelWatcher({
      token: TOKEN,
      providers: this.#providers,
      addresses: this.#addresses,
      book: this.book,
      rule: { kind: 'finalized' },
      ranges: this.ranges,
      onRange: ({ toBlock }) => this.#checkCovered(toBlock),
      onTick: () => this.#tick(),
    });
  }

  #tick(): void {
    this.#ticks += 1;
    this.#nowMs += TICK_MS;
  }

  #checkCovered(toBlock: number): void {
    for (let number = 0; number <= toBlock; number += 1)
      for (const transfer of this.#oursIn(number))
        if (this.#statusOf(transfer) !== 'final' && !this.#wronged.has(transfer.txHash))
          this.wrong.push(`block ${number} counts as read, and ${transfer.txHash} is not recorded`);
  }

  #oursIn(number: number): readonly ModelTransfer[] {
    return this.chain.at(number)?.transfers.filter(({ to }) => to === OURS) ?? [];
  }

  /** By transaction: a move in its block gives it another log index, and so another key. */
  #statusOf({ txHash }: ModelTransfer): string | undefined {
    const all = [...this.book.deposits.values()].filter(({ facts }) => facts.txHash === txHash);
    return (all.find(({ status }) => status === 'final') ?? all[0])?.status;
  }

  #payments(count: number, to: string): ModelTransfer[] {
    return Array.from({ length: count }, () => {
      this.#made += 1;
      return { txHash: keccak256(toUtf8Bytes(`payment ${this.#made}`)), to, units: BigInt(this.#made) * 1_000_000n };
    });
  }

  async start(): Promise<void> {
    await this.#watcher.start();
  }

  async play(next: Step): Promise<void> {
    switch (next.kind) {
      case 'mine':
        this.chain.mine([...this.#payments(next.strangers, STRANGER), ...this.#payments(next.ours, OURS)]);
        break;
      case 'empty':
        for (let block = 0; block < next.blocks; block += 1) this.chain.mine([]);
        break;
      case 'reorg': {
        const dropped = this.chain.drop(next.depth);
        this.chain.mine([]);
        this.chain.mine(next.keep ? dropped : []);
        for (let block = 0; block < next.depth; block += 1) this.chain.mine([]);
        break;
      }
      case 'lie': {
        const of = next.provider % this.#providers.length;
        // Two that leave the same log out are believed; one never is.
        this.#providers[of]!.lies = { ...next.lies, withoutOurs: next.lies.withoutOurs && of === 0 };
        break;
      }
      case 'heal':
        this.#heal();
        break;
      case 'restart':
        await this.#watcher.stop();
        if (next.wronged) this.#wrong();
        this.#watcher = this.#newWatcher();
        await this.#watcher.start();
    }
    await this.ticks(3);
  }

  #wrong(): void {
    for (const deposit of this.book.deposits.values()) {
      if (deposit.status === 'final') this.#wronged.add(deposit.facts.txHash);
      deposit.status = 'reverted';
    }
  }

  #heal(): void {
    for (const provider of this.#providers) provider.lies = HONEST;
  }

  async ticks(count: number): Promise<void> {
    const until = this.#ticks + count;
    while (this.#ticks < until) await sleep(0);
  }

  /** Every provider is well again: within a bounded time the event log says what the chain says. */
  async conclude(): Promise<void> {
    this.#heal();
    for (let block = 0; block < 6; block += 1) this.chain.mine([]);
    await this.ticks(40);
    await this.#watcher.stop();
    for (let number = 0; number <= this.chain.finalized; number += 1)
      for (const transfer of this.#oursIn(number))
        if (this.#statusOf(transfer) !== 'final') this.wrong.push(`${transfer.txHash} never counted`);
    for (const { facts, status } of this.book.deposits.values())
      if (status === 'final' && !this.chain.blockOf(facts.txHash))
        this.wrong.push(`${facts.txHash} counts, and is in no block`);
    if ((this.ranges.at(-1)?.toBlock ?? -1) < this.chain.finalized)
      this.wrong.push('final blocks stay without evidence');
  }
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe('a chain whose providers leave things out', () => {
  it('never reverts money that it holds, counts no block as read whose payments are not recorded, and restores what was lost', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 4, maxLength: 14 }),
        fc.integer({ min: 1, max: 2 }),
        async (steps, providers) => {
          const world = new World(providers);
          await world.start();
          for (const next of steps) await world.play(next);
          await world.conclude();
          expect(world.wrong).toEqual([]);
        },
      ),
      { numRuns: runsOf(25) },
    );
  }, 120_000);
});
