import { setTimeout as sleep } from 'node:timers/promises';
import { keccak256, toUtf8Bytes } from 'ethers';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { amountOf, parseAmount } from '../../src/domain/money/money.ts';
import type { RangeScanned } from '../../src/domain/events/operations-events.ts';
import type { FinalityRule } from '../../src/domain/events/session-events.ts';
import type { ChainWatcher } from '../../src/features/deposits/chain/watch.process.ts';
import { AddressIndex } from '../../src/features/addresses/address-index.ts';
import { DepositBook, sessionId } from '../e2e/evm-watch-world.ts';
import { HONEST, ModelChain, ModelProvider, type Lies, type ModelTransfer } from '../support/lying-evm.ts';
import { bare, tronAddress, TronModelProvider, tronSettings } from '../support/lying-tron.ts';
import { localSettings } from '../support/anvil.ts';
import { addressFamilyOf, type NetworkSettings } from '../../src/domain/networks/networks.ts';
import type { RpcProvider } from '../../src/ports/chain/rpc-pool.ts';
import { modelWatcher } from '../support/model-watcher.ts';
import { runsOf } from '../support/runs.ts';

/*
 * One provider of two, or of three, makes up whatever it likes: transfers in blocks that the others have too, blocks of
 * its own, finality. The watcher reads both; what the honest chain does not hold as final never counts from the amount
 * on that wants a second source.
 */

const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const OURS = '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc';

/** How a network writes what the model's chain holds, and who serves it. */
interface Family {
  readonly settings: NetworkSettings;
  readonly ours: string;
  readonly nameOf: (hash: string) => string;
  readonly Provider: new (name: string, chain: ModelChain, ours: string) => RpcProvider & { lies: Lies };
}
const FAMILIES = {
  ethereum: { settings: localSettings(TOKEN), ours: OURS, nameOf: (hash) => hash, Provider: ModelProvider },
  tron: { settings: tronSettings(TOKEN), ours: tronAddress(OURS), nameOf: bare, Provider: TronModelProvider },
} as const satisfies Record<string, Family>;

const THRESHOLD = '100';
const TICK_MS = 10_000;
const CONFIRMATIONS = 3;

const amounts = fc.constantFrom(40n, 100n, 101n, 5_000n, 1_000_000n);
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('pay' as const), amount: amounts }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('forge' as const), amount: amounts }) },
  // The honest chain holds less under the same hash and place, as one order paid with a cent.
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('inflate' as const), amount: amounts }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('empty' as const), blocks: fc.integer({ min: 1, max: 6 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('own-blocks' as const),
      blocks: fc.integer({ min: 1, max: 8 }),
      amount: amounts,
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('reorg' as const), depth: fc.integer({ min: 1, max: 3 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('lie' as const),
      finalIsHead: fc.boolean(),
      withoutOurs: fc.boolean(),
      nullReceipts: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

interface Setting {
  readonly network: keyof typeof FAMILIES;
  readonly providers: number;
  readonly hostile: number;
  readonly rule: FinalityRule['kind'];
  readonly secondFrom: string | null;
}
const settingsOn = (network: keyof typeof FAMILIES) =>
  fc
    .record({
      providers: fc.integer({ min: 2, max: 3 }),
      rule: fc.constantFrom('finalized' as const, 'confirmations' as const),
    })
    .chain(({ providers, rule }) =>
      fc.record({
        network: fc.constant(network),
        providers: fc.constant(providers),
        hostile: fc.nat({ max: providers - 1 }),
        rule: fc.constant(rule),
        secondFrom: fc.constant(THRESHOLD),
      }),
    );

class HostileWorld {
  readonly honest = new ModelChain(TOKEN);
  readonly forged = new ModelChain(TOKEN);
  readonly book = new DepositBook();
  readonly wrong: string[] = [];
  readonly #ranges: RangeScanned['data'][] = [];
  readonly #addresses: AddressIndex;
  readonly #setting: Setting;
  readonly #family: Family;
  readonly #liar: RpcProvider & { lies: Lies };
  readonly #rule: FinalityRule;
  #providers: RpcProvider[];
  #watcher: ChainWatcher;
  #nowMs = 0;
  #ticks = 0;
  #made = 0;
  /** What counted wrongly since the last start of the watcher. */
  #onOneWord = 0n;
  readonly #believed = new Set<string>();

  constructor(chosen: Setting) {
    vi.spyOn(performance, 'now').mockImplementation(() => this.#nowMs);
    this.#setting = chosen;
    this.#family = FAMILIES[chosen.network];
    const { Provider, ours, settings } = this.#family;
    this.#rule =
      chosen.rule === 'finalized' ? { kind: 'finalized' } : { kind: 'confirmations', confirmations: CONFIRMATIONS };
    this.#liar = new Provider('liar', this.forged, OURS);
    this.#providers = Array.from({ length: chosen.providers }, (_, index) =>
      index === chosen.hostile ? this.#liar : new Provider(`honest-${index}`, this.honest, OURS),
    );
    this.#addresses = new AddressIndex(addressFamilyOf(settings.network));
    this.#addresses.add(ours, sessionId('a'));
    const confirm = this.book.confirm.bind(this.book);
    this.book.confirm = async (id, data) => {
      this.#judge(data.depositKey, data.blockNumber, data.blockHash);
      await confirm(id, data);
    };
    this.#watcher = this.#newWatcher();
  }

  /** The honest chain is asked at the moment at which the payment begins to count. */
  #judge(depositKey: string, blockNumber: number, blockHash: string): void {
    const { facts } = this.book.deposits.get(depositKey)!;
    const block = this.honest.at(blockNumber);
    const { nameOf } = this.#family;
    const transfer = block?.transfers.find(({ txHash }) => nameOf(txHash) === facts.txHash);
    const units = parseAmount(facts.amount)! / 10n ** 12n;
    const holds = block && nameOf(block.hash) === blockHash && transfer?.units === units && transfer.to === OURS;
    const deep =
      this.#rule.kind === 'finalized'
        ? this.honest.finalized >= blockNumber
        : this.honest.head - blockNumber + 1 >= CONFIRMATIONS;
    if (holds && deep) return;
    this.#onOneWord += amountOf(facts.amount);
    this.#believed.add(facts.txHash);
    // Small ones are believed alone, but not together what one large one would not be.
    if (this.#onOneWord >= amountOf(THRESHOLD))
      this.wrong.push(`${facts.amount} counted in ${blockNumber}: ${holds ? 'not final yet' : 'never there'}`);
  }

  #newWatcher(): ChainWatcher {
    const { secondFrom } = this.#setting;
    return modelWatcher({
      token: TOKEN,
      settings: this.#family.settings,
      providers: this.#providers,
      addresses: this.#addresses,
      book: this.book,
      rule: this.#rule,
      ranges: this.#ranges,
      onTick: () => this.#tick(),
      confirmWithSecond: (units) => secondFrom !== null && units >= amountOf(secondFrom),
    });
  }

  #tick(): void {
    this.#ticks += 1;
    this.#nowMs += TICK_MS;
  }

  #payment(amount: bigint): ModelTransfer {
    this.#made += 1;
    return { txHash: keccak256(toUtf8Bytes(`payment ${this.#made}`)), to: OURS, units: amount * 1_000_000n };
  }

  #mine(honest: readonly ModelTransfer[], forged: readonly ModelTransfer[], blocks = 1): void {
    this.honest.mine(honest);
    this.forged.mine(forged);
    for (let more = 1; more < blocks; more += 1) this.#mine([], []);
  }

  async play(next: Step): Promise<void> {
    switch (next.kind) {
      case 'pay': {
        const real = this.#payment(next.amount);
        this.#mine([real], [real]);
        break;
      }
      case 'forge':
        this.#mine([], [this.#payment(next.amount)], 6);
        break;
      case 'inflate': {
        const real = this.#payment(next.amount);
        this.#mine([{ ...real, units: 1n }], [real], 6);
        break;
      }
      case 'empty':
        this.#mine([], [], next.blocks);
        break;
      case 'own-blocks':
        this.forged.mine([this.#payment(next.amount)]);
        for (let block = 1; block < next.blocks; block += 1) this.forged.mine([]);
        break;
      case 'reorg':
        // The payer takes the payment back, and the liar goes on showing it.
        this.honest.drop(next.depth);
        for (let block = 0; block <= next.depth; block += 1) this.honest.mine([]);
        break;
      case 'lie':
        this.#liar.lies = {
          ...HONEST,
          finalIsHead: next.finalIsHead,
          withoutOurs: next.withoutOurs,
          nullReceipts: next.nullReceipts,
        };
        break;
      case 'restart':
        await this.#watcher.stop();
        this.#onOneWord = 0n;
        this.#watcher = this.#newWatcher();
        await this.#watcher.start();
    }
    await this.ticks(4);
  }

  start(): Promise<void> {
    return this.#watcher.start();
  }

  async ticks(count: number): Promise<void> {
    const until = this.#ticks + count;
    while (this.#ticks < until) await sleep(0);
  }

  /** The operator replaces the liar: everything that the honest chain holds counts in the end, nothing else does. */
  async conclude(): Promise<void> {
    await this.#watcher.stop();
    this.#providers = this.#providers.map((provider) =>
      provider === this.#liar ? new this.#family.Provider('new', this.honest, OURS) : provider,
    );
    this.#watcher = this.#newWatcher();
    await this.#watcher.start();
    // What was seen at a height of the liar's own is looked at again once that is final.
    for (let block = 0; block < 6 || this.honest.finalized < this.forged.head; block += 1) this.honest.mine([]);
    await this.ticks(60);
    await this.#watcher.stop();
    for (let number = 0; number <= this.honest.finalized; number += 1)
      for (const { txHash, units } of this.honest.at(number)!.transfers)
        if (!this.#believed.has(this.#family.nameOf(txHash)) && !this.#counts(txHash, units))
          this.wrong.push(`${txHash} of ${units} never counted`);
  }

  #counts(txHash: string, units: bigint): boolean {
    return [...this.book.deposits.values()].some(
      ({ status, facts }) =>
        status === 'final' &&
        facts.txHash === this.#family.nameOf(txHash) &&
        parseAmount(facts.amount)! / 10n ** 12n === units,
    );
  }
}

afterEach(() => {
  vi.restoreAllMocks();
});

async function wrongsOf(steps: readonly Step[], chosen: Setting): Promise<string[]> {
  const world = new HostileWorld(chosen);
  await world.start();
  for (const next of steps) await world.play(next);
  await world.conclude();
  return world.wrong;
}

describe.each(['ethereum', 'tron'] as const)('a provider of %s that invents data', (network) => {
  it('has nothing counted from the amount on that wants a second source', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), settingsOn(network), async (steps, chosen) => {
        expect(await wrongsOf(steps, chosen)).toEqual([]);
      }),
      { numRuns: runsOf(15) },
    );
  }, 120_000);

  const MILLION: Step = { kind: 'forge', amount: 1_000_000n };
  it.each([
    ['a transfer of a million in a final block', [MILLION]],
    ['many small transfers', Array.from({ length: 4 }, (): Step => ({ kind: 'forge', amount: 40n }))],
    ['another amount of a real transfer', [{ kind: 'inflate', amount: 1_000_000n }]],
    [
      'finality of a payment that is taken back',
      [
        { kind: 'lie', finalIsHead: true, withoutOurs: false, nullReceipts: false },
        { kind: 'pay', amount: 5_000n },
        { kind: 'reorg', depth: 2 },
      ],
    ],
  ] satisfies [string, Step[]][])(
    'can have %s counted if it is the only provider, so the search can find it',
    async (_, steps) => {
      const alone: Setting = { network, providers: 2, hostile: 0, rule: 'finalized', secondFrom: null };
      expect(await wrongsOf(steps, alone)).not.toEqual([]);
      expect(await wrongsOf(steps, { ...alone, secondFrom: THRESHOLD })).toEqual([]);
    },
  );
});
