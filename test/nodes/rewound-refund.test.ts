import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callAdmin } from '../../src/cli/admin-client.ts';
import { Wallet } from '../../src/signer/keys/wallet.ts';
import { until } from '../crash/running-service.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { MNEMONIC, RunningProduction } from '../support/paying-production.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import type { TokenChain } from '../support/tokens.ts';
import { startGethChain } from './geth-node.ts';

/* `quittance serve` over geth, which loses the newest blocks with `debug_setHead`: a deposit and the refund of it. */

const WAIT_MS = 120_000;
const DEPTH = 12;
/** Several rounds of the service on Ethereum. */
const ROUNDS_MS = 30_000;
const treasury = new Wallet(MNEMONIC).treasury.evm;

let chain: TokenChain;
let proxy: FaultProxy;
let service: RunningProduction;
let payer: Awaited<ReturnType<TokenChain['account']>>;
beforeAll(async () => {
  chain = await startGethChain();
  proxy = await FaultProxy.before(chain.url);
  payer = await chain.account();
  await chain.fund(treasury, 10n ** 19n);
  await chain.send('USDT', 'transfer', [treasury, 1_000_000_000n]);
  await chain.mine();
  await chain.send('USDT', 'transfer', [payer.address, 50_000_000n]);
  await chain.mine(20);
  service = await RunningProduction.start(temporaryFolder('rewound-refund'), { ...chain, url: proxy.url }, {});
}, WAIT_MS);
afterAll(async () => {
  await service?.kill();
  await proxy?.close();
  await chain?.close();
});

/** Each time that the service handed a transaction to the node. */
const broadcasts = (): readonly unknown[] =>
  proxy.calls.filter(({ method }) => method === 'eth_sendRawTransaction').map(({ params }) => params[0]);

describe('a refund in flight whose deposit the node has lost with its newest blocks', () => {
  let sessionId: string;
  let refundId: string;
  let deposit: unknown;

  test('is sent first', async () => {
    const session = await service.client.sessions.create({ amount: '50.00', currency: 'USDT', order_id: 'order-1' });
    sessionId = session.id;
    const txHash = await chain.send('USDT', 'transfer', [session.payment_options[0]!.address, 50_000_000n], payer);
    deposit = await chain.rpc('eth_getRawTransactionByHash', [txHash]);
    await chain.mine(DEPTH + 1);
    const isPaid = async () => (await service.client.sessions.get(sessionId)).payment_status === 'paid';
    await until('the session is paid', WAIT_MS, isPaid);
    const request = { session_id: sessionId, amount: { value: '20.00', currency: 'USDT' } };
    refundId = (await service.client.refunds.create({ ...request, acknowledge_sender: true })).id;
    await until('the payout is sent', WAIT_MS, async () => broadcasts().length > 0);
  });

  test('is not sent again while it is gone', async () => {
    await chain.rewind(DEPTH + 4);
    await chain.mine(2);
    expect(await chain.balanceOf('USDT', payer.address)).toBe(50_000_000n);
    const [before, looks] = [broadcasts().length, proxy.count('eth_getTransactionCount')];
    await sleep(ROUNDS_MS);
    expect(proxy.count('eth_getTransactionCount')).toBeGreaterThan(looks + 1);
    expect(broadcasts().slice(before)).toEqual([]);
    expect(await chain.rpc('txpool_status')).toMatchObject({ pending: '0x0', queued: '0x0' });
    expect((await service.client.refunds.get(refundId)).status).toBe('PROCESSING');
    const status = JSON.stringify(await callAdmin(service.dataDir, 'treasury.status', {}));
    expect(status).toMatch(/waits: (the chain does not show what it pays back|the deposit)/);
  });

  test('goes on once it is back, and pays once', async () => {
    await chain.rpc('eth_sendRawTransaction', [deposit]);
    await chain.mine(DEPTH + 1);
    const before = broadcasts().length;
    await until('the payout is sent again', WAIT_MS, async () => broadcasts().length > before);
    await chain.mine(DEPTH);
    const refund = () => service.client.refunds.get(refundId);
    await until('the refund completes', WAIT_MS, async () => (await refund()).status === 'COMPLETED');
    expect(new Set(broadcasts()).size).toBe(1);
    expect(await chain.balanceOf('USDT', payer.address)).toBe(20_000_000n);
    expect(await chain.rpc('eth_getTransactionCount', [treasury, 'latest'])).toBe('0x1');
  });
});
