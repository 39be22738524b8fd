import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AddressHistory } from '../../src/ports/chain/address-safety.ts';
import type { Chain, Transfer } from '../../src/ports/chain/chain.ts';

/** A real local chain and hands that move it. */
export interface ChainBench {
  readonly chain: Chain & AddressHistory;
  /** Two addresses in the network's own form, and a test for both that accepts any form the adapter may use. */
  readonly ours: readonly [string, string];
  readonly isOurs: (address: string) => boolean;
  /** A stranger, and an address that nobody ever used. */
  readonly other: string;
  readonly unused: string;
  readonly payer: string;
  /** Pays token units in a block of its own; answers the transaction. */
  pay(to: string, tokenUnits: bigint): Promise<string>;
  mine(blocks: number): Promise<void>;
  close(): Promise<void>;
}

/** What every block-based chain adapter promises. */
export function describeChain(name: string, open: () => Promise<ChainBench>): void {
  describe(`${name} as a chain`, () => {
    let bench: ChainBench;
    beforeAll(async () => {
      bench = await open();
    });
    afterAll(() => bench.close());

    const scanAll = async (from: number, to: number): Promise<Transfer[]> => {
      const transfers: Transfer[] = [];
      for (let next = from; next <= to;) {
        const result = await bench.chain.scan(next, to, bench.isOurs);
        expect(result.lastBlock.number).toBeGreaterThanOrEqual(next);
        expect(result.lastBlock.number).toBeLessThanOrEqual(to);
        expect(result.providers).not.toEqual([]);
        transfers.push(...result.transfers);
        next = result.lastBlock.number + 1;
      }
      return transfers;
    };

    test('accepts its own network', async () => {
      await bench.chain.verify();
    });

    test('links its blocks by parent hash, with times that never fall', async () => {
      await bench.mine(3);
      const head = await bench.chain.head();
      const parent = (await bench.chain.blockAt(head.number - 1))!;
      expect(head.parentHash).toBe(parent.hash);
      expect(parent.timeSec).toBeLessThanOrEqual(head.timeSec);
      expect(await bench.chain.blockAt(head.number)).toEqual(head);
      expect(await bench.chain.blockAt(head.number + 1_000)).toBeNull();
    });

    test('has a final block at or below its head', async () => {
      const [finalized, head] = [(await bench.chain.finalized())!, await bench.chain.head()];
      expect(finalized.number).toBeLessThanOrEqual(head.number);
      expect(await bench.chain.blockAt(finalized.number)).toEqual(finalized);
    });

    test('finds the transfers to us, in chain order, and no others', async () => {
      const from = (await bench.chain.head()).number + 1;
      const first = await bench.pay(bench.ours[0], 1_234_567n);
      await bench.pay(bench.other, 5n);
      const second = await bench.pay(bench.ours[1], 1n);
      await bench.mine(2);
      const transfers = await scanAll(from, (await bench.chain.head()).number);
      expect(
        transfers.map(({ txHash, toAddress, tokenUnits, fromAddress }) => ({
          txHash,
          toAddress,
          tokenUnits,
          fromAddress,
        })),
      ).toEqual([
        { txHash: first, toAddress: bench.ours[0], tokenUnits: 1_234_567n, fromAddress: bench.payer },
        { txHash: second, toAddress: bench.ours[1], tokenUnits: 1n, fromAddress: bench.payer },
      ]);
      for (const { block, tokenAddress } of transfers) {
        expect(await bench.chain.blockAt(block.number)).toEqual(block);
        expect(bench.chain.settings.tokens.map(({ address }) => address)).toContain(tokenAddress);
      }
    });

    test('reads a single transfer as the scan did', async () => {
      const from = (await bench.chain.head()).number + 1;
      await bench.pay(bench.ours[0], 42n);
      const [transfer] = await scanAll(from, (await bench.chain.head()).number);
      expect(await bench.chain.transferAt(transfer!.txHash, transfer!.logIndex)).toEqual(transfer);
      expect(await bench.chain.transferAt(transfer!.txHash, transfer!.logIndex + 7)).toBeNull();
      expect(await bench.chain.transferAt(transfer!.txHash.replace(/.{8}$/, '00000000'), 0)).toBeNull();
    });

    test('tells which addresses were ever used', async () => {
      await bench.pay(bench.ours[1], 1n);
      expect(await bench.chain.usedAmong([bench.unused, bench.ours[1]])).toEqual(new Set([bench.ours[1]]));
      expect(await bench.chain.usedAmong([bench.unused])).toEqual(new Set());
      expect(await bench.chain.usedAmong([])).toEqual(new Set());
    });

    test('gives the same answer for the same range again', async () => {
      const { number } = await bench.chain.head();
      expect(await scanAll(Math.max(0, number - 20), number)).toEqual(await scanAll(Math.max(0, number - 20), number));
    });

    test('can be asked for its very first block', async () => {
      expect((await bench.chain.scan(0, 0, bench.isOurs)).lastBlock.number).toBe(0);
    });
  });
}
