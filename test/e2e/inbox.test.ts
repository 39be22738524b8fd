import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callAdmin } from '../../src/cli/admin-client.ts';
import { transfersSeen } from '../crash/chain-witness.ts';
import { RunningService, until } from '../crash/running-service.ts';

/* The inbox as an operator uses it, on a real node. */

const WAIT_MS = 60_000;
const TOKEN = 'token-of-the-operator';
const BY = { actor: 'ada', reason: 'a test' };

interface Item {
  readonly id: string;
  readonly state: string;
  readonly kind: string;
  readonly amount: string;
  readonly from_address: string;
  readonly session_id: string;
}

let directory: string;
let dataDir: string;
let adminPort: number;
let service: RunningService;

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
const start = (env: Record<string, string> = {}) => RunningService.start(dataDir, { ADMIN_PORT: String(adminPort), ADMIN_TOKEN: TOKEN, ...env });

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'quittance-inbox-'));
  dataDir = join(directory, 'data');
  adminPort = await freePort();
  service = await start();
}, 120_000);
afterAll(async () => {
  await service.kill();
  rmSync(directory, { recursive: true, force: true });
});

const admin = async <Answer>(command: string, args: Record<string, string | boolean> = {}): Promise<Answer> =>
  (await callAdmin(dataDir, command, args)) as unknown as Answer;
const listed = async (): Promise<readonly Item[]> => (await admin<{ transfers: Item[] }>('inbox.list')).transfers;
const show = (transfer: string) => admin<Item>('inbox.show', { transfer });
const ordered = (orderId: string, amount: string) => service.client.sessions.create({ amount, currency: 'USDT', order_id: orderId });

/** Money of a session that was cancelled with part of it paid. */
async function stray(orderId: string, amount: string): Promise<Item> {
  const session = await ordered(orderId, '50.00');
  await service.client.sandbox.pay(session.id, { network: 'ethereum', amount });
  await until('the money is final', WAIT_MS, async () => (await service.client.sessions.get(session.id)).received === amount);
  await service.client.sessions.cancel(session.id);
  return until('the inbox has it', WAIT_MS, async () => (await listed()).find(({ session_id: id }) => id === session.id));
}

function paidBack({ from_address: to }: Item, amount: string): Promise<string[]> {
  const { rpc_url: rpcUrl, treasury, tokens } = service.facts.networks['ethereum']!;
  const tokenUnits = BigInt(amount.replace('.', '')) * 10n ** 4n;
  return transfersSeen({ network: 'ethereum', rpcUrl, token: tokens['USDT']!, from: treasury, to, tokenUnits });
}

const isBalanced = async (): Promise<boolean> => (await admin<{ balanced: boolean }>('ledger.trial-balance')).balanced;

describe('the inbox', () => {
  it('attaches a stray transfer to an open session, which is paid by it once', async () => {
    const item = await stray('stray-1', '12.00');
    expect(item).toMatchObject({ kind: 'insufficient', state: 'open', amount: '12.00' });
    const session = await ordered('again-1', '12.00');
    const args = { transfer: item.id, session: session.id, ...BY };
    expect(await admin('inbox.attach', { ...args, dryRun: true })).toMatchObject({ dry_run: true, state: 'open' });
    expect((await service.client.sessions.get(session.id)).payment_status).toBe('unpaid');
    expect(await admin('inbox.attach', args)).toMatchObject({ state: 'attached', target: session.id });
    const paid = await service.client.sessions.get(session.id);
    expect(paid).toMatchObject({ payment_status: 'paid', received: '12.00', refundable: '12.00' });
    expect((await service.client.sessions.get(item.session_id)).refundable).toBe('0.00');
    await expect(admin('inbox.attach', args)).rejects.toThrow(/attached to .* by ada; undo that first/);
    await expect(admin('inbox.undo', { transfer: item.id, ...BY })).rejects.toThrow(`the session ${session.id} is paid with it`);
    expect((await listed()).some(({ id }) => id === item.id)).toBe(false);
    expect(await isBalanced()).toBe(true);
  });

  it('names what is wrong with a request', async () => {
    await expect(admin('inbox.show', { transfer: 'x' })).rejects.toThrow('transfer is not the id of a transfer');
    await expect(admin('inbox.show', { transfer: `ethereum:0x${'1'.repeat(64)}:0` })).rejects.toThrow('no such transfer');
    await expect(admin('inbox.list', { state: 'closed' })).rejects.toThrow('state must be unresolved or resolved');
    await expect(admin('inbox.list', { cursor: 'AAAA' })).rejects.toThrow('cursor is not one that a page named');
    const item = await stray('stray-2', '13.00');
    await expect(admin('inbox.return', { transfer: item.id, reason: 'x' })).rejects.toThrow('actor is missing');
    await expect(admin('inbox.attach', { transfer: item.id, session: 'cs_x', ...BY })).rejects.toThrow('session is not a session id');
  });

  it('is the same over HTTP, with the operator’s token only', async () => {
    const url = `http://127.0.0.1:${adminPort}/admin/inbox?network=ethereum&limit=1`;
    expect((await fetch(url)).status).toBe(401);
    const answer = await fetch(url, { headers: { authorization: `Bearer ${TOKEN}` } });
    expect(await answer.json()).toMatchObject({ transfers: [{ amount: '13.00', network: 'ethereum' }] });
  });

  it('pays a transfer back to who sent it once, wherever the process is killed', async () => {
    const points = ['inbox-after-return-request', 'signer-after-journal', 'after-broadcast'];
    for (const [index, point] of points.entries()) {
      const amount = `${21 + index}.00`;
      const item = await stray(`returned-${index}`, amount);
      await service.stop();
      service = await start({ CRASH_AT: point });
      await admin('inbox.return', { transfer: item.id, ...BY }).catch(() => null);
      await until(`the process reaches ${point}`, WAIT_MS, () => service.hasEnded || service.hasLostItsSigner);
      await service.kill();
      service = await start();
      await until('the transfer is returned', WAIT_MS, async () => (await show(item.id)).state === 'returned' || null);
      expect([point, (await paidBack(item, amount)).length]).toEqual([point, 1]);
    }
    expect(await isBalanced()).toBe(true);
  }, 400_000);
});
