import fc from 'fast-check';
import { expect, it } from 'vitest';
import { blocksOfChange } from '../../src/adapters/evm/balance-changes.ts';
import { RpcError, type RpcProvider } from '../../src/ports/chain/rpc-pool.ts';

/** Answers balances from `oldest` on. */
function nodeWith(balances: readonly bigint[], oldest: number): { provider: RpcProvider; asked: () => number } {
  let asked = 0;
  const call = async (method: string, params: readonly unknown[]): Promise<string> => {
    const block = Number(params[1]);
    asked += 1;
    if (method !== 'eth_getBalance' || balances[block] === undefined)
      throw new Error(`asked for ${method} of block ${block}`);
    if (block < oldest) throw new RpcError(-32_000, 'missing trie node');
    return `0x${balances[block].toString(16)}`;
  };
  return { provider: { call } as unknown as RpcProvider, asked: () => asked };
}

const histories = fc
  .array(fc.oneof({ weight: 8, arbitrary: fc.constant(0n) }, fc.bigInt({ min: 1n, max: 9n })), {
    minLength: 2,
    maxLength: 300,
  })
  .map((steps) => steps.map((_, at) => steps.slice(0, at + 1).reduce((sum, step) => sum + step, 5n)));

it('every block that changes the balance is found while money only arrives, with no more calls than there are blocks', () =>
  fc.assert(
    fc.asyncProperty(histories, fc.nat(), fc.nat(), async (balances, one, other) => {
      const [first, last] = [1 + (one % (balances.length - 1)), 1 + (other % (balances.length - 1))].toSorted(
        (a, b) => a - b,
      ) as [number, number];
      const { provider, asked } = nodeWith(balances, 0);
      const found = await blocksOfChange(provider, '0xtreasury', { fromBlock: first, toBlock: last });
      const range = balances.flatMap((_, block) => (block >= first && block <= last ? [block] : []));
      const changed = range.filter((block) => balances[block] !== balances[block - 1]);
      expect([changed, range]).toContainEqual(found);
      expect(asked()).toBeLessThanOrEqual(range.length);
      if (changed.length === 1 && range.length > 20) expect(found).toEqual(changed);
    }),
  ));

it('a provider that has forgotten old states has all blocks of the range read, never fewer', () =>
  fc.assert(
    fc.asyncProperty(histories, fc.nat(), async (balances, at) => {
      const oldest = 1 + (at % (balances.length - 1));
      const { provider } = nodeWith(balances, oldest);
      const found = await blocksOfChange(provider, '0xtreasury', { fromBlock: 1, toBlock: balances.length - 1 });
      expect(found).toEqual(Array.from({ length: balances.length - 1 }, (_, offset) => offset + 1));
    }),
  ));
