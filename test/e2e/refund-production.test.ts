import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callAdmin } from '../../src/cli/admin-client.ts';
import { Wallet } from '../../src/signer/keys/wallet.ts';
import { until } from '../crash/running-service.ts';
import { builtRelease } from '../support/built-release.ts';
import { drillRules } from '../drills/drill-rules.ts';
import { MNEMONIC, RunningProduction } from '../support/paying-production.ts';
import { PROMETHEUS, startPrometheus, type RunningPrometheus } from '../support/running-prometheus.ts';
import { startTokenChain, type TokenChain } from '../support/tokens.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* `quittance serve` of a built release, on a chain whose blocks and reorganisations are in the test's own hand: finality lags 64 blocks. */

const WAIT_MS = 90_000;
const DEPTH = 12;
const treasury = new Wallet(MNEMONIC).treasury.evm;

let directory: string;
let chain: TokenChain;
let service: RunningProduction;
let payer: Awaited<ReturnType<TokenChain['account']>>;
let prometheus: RunningPrometheus | null = null;
beforeAll(async () => {
  directory = temporaryFolder('refund-production');
  chain = await startTokenChain({ slotsInAnEpoch: 32 });
  payer = await chain.account();
  await chain.rpc('anvil_setBalance', [treasury, '0x8ac7230489e80000']);
  await chain.send('USDT', 'transfer', [treasury, 1_000_000_000n]);
  await chain.send('USDT', 'transfer', [payer.address, 1_000_000_000n]);
  await chain.mine(70);
  const list = join(directory, 'exchanges.json');
  writeFileSync(list, JSON.stringify({ ethereum: { [payer.address]: 'Example Exchange' } }));
  const env = { EXCHANGE_WALLETS_FILE: list, PAYOUT_BUMP_AFTER_SECONDS: '3600' };
  service = await RunningProduction.start(directory, chain, env, await builtRelease());
  if (PROMETHEUS !== undefined) prometheus = await startPrometheus(service.opsUrl, drillRules(0));
});
afterAll(async () => {
  await prometheus?.stop();
  await service?.kill();
  await chain?.close();
});

const transfersToPayer = async (): Promise<string[]> => {
  const topic = (address: string): string => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;
  const topics = [
    '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef',
    topic(treasury),
    topic(payer.address),
  ];
  const filter = { address: chain.token('USDT').address, topics, fromBlock: '0x0', toBlock: 'latest' };
  const logs = await chain.rpc<{ transactionHash: string }[]>('eth_getLogs', [filter]);
  return logs.map(({ transactionHash }) => transactionHash);
};
const pooled = async (): Promise<number> => Number((await chain.rpc<{ pending: string }>('txpool_status', [])).pending);
const receiptsRead = (): Promise<number> =>
  service.metric(/^quittance_rpc_requests_total\{.*method="eth_getTransactionReceipt"/);
/** The alert as shipped, but that a minute lasts a second (see `drillRules`). */
const isFiring = async (): Promise<boolean> =>
  (await prometheus!.rules()).find(({ name }) => name === 'RefundReverted')?.state === 'firing';
const refundOf = (id: string) => service.client.refunds.get(id);

describe('a refund in production', () => {
  let sessionId: string;
  let refundId: string;
  let txHash: string;
  let beforeIt: string;

  it("to a listed exchange wallet is flagged and waits for the merchant's acknowledgement", async () => {
    const session = await service.client.sessions.create({ amount: '50.00', currency: 'USDT', order_id: 'order-1' });
    sessionId = session.id;
    await chain.send('USDT', 'transfer', [session.payment_options[0]!.address, 50_000_000n], payer);
    await chain.mine(DEPTH);
    await until(
      'the session is paid',
      WAIT_MS,
      async () => (await service.client.sessions.get(sessionId)).payment_status === 'paid',
    );
    const paid = await service.client.sessions.get(sessionId);
    expect(paid.deposits[0]).toMatchObject({
      from_address: payer.address,
      sender: { kind: 'exchange', name: 'Example Exchange' },
    });
    const explained = JSON.stringify(await callAdmin(service.dataDir, 'session.explain', { session_id: sessionId }));
    expect(explained).toContain('It came from a wallet of Example Exchange');
    // The signer pays back only what is final by the chain's own word.
    await chain.mine(70);
    const request = { session_id: sessionId, amount: { value: '5.00', currency: 'USDT' } };
    const options = { idempotencyKey: 'refund-of-order-1' };
    await expect(service.client.refunds.create(request, options)).rejects.toMatchObject({
      status: 400,
      code: 'sender_not_acknowledged',
    });
    refundId = (await service.client.refunds.create({ ...request, acknowledge_sender: true }, options)).id;
    expect((await service.client.refunds.create(request, options)).id).toBe(refundId);
  });

  it('is complete twelve blocks deep and not before', async () => {
    await until('the payout is sent', WAIT_MS, async () => (await pooled()) === 1);
    beforeIt = await chain.rpc('evm_snapshot', []);
    await chain.mine(DEPTH - 1);
    const before = await receiptsRead();
    await until('a look at it', WAIT_MS, async () => (await receiptsRead()) > before);
    expect((await refundOf(refundId)).status).toBe('PROCESSING');
    await chain.mine(1);
    await until('the refund completes', WAIT_MS, async () => (await refundOf(refundId)).status === 'COMPLETED');
    txHash = (await refundOf(refundId)).tx_hash!;
    expect(await transfersToPayer()).toEqual([txHash]);
  });

  it('that a reorganisation reverts is sent again with the same bytes, raises the alarm and pays nobody twice', async () => {
    await chain.rpc('evm_revert', [beforeIt]);
    await chain.rpc('anvil_dropAllTransactions', []);
    await chain.mine(2);
    expect(await transfersToPayer()).toEqual([]);
    await until(
      'the alarm',
      WAIT_MS,
      async () => (await service.metric(/^quittance_refunds_total\{.*mode="test".*outcome="reverted"/)) === 1,
    );
    if (prometheus) await until('the alert', WAIT_MS, isFiring);
    await until('the same bytes are out again', WAIT_MS, async () => (await pooled()) === 1);
    await chain.mine(DEPTH);
    const explained = () => callAdmin(service.dataDir, 'session.explain', { session_id: sessionId });
    await until(
      'it landed again',
      WAIT_MS,
      async () => JSON.stringify(await explained()).split('Refund payout is in block').length === 3,
    );
    await chain.mine(70);
    expect(await transfersToPayer()).toEqual([txHash]);
    expect(await refundOf(refundId)).toMatchObject({ status: 'COMPLETED', tx_hash: txHash, amount_returned: '5.00' });
    expect(await chain.rpc('eth_getTransactionCount', [treasury, 'latest'])).toBe('0x1');
    const { data } = await service.client.events.after(undefined, { page_size: 100 });
    expect(data.filter((event) => JSON.stringify(event).includes(refundId)).map(({ type }) => type)).toEqual([
      'refund.succeeded',
    ]);
    expect(service.log).toContain('a completed refund payout left the chain');
  });

  it.skipIf(PROMETHEUS === undefined)('that came back permanently clears the alert', async () => {
    await until('the alert clears', WAIT_MS, async () => !(await isFiring()));
  });

  it('that no block includes at its fee is sent at a higher one on the same nonce; one of the two lands', async () => {
    const waiting = async (): Promise<{ hash: string; nonce: string; maxFeePerGas: string }[]> => {
      type Pool = Record<string, Record<string, { hash: string; nonce: string; maxFeePerGas: string }>>;
      const { pending } = await chain.rpc<{ pending: Pool }>('txpool_content', []);
      return Object.entries(pending).flatMap(([from, sent]) =>
        from.toLowerCase() === treasury.toLowerCase() ? Object.values(sent) : [],
      );
    };
    await service.kill();
    service = await RunningProduction.start(directory, chain, { PAYOUT_BUMP_AFTER_SECONDS: '1' });
    const request = { session_id: sessionId, amount: { value: '6.00', currency: 'USDT' }, acknowledge_sender: true };
    const { id } = await service.client.refunds.create(request);
    const [cheap] = await until('the payout is sent', WAIT_MS, async () =>
      (await waiting()).length === 1 ? waiting() : null,
    );
    const dear = await until('the fee is raised', WAIT_MS, async () =>
      (await waiting()).find(({ hash }) => hash !== cheap!.hash),
    );
    expect(dear.nonce).toBe(cheap!.nonce);
    expect(BigInt(dear.maxFeePerGas) * 4n).toBeGreaterThanOrEqual(BigInt(cheap!.maxFeePerGas) * 5n);
    expect(await waiting()).toHaveLength(1);
    await chain.mine(DEPTH);
    await until('the refund completes', WAIT_MS, async () => (await refundOf(id)).status === 'COMPLETED');
    expect(await refundOf(id)).toMatchObject({ tx_hash: dear.hash, amount_returned: '6.00' });
    expect(await transfersToPayer()).toEqual([txHash, dear.hash]);
  });
});
