import { join } from 'node:path';
import { expect, it } from 'vitest';
import { addressFamilyOf } from '../../src/domain/networks/networks.ts';
import { readMnemonic } from '../../src/signer/keys/wallet-source.ts';
import { Wallet } from '../../src/signer/keys/wallet.ts';
import { strayTransfer, waitingStrays, type StrayItem } from '../crash/crash-unmatched.ts';
import { CrashWorld, WAIT_MS } from '../crash/crash-world.ts';
import type { KilledNetwork } from '../crash/crash-plans.ts';
import { until } from '../crash/running-service.ts';

/** What an operator does about unmatched transfers, on a real chain. */

export const BY = { actor: 'ada', reason: 'a test' };
/** From here on two operators must agree. */
const APPROVAL_FROM = '100';
/** Of the wallet, and far below the places that sessions have. */
const SPARE_PLACE = 700;
/** Token accounts of a Solana transfer, events of others. */
const MOST_LOG_INDEXES = 8;

let pieces = 0;
/** No two transfers are of the same amount, so that the chain can tell them apart, also when a test is tried again. */
export function amountNear(units: number): string {
  pieces += 1;
  return `${units}.${String(pieces).padStart(2, '0')}`;
}

export function createInboxWorld(
  network: KilledNetwork,
  env: Readonly<Record<string, string>> = {},
): Promise<CrashWorld> {
  const limits = { perTransaction: '5000', perHour: '50000', perDay: '50000', approvalFrom: APPROVAL_FROM };
  return CrashWorld.create(network, { PAYOUT_LIMITS: JSON.stringify({ USDT: limits }), ...env });
}

export const isBalanced = async (world: CrashWorld): Promise<boolean> =>
  (await world.admin<{ balanced: boolean }>('ledger.trial-balance')).balanced;

interface Move {
  readonly id: string;
  readonly waiting: string | null;
}

/** Declares the tests for the world that is there when they run. */
export function inboxCases(current: () => CrashWorld): void {
  const admin = <Answer>(command: string, args: Readonly<Record<string, string | boolean>>): Promise<Answer> =>
    current().admin(command, args);
  const show = (transfer: string) => admin<StrayItem>('inbox.show', { transfer });
  const treasury = async (): Promise<string> => (await current().service()).facts.networks[current().network]!.treasury;
  const paidTo = async (to: string, amount: string): Promise<number> =>
    (await current().transfersOf({ coin: 'USDT', amount, from: await treasury(), to })).length;
  const returned = (transfer: string) =>
    until('it is returned', WAIT_MS, async () => (await show(transfer)).state === 'returned');
  const approve = (id: string, approver: string) => current().approveAs(approver, 'treasury.approve', { id });

  /** Which transfer of the transaction it is differs by network. Rejects with why it is not taken up. */
  async function record(tx: string, place: Readonly<Record<string, string>>): Promise<void> {
    const { network } = current();
    let refusal = new Error('there is no transfer of our coins');
    for (let index = 0; index < MOST_LOG_INDEXES && refusal.message.startsWith('there is no transfer'); index += 1) {
      const args = { network, tx, logIndex: String(index), ...place, ...BY };
      const refused = await admin('inbox.record', args).then(
        () => null,
        (error: Error) => error,
      );
      if (refused === null) return;
      refusal = refused;
    }
    throw refusal;
  }
  const recorded = (tx: string, place: Readonly<Record<string, string>> = {}) =>
    until('it is taken up', WAIT_MS, async () => {
      await record(tx, place);
      return (await waitingStrays(current())).find(({ id }) => id.includes(`:${tx}:`));
    });

  it('pays nothing back before two operators agreed, and gives it up when somebody thinks again', async () => {
    const amount = amountNear(120);
    const { id: transfer, from_address: payer, session_id: session } = await strayTransfer(current(), amount);
    const returnIt = { transfer, ...BY };
    const forecast = await admin<{ notes: string[] }>('inbox.return', { ...returnIt, dryRun: true });
    expect(forecast.notes).toEqual([`the signer would wait: 0 of 2 approvals for ${amount} USDT`]);
    const { target: first } = await admin<{ target: string }>('inbox.return', returnIt);
    await expect(approve(first, 'ada')).rejects.toThrow('proposed it');
    for (const counted of [true, false])
      expect(await approve(first, 'ben')).toEqual({ id: first, approved_by: ['ben'], counted });
    await until('the signer was asked again', WAIT_MS, async () =>
      (await admin<{ moves: Move[] }>('treasury.moves', {})).moves.some(
        ({ id, waiting }) => id === first && waiting?.startsWith('1 of 2'),
      ),
    );
    expect(await paidTo(payer, amount)).toBe(0);

    expect(await admin('inbox.undo', { transfer, actor: 'ben', reason: 'not yet' })).toMatchObject({ state: 'open' });
    await expect(approve(first, 'cleo')).rejects.toThrow('it is done');
    expect((await (await current().service()).client.sessions.get(session)).refundable).toBe(amount);

    const { target: second } = await admin<{ target: string }>('inbox.return', returnIt);
    for (const operator of ['ben', 'cleo']) await approve(second, operator);
    await returned(transfer);
    expect(await paidTo(payer, amount)).toBe(1);
    await expect(admin('inbox.undo', returnIt)).rejects.toThrow('cannot be undone');
  });

  it('takes up what came to the treasury, and pays it back', async () => {
    const amount = amountNear(33);
    const { txHash, fromAddress } = await current().chain.pay({ coin: 'USDT', to: await treasury(), amount });
    const { id: transfer, kind } = await recorded(txHash);
    expect(kind).toBe('treasury');
    await expect(record(txHash, {})).rejects.toThrow('it is already in the inbox');
    await admin('inbox.return', { transfer, ...BY });
    await returned(transfer);
    expect(await paidTo(fromAddress, amount)).toBe(1);
  });

  it('takes up what came to an address of no session: it pays an order, and is refunded there', async () => {
    const { network, chain, dataDir } = current();
    const amount = amountNear(44);
    const wallet = new Wallet(readMnemonic('test', { kind: 'sandbox', directory: join(dataDir, 'wallet') }));
    const { txHash, fromAddress } = await chain.pay({
      ...{ coin: 'USDT', amount },
      to: wallet.collectionAddress(addressFamilyOf(network), SPARE_PLACE),
    });
    const { id: transfer, kind } = await recorded(txHash, { index: String(SPARE_PLACE) });
    expect(kind).toBe('no_session');
    const { client } = await current().service();
    const session = await client.sessions.create({ amount, currency: 'USDT', order_id: `ordered-for-${amount}` });
    expect(await admin('inbox.attach', { transfer, session: session.id, ...BY })).toMatchObject({
      state: 'attached',
      target: session.id,
    });
    expect(await client.sessions.get(session.id)).toMatchObject({
      payment_status: 'paid',
      received: amount,
      refundable: amount,
    });
    const { id } = await client.refunds.create({ session_id: session.id });
    await until('it is refunded', WAIT_MS, async () => (await client.refunds.get(id)).status === 'COMPLETED');
    expect(await paidTo(fromAddress, amount)).toBe(1);
    await expect(admin('inbox.undo', { transfer, ...BY })).rejects.toThrow('is paid with it');
  });

  it('leaves books that balance and say what the chain says', async () => {
    await until('books and chain agree', WAIT_MS, async () => (await current().disagreement()) === null);
    expect(await isBalanced(current())).toBe(true);
  });
}
