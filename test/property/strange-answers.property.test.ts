import { id } from 'ethers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createEvmChain } from '../../src/adapters/evm/chain.ts';
import { adviceOf } from '../../src/adapters/evm/limit-hints.ts';
import { EvmOutgoing } from '../../src/adapters/evm/outgoing.ts';
import { meaningOf, rpcErrorOf } from '../../src/adapters/rpc/dialects.ts';
import { createProviderHealth } from '../../src/adapters/rpc/provider-health.ts';
import { createSolanaChain } from '../../src/adapters/solana/chain.ts';
import { createTronChain } from '../../src/adapters/tron/chain.ts';
import { ChainUnavailable, type Chain, type Transfer } from '../../src/ports/chain/chain.ts';
import type { FaultKind, RpcProvider } from '../../src/ports/chain/rpc-pool.ts';
import { NOTHING_RESERVED } from '../../src/ports/outgoing/transaction.ts';
import { answeringProvider } from '../support/answering-provider.ts';
import { localSettings } from '../support/anvil.ts';
import { ModelChain, ModelPool, ModelProvider } from '../support/lying-evm.ts';
import { SOLANA_MODEL, SOLANA_OWNER, SolanaModelChain, SolanaModelProvider } from '../support/lying-solana.ts';
import { tronAddress, TronModelProvider, tronSettings } from '../support/lying-tron.ts';
import { outgoing } from '../support/outgoing.ts';
import { runsOf } from '../support/runs.ts';
import { saidInstead, strange, StrangeProvider, type Strange } from '../support/strange-answers.ts';

/*
 * Providers that say what nobody has heard yet: no range is given up, no transfer is lost, nobody is banned for good,
 * and nothing is signed on what is not known.
 */

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

describe('a payout, with a provider in strange words', () => {
  const order = outgoing({
    ...{ kind: 'refund', id: 're_a-1', network: 'ethereum', coin: 'USDT', amount: '5.00' },
    ...{ fromAddress: OURS, toAddress: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' },
  });
  const word = (value: bigint): string => `0x${value.toString(16).padStart(64, '0')}`;
  const header = {
    ...{ number: '0x10', hash: word(1n), parentHash: word(2n), timestamp: '0x1', baseFeePerGas: '0x7' },
  };
  const selector = (name: string): string => id(name).slice(0, 10);
  const frozen = ({ data }: { data: string }, address: string): boolean =>
    data.startsWith(selector('isBlackListed(address)')) && data.endsWith(address.slice(2).toLowerCase());

  /** What the token says of the payout; `ready`: it may be paid. */
  const STATES = {
    ready: () => false,
    paused: ({ data }: { data: string }) => data.startsWith(selector('paused()')),
    'payee frozen': (call: { data: string }) => frozen(call, order.toAddress),
    'treasury frozen': (call: { data: string }) => frozen(call, order.fromAddress),
  } as const;
  const honestly = (state: keyof typeof STATES) =>
    answeringProvider({
      ...{ eth_chainId: '0x7a69', eth_getBlockByNumber: header, eth_getLogs: [], eth_getTransactionCount: '0x5' },
      ...{ eth_getBalance: '0xde0b6b3a7640000', eth_estimateGas: '0xd9cb', eth_maxPriorityFeePerGas: '0x1' },
      eth_call: (call: { data: string }) => {
        if (call.data.startsWith(selector('decimals()'))) return word(6n);
        if (call.data.startsWith(selector('balanceOf(address)'))) return word(10n ** 9n);
        return word(STATES[state](call) ? 1n : 0n);
      },
    });
  const over = (provider: RpcProvider): EvmOutgoing =>
    new EvmOutgoing({
      ...{ settings: localSettings(TOKEN), pool: new ModelPool([provider]), depth: 12, bumpAfterMs: 1 },
      ...{ maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 12n, fallbackTip: 10n ** 9n },
    });
  const verdictOf = (ask: Promise<unknown>): Promise<unknown> =>
    ask.catch((error: unknown) => {
      expect(error).toBeInstanceOf(ChainUnavailable);
      return 'unavailable';
    });

  it('is checked and drawn up by what is known, or not at all', async () => {
    const states = Object.keys(STATES) as (keyof typeof STATES)[];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...states), strange, fc.nat({ max: 24 }), async (state, said, at) => {
        const sound = honestly(state);
        let calls = 0;
        const provider: RpcProvider = {
          ...sound,
          call: (method, params) => {
            const ask = (): Promise<unknown> => sound.call(method, params);
            if (calls++ !== at) return ask();
            // The tip is a wish, and a contract that refuses, or a sender without money, is an answer.
            const meaning = said.kind === 'refusal' ? meaningOf({ family: 'evm', method, ...said }) : 'unknown';
            const isAnswer = method === 'eth_maxPriorityFeePerGas' || ['reverted', 'no-funds'].includes(meaning);
            return isAnswer ? ask() : saidInstead(said, 'evm', method, ask);
          },
        };
        const [honest, payouts] = [over(sound), over(provider)];
        const check = await verdictOf(payouts.check(order, NOTHING_RESERVED));
        if (check !== 'unavailable') expect(check).toEqual(await honest.check(order, NOTHING_RESERVED));
        const draft = await verdictOf(payouts.draft(order, 5));
        if (draft !== 'unavailable') expect(draft).toEqual(await honest.draft(order, 5));
      }),
      { numRuns: runsOf(200) },
    );
  });
});
