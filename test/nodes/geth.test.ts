import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { createEvmChain } from '../../src/adapters/evm/chain.ts';
import { keptTransactions } from '../../src/adapters/evm/kept-transactions.ts';
import { createRpcPool } from '../../src/adapters/rpc/pool.ts';
import { AddressIndex } from '../../src/features/addresses/address-index.ts';
import { NOTHING_RESERVED } from '../../src/ports/outgoing/transaction.ts';
import { describeChain } from '../contract/chain.contract.ts';
import { DEPTH, describePayouts, PAYEE, PayoutBench } from '../contract/payouts-evm.contract.ts';
import { sessionId } from '../e2e/evm-watch-world.ts';
import type { TokenChain } from '../support/tokens.ts';
import { startGethChain, type GethNode, type GethOptions } from './geth-node.ts';

const OURS = ['0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc', '0x976EA74026E726554dB657fA54763abd0C3a0aa9'] as const;

const chainOver = ({ settings, url }: TokenChain) =>
  createEvmChain({ settings, pool: createRpcPool({ network: 'ethereum', urls: [url], maxWaitMs: 0 }) });

describeChain('geth', async () => {
  const node = await startGethChain();
  const chain = chainOver(node);
  const index = new AddressIndex('evm');
  for (const address of OURS) index.add(address, sessionId('a'));
  return {
    ...{ chain, ours: OURS, isOurs: index.isOurs, payer: node.owner },
    ...{ other: PAYEE, unused: '0x00000000000000000000000000000000000Fa11e' },
    pay: async (to, units) => {
      const txHash = await node.send('USDT', 'transfer', [to, units]);
      await node.mine();
      return txHash;
    },
    mine: (blocks) => node.mine(blocks),
    close: async () => {
      await chain.close();
      await node.close();
    },
  };
});

describePayouts('geth', () => startGethChain());

describe('a payout on geth', () => {
  let bench: PayoutBench;
  let node: GethNode;
  const begin = async (options: GethOptions): Promise<void> => {
    const chain = await startGethChain(options);
    bench = await PayoutBench.on(chain);
    ({ node } = chain);
  };
  afterEach(() => bench?.close());

  test('goes on while finality is further behind than the node keeps state', async () => {
    await begin({ finalLag: 1_000 });
    const { chain, payouts, order, treasury } = bench;
    await chain.mine(140);
    await expect(chain.rpc('eth_getTransactionCount', [treasury, 'finalized'])).rejects.toThrow(/is not available/);
    expect(await payouts.check(order, NOTHING_RESERVED)).toEqual({ kind: 'ready' });
    const draft = await payouts.draft(order, 0);
    const payout = await bench.signed(draft);
    expect(await bench.fateOf(payout)).toBe('absent');
    await payouts.broadcast(payout);
    expect(await bench.fateOf(payout)).toBe('pending');
    expect(await payouts.bump(draft)).not.toBeNull();
    await chain.mine(DEPTH);
    expect(await payouts.fate(order, [payout])).toMatchObject({ kind: 'landed', final: false });
  });

  test('and its deposit are found in their blocks once the node has forgotten their hashes', async () => {
    await begin({ finalLag: 20, flags: ['--history.transactions', '40'] });
    const { chain, payouts, order, wallet, view } = bench;
    const toAddress = wallet.collectionAddress('evm', 0);
    const deposit = await chain.send('USDT', 'transfer', [toAddress, 20_000_000n]);
    await chain.mine();
    const place = await receiptOf(chain, deposit);
    const payout = await bench.signed(await payouts.draft(order, 0));
    await payouts.broadcast(payout);
    await chain.mine(DEPTH);
    const landed = await bench.landedOf(payout);
    await chain.mine(60);
    // It still remembers what it was asked for.
    await node.restart();
    expect(await receiptOf(chain, payout.txHash)).toBeNull();
    expect(await receiptOf(chain, deposit)).toBeNull();
    expect(await payouts.hasVanished(landed)).toMatchObject({ vanished: false, withheld: false, final: true });
    const blockNumber = Number(place!.blockNumber);
    expect(await payouts.holds([{ txHash: deposit, blockNumber }])).toBe(true);
    const logIndex = Number(place!.logs[0]!.logIndex);
    const proof = { depositKey: `ethereum:${deposit}:${logIndex}`, txHash: deposit, logIndex, toAddress, blockNumber };
    expect(await view.findDeposit({ ...proof, derivationIndex: 0 })).toMatchObject({ final: true });
    // As one that landed while nobody looked: it is found by its transfer.
    expect(await payouts.fate(order, [{ ...payout, signedAtSec: 1 }])).toMatchObject({ kind: 'landed', final: true });
    const pool = createRpcPool({ network: 'ethereum', urls: [chain.url] });
    onTestFinished(() => pool.close());
    const { value: kept } = await pool.run(keptTransactions);
    expect(kept).toEqual({ byHashSec: expect.any(Number), servesOlderBlocks: true });
    // A block a second; stretches without a transaction count as known.
    expect(kept.byHashSec).toBeGreaterThan(30);
  });

  test('waits for what the node has lost with its newest blocks, and for finality that it does not know any more', async () => {
    await begin({ finalLag: 4 });
    const { chain, payouts } = bench;
    const deposit = await chain.send('USDT', 'transfer', [OURS[0], 20_000_000n]);
    await chain.mine(DEPTH);
    expect(await payouts.holds([{ txHash: deposit }])).toBe(true);
    await node.rewind(DEPTH);
    await expect(chain.rpc('eth_getBlockByNumber', ['finalized', false])).rejects.toThrow('finalized block not found');
    expect(await payouts.holds([{ txHash: deposit }])).toBe(false);
  });
});

describe('a node without a consensus client', () => {
  test('is not ready, rather than of another chain', async () => {
    const chain = await startGethChain();
    onTestFinished(() => chain.close());
    await chain.node.restart();
    const reader = chainOver(chain);
    onTestFinished(() => reader.close());
    const verdict = await reader.verify().then(
      () => null,
      (error: Error) => error,
    );
    if (verdict !== null) expect(verdict).toMatchObject({ name: 'ChainUnavailable' });
  });
});

interface Receipt {
  readonly blockNumber: string;
  readonly logs: readonly { readonly logIndex: string }[];
}

const receiptOf = (chain: TokenChain, txHash: string): Promise<Receipt | null> =>
  chain.rpc('eth_getTransactionReceipt', [txHash]);
