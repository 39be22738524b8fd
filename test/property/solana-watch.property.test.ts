import fc from 'fast-check';
import { afterEach, expect, it, vi } from 'vitest';
import type { LedgerTransaction } from '../support/account-chain.ts';
import { runsOf } from '../support/runs.ts';
import { SolanaWorld } from '../support/solana-world.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

const OWNERS = ['open-1', 'open-2', 'ended-1', 'ended-2'];
const LIES = ['denied', 'hiddenFromHistory', 'notShownYet'] as const;

type Step =
  | { readonly kind: 'pay'; readonly owner: number; readonly units: number; readonly how: (typeof LIES)[number] | null }
  | { readonly kind: 'lie'; readonly about: number; readonly how: (typeof LIES)[number] }
  | { readonly kind: 'outage' | 'heal' | 'restart' }
  /** A fork loses, or moves, a payment that is not final. */
  | { readonly kind: 'fork'; readonly about: number; readonly isLost: boolean }
  | { readonly kind: 'wait'; readonly seconds: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('pay' as const),
      owner: fc.nat(3),
      units: fc.integer({ min: 1, max: 9 }),
      how: fc.option(fc.constantFrom(...LIES)),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('lie' as const), about: fc.nat(99), how: fc.constantFrom(...LIES) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom('outage' as const, 'heal' as const, 'restart' as const) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('fork' as const), about: fc.nat(99), isLost: fc.boolean() }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('wait' as const), seconds: fc.constantFrom(2, 40, 90) }) },
);

function heal({ chain }: SolanaWorld): void {
  chain.down = false;
  for (const lie of LIES) chain[lie].clear();
}

function fork({ chain }: SolanaWorld, about: LedgerTransaction | undefined, isLost: boolean): void {
  if (about === undefined || about.slot <= chain.finalizedSlot) return;
  if (isLost) chain.transactions = chain.transactions.filter((transaction) => transaction !== about);
  else about.slot = chain.slot += 1;
  chain.transactions.sort((one, other) => one.slot - other.slot);
}

async function play(world: SolanaWorld, next: Step, paid: LedgerTransaction[]): Promise<void> {
  const { chain } = world;
  switch (next.kind) {
    case 'pay':
      if (next.how !== null) chain[next.how].add(`tx-${paid.length}`);
      paid.push(chain.pay(OWNERS[next.owner]!, BigInt(next.units) * 1_000_000n, { txHash: `tx-${paid.length}` }));
      return;
    case 'lie':
      chain[next.how].add(`tx-${next.about % Math.max(1, paid.length)}`);
      return;
    case 'outage':
      chain.down = true;
      return;
    case 'heal':
      return heal(world);
    case 'restart':
      return world.restart();
    case 'fork':
      return fork(world, paid[next.about % Math.max(1, paid.length)], next.isLost);
    case 'wait':
      return world.run(next.seconds);
  }
}

it('with a provider that lies, fails and forks, no final deposit is lost, and in the end the event log holds exactly what the chain does', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 25 }), async (steps) => {
      const world = new SolanaWorld({ unexplainedAfterMs: 20_000 });
      vi.spyOn(performance, 'now').mockImplementation(() => 1e6 + world.nowMs);
      for (const owner of OWNERS) {
        if (owner.startsWith('open')) world.open(owner);
        else world.ended(owner, 3_600);
      }
      const paid: LedgerTransaction[] = [];
      await world.restart();
      for (const next of steps) await play(world, next, paid);
      heal(world);
      await world.run(1_200);
      await world.stop();
      expect(world.wronglyReverted).toEqual([]);
      for (const told of world.told.values())
        expect(told.indexOf('confirm') === -1 ? -1 : told.lastIndexOf('revert')).toBeLessThanOrEqual(
          told.indexOf('confirm'),
        );
      const held = [...world.deposits.values()]
        .filter(({ status }) => status === 'final')
        .map(({ facts }) => `${facts.txHash} ${facts.amount}`);
      expect(held.sort()).toEqual(
        world.chain.transactions.map(({ txHash, units }) => `${txHash} ${units / 1_000_000n}.00`).sort(),
      );
      expect([...world.deposits.values()].filter(({ status }) => status === 'detected')).toEqual([]);
    }),
    { numRuns: runsOf(15) },
  );
}, 300_000);
