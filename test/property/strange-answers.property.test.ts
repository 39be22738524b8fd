import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createEvmChain } from '../../src/adapters/evm/chain.ts';
import { adviceOf } from '../../src/adapters/evm/limit-hints.ts';
import { meaningOf, rpcErrorOf } from '../../src/adapters/rpc/dialects.ts';
import { createProviderHealth } from '../../src/adapters/rpc/provider-health.ts';
import { createSolanaChain } from '../../src/adapters/solana/chain.ts';
import { createTronChain } from '../../src/adapters/tron/chain.ts';
import { ChainUnavailable, type Chain, type Transfer } from '../../src/ports/chain/chain.ts';
import type { FaultKind, RpcProvider } from '../../src/ports/chain/rpc-pool.ts';
import { localSettings } from '../support/anvil.ts';
import { ModelChain, ModelPool, ModelProvider } from '../support/lying-evm.ts';
import { SOLANA_MODEL, SOLANA_OWNER, SolanaModelChain, SolanaModelProvider } from '../support/lying-solana.ts';
import { tronAddress, TronModelProvider, tronSettings } from '../support/lying-tron.ts';
import { runsOf } from '../support/runs.ts';
import { strange, StrangeProvider, type Strange } from '../support/strange-answers.ts';
import { withoutPauses } from '../support/without-pauses.ts';

/*
 * Providers that say what nobody has heard yet: no range is given up, no transfer is lost, and nobody is banned for
 * good.
 */

withoutPauses();

const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const OURS = '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc';
const HEAD = 24;
/** More attempts than strange answers: each failed attempt uses one up. */
const ATTEMPTS = 60;

const scriptOf = (maxLength: number) => fc.array(fc.option(strange, { freq: 2 }), { maxLength });
const script = scriptOf(30);
const paidBlocks = fc.uniqueArray(fc.integer({ min: 1, max: HEAD }), { maxLength: 6 });

const FAMILIES = {
  ethereum: (scripts: readonly (readonly (Strange | null)[])[], model: ModelChain): Chain =>
    createEvmChain({
      settings: localSettings(TOKEN),
      lagProbeMs: Infinity,
      initialBlocks: 16,
      pool: poolOf(scripts, 'evm', (name) => new ModelProvider(name, model, OURS)),
    }),
  tron: (scripts: readonly (readonly (Strange | null)[])[], model: ModelChain): Chain =>
    createTronChain({
      settings: tronSettings(TOKEN),
      lagProbeMs: Infinity,
      pool: poolOf(scripts, 'tron', (name) => new TronModelProvider(name, model, OURS)),
    }),
};

const poolOf = (
  scripts: readonly (readonly (Strange | null)[])[],
  family: 'evm' | 'tron' | 'solana',
  honest: (name: string) => RpcProvider,
): ModelPool => new ModelPool(scripts.map((said, at) => new StrangeProvider(honest(`p${at}`), family, said)));

/** Until it answers; a provider's fault is a reason to ask again, whatever it said. */
async function insistent<Value>(ask: () => Promise<Value>): Promise<Value> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ChainUnavailable) || attempt === ATTEMPTS) throw error;
    }
  }
}

const namesOf = (transfers: readonly Transfer[]): string[] =>
  transfers.map(({ txHash }) => (txHash.startsWith('0x') ? txHash : `0x${txHash}`)).toSorted();

describe.each(Object.keys(FAMILIES) as (keyof typeof FAMILIES)[])(
  '%s, read from providers in strange words',
  (name) => {
    const ours = name === 'tron' ? tronAddress(OURS) : OURS;

    it.each([false, true])('loses no transfer and gives up no range (second reading: %s)', async (again) => {
      await fc.assert(
        fc.asyncProperty(fc.array(script, { minLength: 1, maxLength: 2 }), paidBlocks, async (scripts, paid) => {
          const model = new ModelChain(TOKEN);
          for (let number = 1; number <= HEAD; number += 1)
            model.mine(
              paid.includes(number) ? [{ txHash: `0x${String(number).padStart(64, 'a')}`, to: OURS, units: 5n }] : [],
            );
          const chain = FAMILIES[name](scripts, model);
          await insistent(() => chain.verify().catch(ofAnotherChain));
          const found: Transfer[] = [];
          for (let next = 0; next <= HEAD;) {
            const readBefore = again ? ['p0'] : [];
            const part = await insistent(() =>
              chain.scan(next, HEAD, (address) => address.toLowerCase() === ours.toLowerCase(), { readBefore }),
            );
            found.push(...part.transfers);
            expect(part.lastBlock.number).toBeGreaterThanOrEqual(next);
            next = part.lastBlock.number + 1;
          }
          expect(namesOf(found)).toEqual(paid.map((number) => `0x${String(number).padStart(64, 'a')}`).toSorted());
        }),
        { numRuns: runsOf(80) },
      );
    });
  },
);

/** A wrong chain is only ever told by what it says; nothing that is no answer may come to that. */
function ofAnotherChain(error: unknown): never {
  expect(error).toBeInstanceOf(ChainUnavailable);
  throw error;
}

describe('solana, read from providers in strange words', () => {
  it('loses no transfer', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(script, { minLength: 1, maxLength: 2 }), fc.nat({ max: 4 }), async (scripts, count) => {
        const model = new SolanaModelChain();
        for (let made = 0; made < count; made += 1) {
          model.pay(`signature${made}`, BigInt(made + 1));
          model.advance(3);
        }
        model.advance(100);
        const pool = poolOf(scripts, 'solana', (name) => new SolanaModelProvider(name, model));
        const chain = createSolanaChain({ settings: SOLANA_MODEL, pool });
        const [account] = chain.tokenAccountsOf(SOLANA_OWNER);
        const history = await insistent(() => chain.history(account!.account, { commitment: 'finalized' }));
        const deltas: bigint[] = [];
        for (const { txHash } of history) {
          // Null: ask again.
          const effect = await insistent(async () => {
            const seen = await chain.effectOf(txHash, account!);
            if (seen === null) throw new ChainUnavailable('not shown yet');
            return seen;
          });
          deltas.push(effect.unitsDelta);
        }
        expect(deltas.toReversed()).toEqual(Array.from({ length: count }, (_, at) => BigInt(at + 1)));
        const look = await insistent(() => chain.balances([account!]));
        expect(look.units).toEqual([BigInt((count * (count + 1)) / 2)]);
      }),
      { numRuns: runsOf(80) },
    );
  });
});

describe('a refusal in unknown words', () => {
  it('of a range of logs is met by a smaller range, never by giving it up', () => {
    fc.assert(
      fc.property(strange, fc.integer({ min: 1, max: 100_000 }), (said, blocks) => {
        fc.pre(said.kind === 'refusal');
        const asked = { family: 'evm' as const, method: 'eth_getLogs', code: said.code, text: said.text };
        fc.pre(meaningOf(asked) === 'unknown' && blocks > 1);
        const advice = adviceOf(rpcErrorOf(asked), 1_000, 1_000 + blocks - 1);
        expect(advice.kind).not.toBe('refused');
        if (advice.kind === 'at-most') expect(advice.blocks).toBeLessThan(blocks);
        if (advice.kind === 'up-to') expect(advice.toBlock).toBeLessThan(1_000 + blocks - 1);
      }),
      { numRuns: runsOf(500) },
    );
  });
});

describe('a provider, whatever it said how often', () => {
  const KINDS = [
    ...['unreachable', 'rate-limited', 'quota-used', 'unknown', 'too-large', 'behind', 'incapable', 'inconsistent'],
    'wrong-chain',
  ] as const satisfies readonly FaultKind[];

  it('is asked again within ten minutes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ kind: fc.constantFrom(...KINDS), afterMs: fc.nat(100_000), wish: fc.option(fc.nat()) })),
        (faults) => {
          const health = createProviderHealth();
          let nowMs = 0;
          for (const { kind, afterMs, wish } of faults) {
            nowMs += afterMs;
            health.failed(kind, nowMs, wish ?? undefined);
          }
          expect(health.waitMs(nowMs)).toBeLessThanOrEqual(600_000);
        },
      ),
      { numRuns: runsOf(500) },
    );
  });
});
