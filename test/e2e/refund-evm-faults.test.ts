import { id } from 'ethers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createEvmContractCheck } from '../../src/adapters/evm/contract-check.ts';
import { EvmOutgoing } from '../../src/adapters/evm/outgoing.ts';
import { createRpcPool } from '../../src/adapters/rpc/pool.ts';
import type { TransactionDraft } from '../../src/domain/events/transaction-draft.ts';
import { nativeLimitsOf } from '../../src/domain/networks/native-limits.ts';
import { ChainUnavailable } from '../../src/ports/chain/chain.ts';
import {
  type Fate,
  NOTHING_RESERVED,
  type LandedTransaction,
  type OutgoingTransaction,
  type SentTransaction,
  validityOf,
} from '../../src/ports/outgoing/transaction.ts';
import { EvmView } from '../../src/signer/chains/evm-view.ts';
import type { SignedEntry } from '../../src/signer/journal/journal.ts';
import { signedBytesOf } from '../../src/signer/chains/outgoing-bytes.ts';
import { Wallet } from '../../src/signer/keys/wallet.ts';
import { FaultProxy, lying, refusing } from '../support/fault-proxy.ts';
import { outgoing } from '../support/outgoing.ts';
import { startTokenChain, type TokenChain } from '../support/tokens.ts';

/* Payouts on a real node whose blocks, reorganisations and lies are in the test's own hand. */

const wallet = new Wallet('test test test test test test test test test test test junk');
const treasury = wallet.treasury.evm;
const PAYEE = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const DEPTH = 12;

let chain: TokenChain;
let payouts: EvmOutgoing;
let view: EvmView;
const proxies: FaultProxy[] = [];
const opened: EvmOutgoing[] = [];

beforeEach(async () => {
  // Finality lags 64 blocks, so that a payout 12 deep can still be taken back.
  chain = await startTokenChain({ slotsInAnEpoch: 32 });
  await chain.rpc('anvil_setBalance', [treasury, '0x8ac7230489e80000']);
  await chain.send('USDT', 'transfer', [treasury, 1_000_000_000n]);
  await chain.mine();
  payouts = open([chain.url]);
  const { network, mode, chainId, tokens } = chain.settings;
  view = new EvmView({ network, mode, chainId, tokens, urls: [chain.url] }, nativeLimitsOf('ethereum'));
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close()));
  await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
  await chain.close();
});

function open(urls: readonly string[]): EvmOutgoing {
  const pool = createRpcPool({ network: 'ethereum', urls });
  const made = new EvmOutgoing({
    settings: chain.settings,
    pool,
    depth: DEPTH,
    maxFeePerGas: 10n ** 12n,
    maxPriorityFeePerGas: 10n ** 12n,
    fallbackTip: 10n ** 9n,
    bumpAfterMs: 1,
  });
  opened.push(made);
  return made;
}

async function proxy(): Promise<FaultProxy> {
  const made = await FaultProxy.before(chain.url);
  proxies.push(made);
  return made;
}

const order = outgoing({
  kind: 'refund',
  id: 're_a-1',
  network: 'ethereum',
  coin: 'USDT',
  amount: '5.00',
  fromAddress: treasury,
  toAddress: PAYEE,
});

async function signed(draft: TransactionDraft, of: OutgoingTransaction = order): Promise<SentTransaction> {
  return { ...(await signedBytesOf(draft, of, wallet)), validity: validityOf(draft) };
}

async function landedOf(payout: SentTransaction): Promise<LandedTransaction> {
  const fate = await payouts.fate(order, [payout]);
  if (fate.kind !== 'landed') throw new Error(`${fate.kind} instead of landed`);
  return fate.landed;
}

const fateOf = async (...sent: SentTransaction[]): Promise<Fate['kind']> => (await payouts.fate(order, sent)).kind;

describe('a payout on a misbehaving network', () => {
  it('that was dropped is sent again with the same bytes, and lands once', async () => {
    const payout = await signed(await payouts.draft(order, 0));
    await payouts.broadcast(payout);
    expect(await fateOf(payout)).toBe('pending');
    await chain.rpc('anvil_dropTransaction', [payout.txHash]);
    expect(await fateOf(payout)).toBe('absent');
    await payouts.broadcast(payout);
    await chain.mine(DEPTH);
    expect(await fateOf(payout)).toBe('landed');
    await payouts.broadcast(payout);
    await chain.mine();
    expect(await chain.balanceOf('USDT', PAYEE)).toBe(5_000_000n);
  });

  it('is not covered from the moment a reorganisation takes its deposit, until that is as deep again', async () => {
    const deposit = await chain.send('USDT', 'transfer', [wallet.collectionAddress('evm', 0), 20_000_000n]);
    const raw = await chain.rpc('eth_getRawTransactionByHash', [deposit]);
    expect(await payouts.holds([{ txHash: deposit }])).toBe(false);
    await chain.mine(DEPTH);
    expect(await payouts.holds([{ txHash: deposit }])).toBe(true);
    const other = `0x${'ab'.repeat(32)}`;
    expect(await payouts.holds([{ txHash: deposit }, { txHash: other }])).toBe(false);
    await chain.rpc('anvil_reorg', [DEPTH, []]);
    await chain.rpc('anvil_dropTransaction', [deposit]);
    expect(await payouts.holds([{ txHash: deposit }])).toBe(false);
    await chain.rpc('eth_sendRawTransaction', [raw]);
    await chain.mine();
    expect(await payouts.holds([{ txHash: deposit }])).toBe(false);
    await chain.mine(DEPTH);
    expect(await payouts.holds([{ txHash: deposit }])).toBe(true);
    expect(await payouts.holds([])).toBe(true);
  });

  it('survives a fee spike by a replacement on the same nonce; only one of the two lands', async () => {
    const draft = await payouts.draft(order, 0);
    const cheap = await signed(draft);
    await payouts.broadcast(cheap);
    await chain.rpc('anvil_setNextBlockBaseFeePerGas', ['0x174876e800']);
    await chain.mine();
    const bumped = (await payouts.bump(draft))!;
    expect(bumped).toMatchObject({ nonce: 0, tokenUnits: '5000000' });
    const dear = await signed(bumped);
    await payouts.broadcast(dear);
    await chain.mine(DEPTH);
    await payouts.broadcast(cheap);
    await chain.mine();
    const fate = await payouts.fate(order, [cheap, dear]);
    expect(fate).toMatchObject({ kind: 'landed', landed: { txHash: dear.txHash } });
    expect(await chain.balanceOf('USDT', PAYEE)).toBe(5_000_000n);
  });

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

  it('that is cancelled moves no money: an empty transaction takes its nonce, once, and later payouts can land', async () => {
    const draft = await payouts.draft(order, 0);
    const payout = await signed(draft);
    await payouts.broadcast(payout);
    await chain.rpc('evm_setAutomine', [false]);
    const cancel = (await payouts.cancel(draft))!;
    expect(cancel).toMatchObject({ kind: 'evm-cancel', nonce: 0, gasLimit: '21000' });
    expect(view.faultOf(cancel, order)).toBeNull();
    expect(view.faultOf({ ...cancel, gasLimit: '21001' } as TransactionDraft, order)).not.toBeNull();
    const cancelled = await signed(cancel);
    await payouts.broadcast(cancelled);
    await chain.mine(DEPTH);
    const entries = [draft, cancel].map(
      (each, index) => ({ ...[payout, cancelled][index]!, draft: each }) as unknown as SignedEntry,
    );
    expect(await fateOf(payout, cancelled)).toBe('pending');
    expect(await view.hadNoEffect(entries)).toBe(false);
    const next = { ...order, id: 're_b-1', amount: '2.00' };
    await payouts.broadcast(await signed(await payouts.draft(next, 1), next));
    await payouts.broadcast(payout);
    await chain.mine(70);
    expect(await payouts.fate(order, [payout, cancelled])).toMatchObject({
      kind: 'ineffective',
      txHash: cancelled.txHash,
    });
    expect(await view.hadNoEffect(entries)).toBe(true);
    expect(await chain.balanceOf('USDT', PAYEE)).toBe(2_000_000n);
  });

  it('waits while the network costs more than the limit', async () => {
    await chain.rpc('anvil_setNextBlockBaseFeePerGas', ['0x1d1a94a2000']);
    await chain.mine();
    expect(await payouts.check(order, NOTHING_RESERVED)).toMatchObject({
      kind: 'wait',
      reason: 'network_fee_too_high',
    });
  });

  it('whose nonce somebody else used raises an alarm and is never signed again', async () => {
    const payout = await signed(await payouts.draft(order, 0));
    await chain.rpc('anvil_impersonateAccount', [treasury]);
    await chain.rpc('eth_sendTransaction', [{ from: treasury, to: treasury, value: '0x1', gas: '0x5208' }]);
    await chain.mine(70);
    expect(await payouts.nextNonce(treasury)).toBe(1);
    expect(await fateOf(payout)).toBe('alarm');
  });

  it('that was complete and is reorganised away is detected; the same bytes land again', async () => {
    const before = await chain.rpc('evm_snapshot', []);
    const payout = await signed(await payouts.draft(order, 0));
    await payouts.broadcast(payout);
    await chain.mine(DEPTH);
    expect(await fateOf(payout)).toBe('landed');
    const landed = await landedOf(payout);
    expect(await payouts.hasVanished(landed)).toMatchObject({ vanished: false, withheld: false, final: false });
    await chain.rpc('evm_revert', [before]);
    await chain.mine(2);
    expect(await payouts.hasVanished(landed)).toMatchObject({ vanished: true, withheld: false });
    expect(await fateOf(payout)).toBe('absent');
    await payouts.broadcast(payout);
    await chain.mine(DEPTH);
    expect(await fateOf(payout)).toBe('landed');
    await chain.mine(70);
    expect(await payouts.hasVanished(landed)).toMatchObject({ vanished: false, final: true });
    expect(await chain.balanceOf('USDT', PAYEE)).toBe(5_000_000n);
  });

  it('that failed on chain releases its money only once the failure is final', async () => {
    const draft = await payouts.draft(order, 0);
    const payout = await signed(draft);
    await chain.send('USDT', 'addBlackList', [treasury]);
    await chain.mine();
    await payouts.broadcast(payout);
    await chain.mine(DEPTH);
    const entry = { ...payout, draft } as unknown as SignedEntry;
    expect(await fateOf(payout)).toBe('pending');
    expect(await view.hadNoEffect([entry])).toBe(false);
    await chain.mine(70);
    const fate = await payouts.fate(order, [payout]);
    expect(fate).toMatchObject({ kind: 'ineffective', txHash: payout.txHash });
    expect(fate.kind === 'ineffective' && Number(fate.networkFee)).toBeGreaterThan(0);
    expect(await view.hadNoEffect([entry])).toBe(true);
    expect(await chain.balanceOf('USDT', PAYEE)).toBe(0n);
  });

  it('is not signed for a frozen payee, a frozen treasury or a paused token', async () => {
    await chain.send('USDT', 'addBlackList', [PAYEE]);
    await chain.mine();
    expect(await payouts.check(order, NOTHING_RESERVED)).toEqual({ kind: 'fail', reason: 'recipient_frozen' });
    await chain.send('USDT', 'removeBlackList', [PAYEE]);
    await chain.send('USDT', 'addBlackList', [treasury]);
    await chain.mine();
    expect(await payouts.check(order, NOTHING_RESERVED)).toEqual({ kind: 'fail', reason: 'sender_frozen' });
    await chain.send('USDT', 'removeBlackList', [treasury]);
    await chain.send('USDT', 'pause', []);
    await chain.mine();
    expect(await payouts.check(order, NOTHING_RESERVED)).toEqual({ kind: 'fail', reason: 'token_paused' });
  });

  it('is not given up because one of two providers lies', async () => {
    const liar = await proxy();
    const [fromLiar, both] = [open([liar.url]), open([liar.url, chain.url])];
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

  it('is known to be impossible when the token refuses it or cannot express it, and only then', async () => {
    const tooFine = { ...order, amount: '0.0000001' };
    await expect(payouts.check(tooFine, NOTHING_RESERVED)).rejects.toMatchObject({ reason: 'amount_not_payable' });
    const tooMuch = { ...order, amount: '1000.01' };
    await expect(payouts.draft(tooMuch, 0)).rejects.toThrow(ChainUnavailable);
    await chain.send('USDT', 'addBlackList', [treasury]);
    await chain.mine();
    await expect(payouts.draft(order, 0)).rejects.toMatchObject({
      name: 'TransferImpossible',
      reason: 'transfer_rejected',
    });
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

  it('subtracts what earlier payouts still owe from the balance', async () => {
    const reserved = { coins: { USDT: 996n * 10n ** 18n }, payouts: 1 };
    expect(await payouts.check(order, reserved)).toMatchObject({ kind: 'wait', reason: 'insufficient_funds' });
    expect(await payouts.check(order, NOTHING_RESERVED)).toEqual({ kind: 'ready' });
  });
});

describe('a payout behind lying nodes', () => {
  it('that was complete does not count as gone because a provider shows no receipt: its block is in the chain', async () => {
    const [first, second] = [await proxy(), await proxy()];
    const [alone, both] = [open([first.url]), open([first.url, second.url])];
    const payout = await signed(await alone.draft(order, 0));
    await alone.broadcast(payout);
    await chain.mine(DEPTH);
    const landed = await landedOf(payout);
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
    const through = open([node.url]);
    const payout = await signed(await through.draft(order, 0));
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
    const through = open([node.url]);
    const payout = await signed(await through.draft(order, 0));
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
    const both = open([liar.url, honest.url]);
    const payout = await signed(await both.draft(order, 0));
    await both.broadcast(payout);
    await chain.mine(DEPTH);
    honest.play(lying('eth_getTransactionReceipt', () => null));
    expect((await both.fate(order, [payout])).kind).toBe('pending');
    honest.heal();
    expect((await both.fate(order, [payout])).kind).toBe('landed');
  });

  it('concludes nothing while one of two providers is silent', async () => {
    const silent = await proxy();
    const both = open([silent.url, chain.url]);
    const payout = await signed(await both.draft(order, 0));
    await both.broadcast(payout);
    await chain.mine(DEPTH);
    silent.play(refusing('eth_getTransactionReceipt', { code: -32601, message: 'the method does not exist' }));
    await expect(both.fate(order, [payout])).rejects.toThrow(/1 of 2 providers/);
  });
});
