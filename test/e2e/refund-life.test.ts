import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callAdmin } from '../../src/cli/admin-client.ts';
import { RunningService, until } from '../crash/running-service.ts';
import { demoApprove } from '../support/approvers.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* The service as a user runs it, on a real node: what happens to a refund when the world is not as it should be. */

const WAIT_MS = 60_000;

let directory: string;
let dataDir: string;
let service: RunningService;
let orders = 0;
beforeAll(() => {
  directory = temporaryFolder('refund-life');
  dataDir = join(directory, 'data');
});
afterAll(() => service?.kill());

const start = async (): Promise<void> =>
  void (service = await RunningService.start(dataDir, { SANDBOX_NETWORKS: 'ethereum' }));
const ethereum = () => service.facts.networks['ethereum']!;

async function rpc<Result>(method: string, params: unknown[]): Promise<Result> {
  const answer = await fetch(ethereum().rpc_url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const { result, error } = (await answer.json()) as { result: Result; error?: { message: string } };
  if (error) throw new Error(`${method}: ${error.message}`);
  return result;
}

async function paidSession(): Promise<string> {
  orders += 1;
  const session = await service.client.sessions.create({
    amount: '50.00',
    currency: 'USDT',
    order_id: `order-${orders}`,
  });
  await service.client.sandbox.pay(session.id, { network: 'ethereum' });
  await until(
    'the session is paid',
    WAIT_MS,
    async () => (await service.client.sessions.get(session.id)).payment_status === 'paid',
  );
  return session.id;
}

const refund = (sessionId: string, value: string) =>
  service.client.refunds.create({ session_id: sessionId, amount: { value, currency: 'USDT' } });
const sentByTreasury = async (): Promise<number> =>
  Number(await rpc<string>('eth_getTransactionCount', [ethereum().treasury, 'latest']));
const status = async (id: string) => (await service.client.refunds.get(id)).status;
const completed = (id: string) =>
  until('the refund completes', WAIT_MS, async () => (await status(id)) === 'COMPLETED');
const waitsFor = (id: string, reason: string) =>
  until(
    `the refund waits for ${reason}`,
    WAIT_MS,
    async () => (await service.client.refunds.get(id)).waiting_reason === reason,
  );

describe('a refund', () => {
  it('waits while the treasury lacks gas, says so, and continues automatically', async () => {
    await start();
    const sessionId = await paidSession();
    expect((await service.client.sessions.get(sessionId)).deposits[0]!.sender).toEqual({ kind: 'wallet', name: null });
    await until(
      'the treasury is funded',
      WAIT_MS,
      async () => BigInt(await rpc<string>('eth_getBalance', [ethereum().treasury, 'latest'])) > 0n,
    );
    await rpc('anvil_setBalance', [ethereum().treasury, '0x1']);
    const { id } = await refund(sessionId, '5.00');
    await waitsFor(id, 'insufficient_gas');
    expect(await status(id)).toBe('PENDING');
    await rpc('anvil_setBalance', [ethereum().treasury, '0xde0b6b3a7640000']);
    await completed(id);
    const done = await service.client.refunds.get(id);
    expect(Number(done.network_fee)).toBeGreaterThan(0);
    expect(done.waiting_reason).toBeUndefined();
  });

  it('is not paid while the kill switch is on, and can be rejected', async () => {
    const sessionId = await paidSession();
    await callAdmin(dataDir, 'treasury.stop', { mode: 'test' });
    const { id } = await refund(sessionId, '5.00');
    const { id: other } = await refund(sessionId, '6.00');
    await waitsFor(id, 'payouts_stopped');
    await callAdmin(dataDir, 'treasury.reject', { id: other });
    expect(await service.client.refunds.get(other)).toMatchObject({
      status: 'FAILED',
      failure_reason: 'rejected_by_operator',
      amount_returned: '0.00',
    });
    expect(await demoApprove(dataDir, 'treasury.resume', { mode: 'test' })).toMatchObject({
      stopped: false,
      approved_by: ['demo-1', 'demo-2'],
    });
    await completed(id);
    await expect(callAdmin(dataDir, 'treasury.reject', { id })).rejects.toThrow(/already signed/);
  });

  it('requested a hundred times in parallel with one key is one refund and one transfer', async () => {
    const sessionId = await paidSession();
    const before = await sentByTreasury();
    const answers = await Promise.all(
      Array.from({ length: 100 }, () =>
        service.client.refunds.create(
          { session_id: sessionId, amount: { value: '7.00', currency: 'USDT' } },
          { idempotencyKey: 'the-same' },
        ),
      ),
    );
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    await completed(answers[0]!.id);
    expect(await sentByTreasury()).toBe(before + 1);
  });

  it('is not paid once somebody else used the key of the treasury', async () => {
    const sessionId = await paidSession();
    await completed((await refund(sessionId, '1.00')).id);
    const before = await sentByTreasury();
    await rpc('anvil_impersonateAccount', [ethereum().treasury]);
    await rpc('eth_sendTransaction', [
      { from: ethereum().treasury, to: ethereum().treasury, value: '0x1', gas: '0x5208' },
    ]);
    await until('the foreign transaction is in a block', WAIT_MS, async () => (await sentByTreasury()) === before + 1);
    const { id } = await refund(sessionId, '5.00');
    const alarm = await until('the alarm', WAIT_MS, async () => {
      const { treasuries } = (await callAdmin(dataDir, 'treasury.status', {})) as unknown as {
        treasuries: { network: string; alarm: string | null }[];
      };
      return treasuries.find(({ network }) => network === 'ethereum')!.alarm;
    });
    expect(alarm).toContain('somebody else holds its key');
    expect(await status(id)).toBe('PENDING');
  });

  it("is not paid from a restored backup of the event log behind the signer's journal", async () => {
    await service?.stop();
    // Another one when it is tried again: the journal beside the first has gone on.
    dataDir = join(mkdtempSync(join(directory, 'anew-')), 'data');
    const backup = `${dataDir}-backup`;
    await start();
    const sessionId = await paidSession();
    await completed((await refund(sessionId, '1.00')).id);
    await service.stop();
    cpSync(dataDir, backup, { recursive: true });
    await start();
    await completed((await refund(sessionId, '2.00')).id);
    await service.stop();
    rmSync(dataDir, { recursive: true });
    cpSync(backup, dataDir, { recursive: true });
    await start();
    const { id } = await refund(sessionId, '2.00');
    await waitsFor(id, 'payouts_stopped');
    expect(await status(id)).toBe('PENDING');
    expect(existsSync(`${dataDir}-signer`)).toBe(true);
  });
});
