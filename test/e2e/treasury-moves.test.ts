import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Wallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callAdmin } from '../../src/cli/admin-client.ts';
import { RunningService, until } from '../crash/running-service.ts';

/* Money that is not a refund, in the service as an operator runs it, on real nodes and the facade. */

const WAIT_MS = 60_000;
const COLD = Wallet.createRandom().address;
const secretHash = (secret: string): string => createHash('sha256').update(secret).digest('hex');
const ENV = {
  PAYOUT_APPROVERS: JSON.stringify([
    { name: 'ada', secretHash: secretHash('secret of ada') },
    { name: 'ben', secretHash: secretHash('secret of ben') },
  ]),
  WITHDRAWAL_ADDRESSES: JSON.stringify({ test: { ethereum: [COLD] } }),
};

interface Sweep {
  readonly id: string | null;
  readonly network: string;
  readonly amount: string;
  readonly from_address: string;
  readonly note: string;
}

let directory: string;
let dataDir: string;
let service: RunningService;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'treasury-moves-'));
  dataDir = join(directory, 'data');
  service = await RunningService.start(dataDir, ENV);
});
afterAll(async () => {
  await service.kill();
  rmSync(directory, { recursive: true, force: true });
});

const admin = async <Answer>(command: string, args: Record<string, string | boolean> = {}): Promise<Answer> =>
  (await callAdmin(dataDir, command, args)) as unknown as Answer;
const openMoves = async () => (await admin<{ moves: { id: string; kind: string }[] }>('treasury.moves')).moves;
const idle = () => until('all moves are done', WAIT_MS, async () => (await openMoves()).length === 0);
const treasuryOf = async (network: string) =>
  (await admin<{ treasuries: { coins: Record<string, string>; gas: string; address: string }[] }>('treasury.balances', { network })).treasuries[0]!;

async function paidSession(network: string, orderId: string, amount = '50.00'): Promise<void> {
  const session = await service.client.sessions.create({ amount, currency: 'USDT', order_id: orderId });
  await service.client.sandbox.pay(session.id, { network: network as 'ethereum' });
  await until('the session is paid', WAIT_MS, async () => (await service.client.sessions.get(session.id)).payment_status === 'paid');
}

describe('a sweep', () => {
  it.each(['ethereum', 'tron', 'solana'])('brings what was collected on %s to the treasury, with the gas it needs', async (network) => {
    await paidSession(network, `sweep-${network}`);
    const sweepable = async (dryRun: boolean) => (await admin<{ sweeps: Sweep[] }>('treasury.sweep', { network, dryRun })).sweeps;
    const [planned] = await until('the ledger knows what was collected', WAIT_MS, async () => {
      const sweeps = await sweepable(true);
      return sweeps.length > 0 && sweeps;
    });
    expect(planned).toMatchObject({ id: null, network, amount: '50.00' });
    expect(planned!.note).toMatch(network === 'solana' ? /ready/ : /native coin from the treasury first/);
    expect(await openMoves()).toEqual([]);
    const before = await treasuryOf(network);
    const ordered = await sweepable(false);
    expect(ordered).toMatchObject([{ note: 'ordered', from_address: planned!.from_address }]);
    await idle();
    const after = await treasuryOf(network);
    expect(Number(after.coins['USDT']) - Number(before.coins['USDT'])).toBe(50);
    expect(Number(after.gas)).toBeLessThan(Number(before.gas));
    expect(await until('the ledger knows that it is gone', WAIT_MS, async () => (await sweepable(true)).length === 0)).toBe(true);
  });
});

interface Reconciled {
  readonly accounts: readonly { account: string; coin: string; booked: string; onChain: string; difference: string }[];
  readonly unknown: readonly { outflowKey: string; coin: string | null; amount: string | null; txHash: string | null }[];
  readonly unbooked: { readonly addresses_read: number; readonly next: string | null; readonly found: readonly unknown[] };
}
const reconcile = async (network: string) => (await admin<{ treasuries: Reconciled[] }>('treasury.reconcile', { network })).treasuries[0]!;

describe('reconciling', () => {
  it.each(['ethereum', 'bsc', 'tron', 'solana'])(
    'finds the books equal to the chain on %s once what the operator brought is known',
    async (network) => {
      await paidSession(network, `reconcile-${network}`, '3.00');
      expect((await reconcile(network)).unknown).toEqual([]);
      const even = await until('the books know what was brought', WAIT_MS, async () => {
        const { accounts, unknown } = await reconcile(network);
        return unknown.length === 0 && accounts.every(({ difference }) => Number(difference) === 0) && accounts;
      });
      expect(even).toContainEqual(expect.objectContaining({ account: 'treasury', coin: 'USDT' }));
      const { unbooked } = await reconcile(network);
      expect(unbooked).toMatchObject({ next: null, found: [] });
      expect(unbooked.addresses_read).toBeGreaterThan(0);
      expect(Number(even.find(({ account, coin }) => account === 'treasury' && coin === 'USDT')!.booked)).toBeGreaterThan(0);
    },
  );
});

describe('a withdrawal', () => {
  const terms = { network: 'ethereum', coin: 'USDT', amount: '12.50', to: COLD };
  const by = (operator: string) => ({ operator, secret: `secret of ${operator}` });

  it('goes to an allow-listed address once a second operator agreed, and to nobody else', async () => {
    const stranger = Wallet.createRandom().address;
    await expect(admin('treasury.withdraw', { ...terms, ...by('ada'), to: stranger })).rejects.toThrow('WITHDRAWAL_ADDRESSES');
    await expect(admin('treasury.withdraw', { ...terms, operator: 'ada', secret: 'secret of ben' })).rejects.toThrow('secret');
    const { id } = await admin<{ id: string }>('treasury.withdraw', { ...terms, ...by('ada') });
    await expect(admin('treasury.approve', { id, approver: 'ada', secret: 'secret of ada' })).rejects.toThrow('proposed');
    expect(await openMoves()).toMatchObject([{ id, status: 'waiting_for_approval' }]);
    const before = await treasuryOf('ethereum');
    expect(await admin('treasury.approve', { id, approver: 'ben', secret: 'secret of ben' })).toMatchObject({ approved_by: ['ada', 'ben'] });
    await idle();
    const after = await treasuryOf('ethereum');
    expect(Number(before.coins['USDT']) - Number(after.coins['USDT'])).toBeCloseTo(12.5, 6);
  });

  it('is given up while nothing is signed', async () => {
    const { id } = await admin<{ id: string }>('treasury.withdraw', { ...terms, ...by('ben') });
    expect(await admin('treasury.reject', { id })).toEqual({ rejected: id });
    expect(await openMoves()).toEqual([]);
    await expect(admin('treasury.approve', { id, approver: 'ada', secret: 'secret of ada' })).rejects.toThrow('done');
  });
});

describe('a settlement', () => {
  it("goes to the merchant's own address that two operators registered, and never beyond what the books owe", async () => {
    const [merchant] = await admin<{ id: string }[]>('merchant.list');
    const ofMerchant = { merchant_id: merchant!.id };
    const own = Wallet.createRandom().address;
    const order = { ...ofMerchant, network: 'ethereum', coin: 'USDT', amount: '20.00', operator: 'ada', secret: 'secret of ada' };
    await expect(admin('treasury.settle', order)).rejects.toThrow('no settlement address');
    const address = { ...ofMerchant, network: 'ethereum', address: own };
    expect(await admin('merchant.settlement-address', { ...address, operator: 'ada', secret: 'secret of ada' })).toMatchObject({
      status: 'waiting_for_approval',
    });
    expect(await admin('merchant.settlement-address', { ...address, operator: 'ben', secret: 'secret of ben' })).toMatchObject({ status: 'set' });
    await expect(admin('treasury.settle', { ...order, amount: '50.01' })).rejects.toThrow('the books owe the merchant 50.00 USDT');
    const { id } = await admin<{ id: string }>('treasury.settle', order);
    await admin('treasury.approve', { id, approver: 'ben', secret: 'secret of ben' });
    await idle();
  });
});

describe('money that leaves without an order', () => {
  it('is found, stops payouts and raises the alarm until an operator explains it', async () => {
    const { rpc_url: url, treasury, tokens } = service.facts.networks['bsc']!;
    const rpc = async (method: string, params: unknown[]): Promise<void> => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
      const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      expect(await answer.json()).not.toHaveProperty('error');
    };
    const thief = Wallet.createRandom().address;
    const data = `0xa9059cbb${thief.slice(2).padStart(64, '0')}${(7n * 10n ** 18n).toString(16).padStart(64, '0')}`;
    await rpc('anvil_impersonateAccount', [treasury]);
    await rpc('eth_sendTransaction', [{ from: treasury, to: tokens['USDT'], data }]);
    const { unknown } = await until('the outflow is found', WAIT_MS, async () => {
      const result = await reconcile('bsc');
      return result.unknown.length > 0 && result;
    });
    const txHash = expect.stringMatching(/^0x/) as string;
    // Its fee is the treasury's loss, too.
    expect(unknown).toMatchObject([
      { coin: 'USDT', amount: '7.00', txHash },
      { coin: 'BNB', txHash },
    ]);
    type Status = { treasuries: { network: string; alarm: string | null }[] };
    const alarm = async () => (await admin<Status>('treasury.status')).treasuries.find(({ network }) => network === 'bsc')!.alarm;
    await until('payouts stand still', WAIT_MS, async () => (await alarm())?.includes('is not in the ledger'));
    expect((await reconcile('bsc')).unknown).toEqual([]);
    const outflow = unknown[0]!.txHash!;
    expect(await admin('treasury.acknowledge', { outflow, operator: 'ada', reason: 'a drill' })).toEqual({ acknowledged: outflow });
    await until('the alarm ends', WAIT_MS, async () => !(await alarm())?.includes('is not in the ledger'));
  });
});
