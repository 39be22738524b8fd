import { setImmediate as soon } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSolanaChain } from '../../src/adapters/solana/chain.ts';
import { amountOf, formatAmount, fromTokenUnits } from '../../src/domain/money/money.ts';
import type { CoveredBlock } from '../../src/features/deposits/chain/types.ts';
import { WatchedOwners } from '../../src/features/deposits/solana/owners.ts';
import { SolanaWatcher } from '../../src/features/deposits/solana/watch.process.ts';
import { DepositBook, sessionId } from '../e2e/evm-watch-world.ts';
import { ModelPool } from '../support/lying-evm.ts';
import { SOLANA_MODEL, SOLANA_OWNER, SolanaModelChain, SolanaModelProvider } from '../support/lying-solana.ts';
import { runsOf } from '../support/runs.ts';
import { hashOfSlot } from '../support/solana-node.ts';
import { keepingAll } from '../support/watching.ts';

/*
 * One provider of two, or of three, makes up whatever it likes about a Solana account; what the honest chain does not
 * hold as final does not count.
 */

const THRESHOLD = amountOf('100');
const POLL_MS = 1_000;

const amounts = fc.constantFrom(40n, 100n, 5_000n, 1_000_000n);
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('pay' as const), amount: amounts }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('forge' as const), amount: amounts }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('inflate' as const), amount: amounts }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('wait' as const), seconds: fc.constantFrom(2, 10, 40) }) },
  // The payer takes back what is not final, and the liar goes on showing it.
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom('fork' as const, 'own-blocks' as const, 'restart' as const) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('lie' as const), finalIsHead: fc.boolean(), withheld: fc.boolean() }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

interface Setting {
  readonly providers: number;
  readonly hostile: number;
  readonly isSecondWanted: boolean;
}
const setting = fc.integer({ min: 2, max: 3 }).chain((providers) =>
  fc.record({
    providers: fc.constant(providers),
    hostile: fc.nat({ max: providers - 1 }),
    isSecondWanted: fc.constant(true),
  }),
);

class HostileSolana {
  readonly honest = new SolanaModelChain();
  readonly forged = new SolanaModelChain();
  readonly book = new DepositBook();
  readonly wrong: string[] = [];
  readonly #liar = new SolanaModelProvider('liar', this.forged);
  readonly #isSecondWanted: boolean;
  #providers: SolanaModelProvider[];
  #watcher: SolanaWatcher | null = null;
  #covered: CoveredBlock | null = null;
  #nowMs = 0;
  #untilMs = 0;
  #made = 0;
  /** What counted wrongly since the last start of the watcher. */
  #onOneWord = 0n;
  readonly #believed = new Set<string>();

  constructor({ providers, hostile, isSecondWanted }: Setting) {
    this.#isSecondWanted = isSecondWanted;
    this.#providers = Array.from({ length: providers }, (_, index) =>
      index === hostile ? this.#liar : new SolanaModelProvider(`honest-${index}`, this.honest),
    );
    const confirm = this.book.confirm.bind(this.book);
    this.book.confirm = async (id, data) => {
      this.#judge(data.depositKey, data.blockNumber, data.blockHash);
      await confirm(id, data);
    };
  }

  #judge(depositKey: string, slot: number, hash: string): void {
    const { txHash, amount } = this.book.deposits.get(depositKey)!.facts;
    const held = this.honest.unitsOf(txHash);
    const { state } = this.honest;
    const holds = held?.slot === slot && amountText(held.units) === amount && hash === hashOfSlot(slot, state.fork);
    if (holds && state.finalizedSlot >= slot) return;
    this.#believed.add(txHash);
    this.#onOneWord += amountOf(amount);
    if (this.#onOneWord >= THRESHOLD)
      this.wrong.push(`${amount} counted in ${slot}: ${holds ? 'not final yet' : 'never there'}`);
  }

  async start(): Promise<void> {
    await this.#watcher?.stop();
    this.#onOneWord = 0n;
    const owners = new WatchedOwners('test');
    const createdAtSec = this.honest.nowSec;
    owners.add(
      {
        owner: SOLANA_OWNER,
        sessionId: sessionId('a'),
        createdAtSec,
        expiresAtSec: createdAtSec + 1e6,
        endedAtSec: null,
      },
      0,
    );
    const pool = new ModelPool(this.#providers);
    const confirmWithSecond = (units: bigint): boolean => this.#isSecondWanted && units >= THRESHOLD;
    this.#watcher = new SolanaWatcher(
      {
        chain: createSolanaChain({ settings: SOLANA_MODEL, pool, lagProbeMs: Infinity, confirmWithSecond }),
        owners,
        addresses: { sessionOf: (owner) => (owner === SOLANA_OWNER ? sessionId('a') : null) },
        deposits: keepingAll(this.book),
        coverage: {
          lastCovered: async () => this.#covered,
          record: async ({ toBlock, toBlockHash, toBlockTimeSec, sweeps }) =>
            void (this.#covered = {
              block: toBlock,
              hash: toBlockHash,
              timeSec: toBlockTimeSec,
              ...(sweeps && { sweeps }),
            }),
        },
        clock: { nowMs: () => this.honest.nowSec * 1000 },
        finalityRuleOf: () => ({ kind: 'finalized' }),
        pendingDeposits: async () =>
          [...this.book.deposits.values()].map(({ sessionId: id, facts, status }) => ({
            ...{ sessionId: id, facts, rule: { kind: 'finalized' } as const, status },
            ...(status === 'reverted' && { revertedForSec: 60 }),
          })),
        pace: { nowMs: () => this.#nowMs, sleep: (ms, signal) => this.#sleep(ms, signal) },
      },
      { pollIntervalMs: POLL_MS, unexplainedAfterMs: 20_000 },
    );
    await this.#watcher.start();
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    while (this.#nowMs >= this.#untilMs && !signal.aborted) await soon();
    if (signal.aborted) return;
    this.#nowMs += ms;
    for (const chain of [this.honest, this.forged]) chain.advance(Math.max(1, Math.floor(ms / 1000)));
  }

  async run(seconds: number): Promise<void> {
    this.#untilMs = this.#nowMs + seconds * 1000;
    while (this.#nowMs < this.#untilMs) await soon();
  }

  async play(next: Step): Promise<void> {
    this.#made += 1;
    const name = `payment-${this.#made}`;
    switch (next.kind) {
      case 'pay':
        for (const chain of [this.honest, this.forged]) chain.pay(name, next.amount * 1_000_000n);
        break;
      case 'forge':
        this.forged.pay(name, next.amount * 1_000_000n);
        break;
      case 'inflate':
        this.honest.pay(name, 1n);
        this.forged.pay(name, next.amount * 1_000_000n);
        break;
      case 'fork':
        this.honest.fork();
        break;
      case 'own-blocks':
        this.forged.state.fork = '1';
        break;
      case 'lie':
        this.#liar.lies = { finalIsHead: next.finalIsHead, withheld: next.withheld };
        break;
      case 'restart':
        await this.start();
        break;
      case 'wait':
        await this.run(next.seconds);
    }
    await this.run(2);
  }

  /** The operator replaces the liar: everything that the honest chain holds counts in the end. */
  async conclude(): Promise<void> {
    this.#providers = this.#providers.map((provider) =>
      provider === this.#liar ? new SolanaModelProvider('new', this.honest) : provider,
    );
    await this.start();
    await this.run(400);
    await this.#watcher!.stop();
    const counted = [...this.book.deposits.values()]
      .filter(({ status }) => status === 'final')
      .map(({ facts }) => `${facts.txHash} ${facts.amount}`);
    for (const txHash of this.honest.state.transactions.keys()) {
      const name = `${txHash} ${amountText(this.honest.unitsOf(txHash)!.units)}`;
      if (!this.#believed.has(txHash) && !counted.includes(name)) this.wrong.push(`${name} never counted`);
    }
  }
}

const amountText = (units: bigint): string => formatAmount(fromTokenUnits(units, 6));

async function wrongsOf(steps: readonly Step[], chosen: Setting): Promise<string[]> {
  const world = new HostileSolana(chosen);
  await world.start();
  for (const next of steps) await world.play(next);
  await world.conclude();
  return world.wrong;
}

describe('a provider of solana that invents data', () => {
  it('has nothing counted from the amount on that wants a second source', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), setting, async (steps, chosen) => {
        expect(await wrongsOf(steps, chosen)).toEqual([]);
      }),
      { numRuns: runsOf(15) },
    );
  }, 120_000);

  const WAIT: Step = { kind: 'wait', seconds: 40 };
  it.each([
    ['a transfer of a million', [{ kind: 'forge', amount: 1_000_000n }, WAIT]],
    ['many small transfers', [...Array.from({ length: 4 }, (): Step => ({ kind: 'forge', amount: 40n })), WAIT]],
    ['another amount of a real transfer', [{ kind: 'inflate', amount: 1_000_000n }, WAIT]],
    [
      'finality of a payment that is taken back',
      [{ kind: 'lie', finalIsHead: true, withheld: false }, { kind: 'pay', amount: 5_000n }, { kind: 'fork' }, WAIT],
    ],
  ] satisfies [string, Step[]][])(
    'can have %s counted if it is the only provider, so the search can find it',
    async (_, steps) => {
      const alone: Setting = { providers: 2, hostile: 0, isSecondWanted: false };
      expect(await wrongsOf(steps, alone)).not.toEqual([]);
      expect(await wrongsOf(steps, { ...alone, isSecondWanted: true })).toEqual([]);
    },
  );
});
