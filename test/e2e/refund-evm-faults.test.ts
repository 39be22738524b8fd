import { id } from 'ethers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createEvmContractCheck } from '../../src/adapters/evm/contract-check.ts';
import type { EvmOutgoing } from '../../src/adapters/evm/outgoing.ts';
import { createRpcPool } from '../../src/adapters/rpc/pool.ts';
import type { TransactionDraft } from '../../src/domain/events/transaction-draft.ts';
import { NOTHING_RESERVED, type OutgoingTransaction } from '../../src/ports/outgoing/transaction.ts';
import { DEPTH, describePayouts, PAYEE, PayoutBench } from '../contract/payouts-evm.contract.ts';
import { FaultProxy, lying, refusing } from '../support/fault-proxy.ts';
import { startTokenChain, type TokenChain } from '../support/tokens.ts';

/* Payouts on a real node whose blocks, reorganisations and lies are in the test's own hand. */

/** Finality lags 64 blocks, so that a payout 12 deep can still be taken back. */
const startAnvil = (): Promise<TokenChain> => startTokenChain({ slotsInAnEpoch: 32 });

describePayouts('anvil', startAnvil);

let bench: PayoutBench;
let chain: TokenChain;
let payouts: EvmOutgoing;
let order: OutgoingTransaction;
let treasury: string;
const proxies: FaultProxy[] = [];

function useBench(): void {
  beforeEach(async () => {
    bench = await PayoutBench.on(await startAnvil());
    ({ chain, payouts, order, treasury } = bench);
  });
  afterEach(async () => {
    await bench.close();
    await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
  });
}

async function proxy(): Promise<FaultProxy> {
  const made = await FaultProxy.before(chain.url);
  proxies.push(made);
  return made;
}

describe('a payout on a misbehaving network', () => {
  useBench();

  it('is offered at a higher fee, for a sweep, only as far as the gas of its address goes', async () => {
    const draft = (await payouts.draft(order, 0)) as Extract<TransactionDraft, { kind: 'evm' }>;
    const sweep = { ...order, kind: 'sweep' } as const;
    const cost = ({ gasLimit, maxFeePerGas }: typeof draft): bigint => BigInt(gasLimit) * BigInt(maxFeePerGas);
    const hold = (wei: bigint) => chain.rpc('anvil_setBalance', [treasury, `0x${wei.toString(16)}`]);
    await hold((cost(draft) * 124n) / 100n);
    expect(await payouts.bump(draft, sweep)).toBeNull();
    expect(await payouts.bump(draft, order)).not.toBeNull();
    await chain.rpc('anvil_setNextBlockBaseFeePerGas', ['0x174876e800']);
    await chain.mine();
    const held = (cost(draft) * 140n) / 100n;
    await hold(held);
    const bumped = (await payouts.bump(draft, sweep)) as typeof draft;
    expect(cost(bumped)).toBeLessThanOrEqual(held);
    expect(cost(bumped) * 100n).toBeGreaterThan(cost(draft) * 125n);
  });

  it('is not given up because one of two providers lies', async () => {
    const liar = await proxy();
    const [fromLiar, both] = [bench.open([liar.url]), bench.open([liar.url, chain.url])];
    const yes = `0x${'1'.padStart(64, '0')}`;
    liar.play(
      lying('eth_call', (no, { params }) =>
        JSON.stringify(params).includes(id('isBlackListed(address)').slice(0, 10)) ? yes : no,
      ),
    );
    expect(await fromLiar.check(order, NOTHING_RESERVED)).toMatchObject({ kind: 'fail' });
    expect(await both.check(order, NOTHING_RESERVED)).toEqual({ kind: 'ready' });
    const revert = { code: 3, message: 'execution reverted: blacklisted' };
    liar.heal();
    liar.play(refusing('eth_estimateGas', revert));
    await expect(fromLiar.draft(order, 0)).rejects.toMatchObject({ reason: 'transfer_rejected' });
    expect(await both.draft(order, 0)).toMatchObject({ kind: 'evm', nonce: 0 });
  });

  it('distinguishes a contract from a key with delegated code', async () => {
    const check = createEvmContractCheck({
      settings: chain.settings,
      pool: createRpcPool({ network: 'ethereum', urls: [chain.url] }),
    });
    expect(await check.isContract(PAYEE)).toBe(false);
    await chain.rpc('anvil_setCode', [PAYEE, `0xef0100${'5f'.repeat(20)}`]);
    expect(await check.isContract(PAYEE)).toBe(false);
    await chain.rpc('anvil_setCode', [PAYEE, '0x6000']);
    expect(await check.isContract(PAYEE)).toBe(true);
    await check.close();
  });
});

describe('a payout behind lying nodes', () => {
  useBench();

  it('that was complete does not count as gone because a provider shows no receipt: its block is in the chain', async () => {
    const [first, second] = [await proxy(), await proxy()];
    const [alone, both] = [bench.open([first.url]), bench.open([first.url, second.url])];
    const payout = await bench.signed(await alone.draft(order, 0));
    await alone.broadcast(payout);
    await chain.mine(DEPTH);
    const landed = await bench.landedOf(payout);
    for (const node of [first, second]) node.play(lying('eth_getTransactionReceipt', () => null));
    for (const through of [alone, both])
      expect(await through.hasVanished(landed)).toMatchObject({ vanished: false, withheld: false });
    const hidden = ['eth_getTransactionReceipt', 'eth_getBlockReceipts'];
    for (const node of [first, second])
      node.play(async ({ method }) => (hidden.includes(method) ? { result: null } : undefined));
    for (const through of [alone, both])
      expect(await through.hasVanished(landed)).toMatchObject({ vanished: false, withheld: true });
    second.heal();
    expect(await both.hasVanished(landed)).toMatchObject({ vanished: false, withheld: true, final: false });
    await chain.rpc('anvil_reorg', [DEPTH, []]);
    expect(await alone.hasVanished(landed)).toMatchObject({ vanished: true, withheld: false });
  });

  it('that a node accepted and denied is found on chain', async () => {
    const node = await proxy();
    const through = bench.open([node.url]);
    const payout = await bench.signed(await through.draft(order, 0));
    node.play(async (call, forward) => {
      if (call.method !== 'eth_sendRawTransaction') return undefined;
      await forward(call);
      return { error: { code: -32000, message: 'transaction underpriced' } };
    });
    await through.broadcast(payout);
    await chain.mine(DEPTH);
    expect((await through.fate(order, [payout])).kind).toBe('landed');
  });

  it('that a node accepted and forgot is sent again', async () => {
    const node = await proxy();
    const through = bench.open([node.url]);
    const payout = await bench.signed(await through.draft(order, 0));
    node.play(async (call) => (call.method === 'eth_sendRawTransaction' ? { result: payout.txHash } : undefined));
    await through.broadcast(payout);
    expect((await through.fate(order, [payout])).kind).toBe('absent');
    node.heal();
    await through.broadcast(payout);
    expect((await through.fate(order, [payout])).kind).toBe('pending');
  });

  it('is not complete because one of two providers says so', async () => {
    const liar = await proxy();
    const honest = await proxy();
    const both = bench.open([liar.url, honest.url]);
    const payout = await bench.signed(await both.draft(order, 0));
    await both.broadcast(payout);
    await chain.mine(DEPTH);
    honest.play(lying('eth_getTransactionReceipt', () => null));
    expect((await both.fate(order, [payout])).kind).toBe('pending');
    honest.heal();
    expect((await both.fate(order, [payout])).kind).toBe('landed');
  });

  it('concludes nothing while one of two providers is silent', async () => {
    const silent = await proxy();
    const both = bench.open([silent.url, chain.url]);
    const payout = await bench.signed(await both.draft(order, 0));
    await both.broadcast(payout);
    await chain.mine(DEPTH);
    silent.play(refusing('eth_getTransactionReceipt', { code: -32601, message: 'the method does not exist' }));
    await expect(both.fate(order, [payout])).rejects.toThrow(/1 of 2 providers/);
  });
});
