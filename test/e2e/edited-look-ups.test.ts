import { join } from 'node:path';
import { Wallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { balanceKey, LEDGER_BALANCES_TABLE } from '../../projections/ledger/rows.ts';
import { PROJECTIONS } from '../../src/look-ups/projections.ts';
import { callAdmin } from '../../src/cli/admin-client.ts';
import { TREASURY } from '../../src/domain/money/ledger.ts';
import type { JsonValue } from '../../src/ports/read-model/read-model.ts';
import { RunningService, until } from '../crash/running-service.ts';
import { approveAs, approverKey } from '../support/approvers.ts';
import { editLookUps, editRow } from '../support/edited-rows.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/*
 * Somebody edits rows of every table that the service looks things up in, while it runs and while it stands still. The
 * event log, the chains and the signer decide about money.
 */

const WAIT_MS = 60_000;
const MOST_ROWS = 50;
const ENV = { PAYOUT_APPROVERS: JSON.stringify(['ada', 'ben', 'cleo'].map(approverKey)) };
const THIEF = Wallet.createRandom().address;
const MERCHANT = Wallet.createRandom().address;

let directory: string;
let dataDir: string;
let service: RunningService;
let merchantId: string;
let refund: string;
beforeAll(async () => {
  directory = temporaryFolder('edited-look-ups');
  dataDir = join(directory, 'data');
  service = await RunningService.start(dataDir, ENV);
  merchantId = service.facts.merchant.id;
  for (const [orderId, amount] of Object.entries({ settled: '50.00', refunded: '20.00' }))
    await paidSession(orderId, amount);
  for (const name of ['ben', 'cleo'])
    await as(name, 'merchant.settlement-address', { merchant_id: merchantId, network: 'ethereum', address: MERCHANT });
  await until('the books know it', WAIT_MS, async () => (await owed()) === 70);
});
afterAll(() => service.kill());

const admin = async <Answer>(command: string, args: Readonly<Record<string, JsonValue>> = {}): Promise<Answer> =>
  (await callAdmin(dataDir, command, args)) as unknown as Answer;
const as = (name: string, command: string, args: Record<string, string>): Promise<unknown> =>
  approveAs(admin, name, command, args);
const sessions = new Map<string, string>();

async function paidSession(orderId: string, amount: string): Promise<void> {
  const { id } = await service.client.sessions.create({ amount, currency: 'USDT', order_id: orderId });
  sessions.set(orderId, id);
  await service.client.sandbox.pay(id, { network: 'ethereum' });
  await until(
    'the session is paid',
    WAIT_MS,
    async () => (await service.client.sessions.get(id)).payment_status === 'paid',
  );
}

const owed = async (): Promise<number> => {
  const { closing } = await admin<{ closing: { network: string; balance: string }[] }>('ledger.account', {
    account: `liabilities:merchants:${merchantId}:payable`,
  });
  return -Number(closing.find(({ network }) => network === 'ethereum')?.balance ?? 0);
};

async function rpc<Answer>(method: string, params: unknown[]): Promise<Answer> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const answer = await fetch(service.facts.networks['ethereum']!.rpc_url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  return ((await answer.json()) as { result: Answer }).result;
}

/** Whole USDT at an address. */
async function held(address: string): Promise<number> {
  const data = `0x70a08231${address.slice(2).toLowerCase().padStart(64, '0')}`;
  return (
    Number(
      await rpc<string>('eth_call', [{ to: service.facts.networks['ethereum']!.tokens['USDT'], data }, 'latest']),
    ) / 1e6
  );
}

async function thiefHasNothing(): Promise<void> {
  expect(await held(THIEF)).toBe(0);
  expect(Number(await rpc<string>('eth_getBalance', [THIEF, 'latest']))).toBe(0);
}

const settlement = (amount: string) => ({
  merchant_id: merchantId,
  network: 'ethereum',
  coin: 'USDT',
  amount,
  operator: 'ada',
});
const reconcile = async (network: string) =>
  (
    await admin<{ treasuries: { unknown: unknown[]; accounts: { difference: string }[] }[] }>('treasury.reconcile', {
      network,
    })
  ).treasuries[0]!;
const lookUps = async () =>
  admin<{ drifted: number; projections: { projection: string; differing: number }[] }>('projection.compare');

describe('edited look-ups', () => {
  it('do not let more be settled or refunded than the event log says, or anything reach an address that it does not contain', async () => {
    const tables = editLookUps(dataDir, THIEF, MOST_ROWS);
    const known = new Set<string>(PROJECTIONS.flatMap((projection): readonly string[] => projection.tables));
    expect(tables.filter((name) => known.has(name)).length).toBeGreaterThan(15);
    for (const amount of ['1100.00', '70.01'])
      await expect(admin('treasury.settle', settlement(amount))).rejects.toThrow(
        'the books owe the merchant 70.00 USDT',
      );
    const refunded = sessions.get('refunded')!;
    await expect(
      service.client.refunds.create({
        session_id: refunded,
        amount: { value: '20000.00', currency: 'USDT' },
        reason: 'a fraud',
      }),
    ).rejects.toThrow();
    ({ id: refund } = await service.client.refunds.create({
      session_id: refunded,
      amount: { value: '20.00', currency: 'USDT' },
      reason: 'sent back',
    }));
    await admin('treasury.sweep', { network: 'ethereum' }).catch(() => undefined);
    const drifted = await lookUps();
    expect(drifted.drifted).toBeGreaterThan(5);
    // Nothing is paid from now on, so what the refund has taken by now is all that it takes.
    await thiefHasNothing();
    expect(await held(MERCHANT)).toBe(0);
    expect(['PENDING', 'PROCESSING', 'COMPLETED']).toContain((await service.client.refunds.get(refund)).status);
    await expect(admin('treasury.settle', settlement('50.01'))).rejects.toThrow(
      'the books owe the merchant 50.00 USDT',
    );
  });

  it('block payouts after a start until they are rebuilt from the event log; then exactly what it says is paid', async () => {
    await service.stop();
    expect(editLookUps(dataDir, THIEF, MOST_ROWS).length).toBeGreaterThan(15);
    service = await RunningService.start(dataDir, ENV);
    expect((await lookUps()).drifted).toBeGreaterThan(5);
    await expect(admin('treasury.settle', settlement('1100.00'))).rejects.toThrow(
      'the books owe the merchant 50.00 USDT',
    );
    const { id } = await admin<{ id: string }>('treasury.settle', settlement('12.00'));
    for (const name of ['ben', 'cleo']) await as(name, 'treasury.approve', { id });
    const before = await held(MERCHANT);
    expect((await lookUps()).drifted).toBeGreaterThan(0);
    expect([before, await held(MERCHANT)]).toEqual([0, 0]);
    await admin('projection.rebuild', {});
    expect((await lookUps()).drifted).toBe(0);
    await until('it is paid once', WAIT_MS, async () => (await held(MERCHANT)) === 12);
    await thiefHasNothing();
    await expect(admin('treasury.settle', settlement('38.01'))).rejects.toThrow(
      'the books owe the merchant 38.00 USDT',
    );
  });

  it('book nothing as brought to a treasury that was there before', async () => {
    const network = 'ethereum';
    // What is booked writes its rows anew, so nothing must be on its way.
    await until('nothing is on its way', WAIT_MS, async () => {
      const { moves } = await admin<{ moves: unknown[] }>('treasury.moves');
      return moves.length === 0 && (await service.client.refunds.get(refund)).status === 'COMPLETED';
    });
    await until('books and chain agree', WAIT_MS, async () => {
      const { accounts, unknown } = await reconcile(network);
      return unknown.length === 0 && accounts.every(({ difference }) => Number(difference) === 0);
    });
    expect(await lookUps()).toMatchObject({ drifted: 0 });
    const fundings = async () =>
      (await admin<{ fundings: unknown[] }>('ledger.fundings', { limit: '500' })).fundings.length;
    const before = await fundings();
    editRow(dataDir, LEDGER_BALANCES_TABLE, balanceKey('test', TREASURY, network, 'USDT'), 'balance', '1.00');
    await expect(reconcile(network)).rejects.toThrow(
      /1 rows of ledger@\d+ differ from the event log: run `quittance projection rebuild`/,
    );
    expect(await fundings()).toBe(before);
    await admin('projection.rebuild', {});
    expect(await lookUps()).toMatchObject({ drifted: 0 });
    await reconcile(network);
    expect(await fundings()).toBe(before);
  });
});
