import { join } from 'node:path';
import { Wallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callAdmin } from '../../src/cli/admin-client.ts';
import { NATIVE_COIN, type Network } from '../../src/domain/networks/networks.ts';
import type { JsonValue } from '../../src/ports/read-model/read-model.ts';
import { RunningService, until } from '../crash/running-service.ts';
import { solanaPayer, tronPayer } from '../support/raw-payers.ts';
import { approveAs, approverKey } from '../support/approvers.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* Money that is not a refund, in the service as an operator runs it, on real nodes and the facade. */

const WAIT_MS = 60_000;
const COLD = Wallet.createRandom().address;
const ENV = {
  PAYOUT_APPROVERS: JSON.stringify(['ada', 'ben', 'cleo'].map(approverKey)),
  WITHDRAWAL_ADDRESSES: JSON.stringify({ test: { ethereum: [COLD] } }),
};

interface Sweep {
  readonly id: string | null;
  readonly network: string;
  readonly amount: string;
  readonly from_address: string;
  readonly note: string;
  readonly fee: string | null;
  readonly fee_coin: string;
}

let directory: string;
let dataDir: string;
let service: RunningService;
beforeAll(async () => {
  directory = temporaryFolder('treasury-moves');
  dataDir = join(directory, 'data');
  service = await RunningService.start(dataDir, ENV);
});
afterAll(() => service.kill());

const admin = async <Answer>(command: string, args: Readonly<Record<string, JsonValue>> = {}): Promise<Answer> =>
  (await callAdmin(dataDir, command, args)) as unknown as Answer;
const as = <Answer>(name: string, command: string, args: Record<string, string>): Promise<Answer> =>
  approveAs(admin, name, command, args);
const openMoves = async () => (await admin<{ moves: { id: string; kind: string }[] }>('treasury.moves')).moves;
const idle = () => until('all moves are done', WAIT_MS, async () => (await openMoves()).length === 0);
const treasuryOf = async (network: string) =>
  (
    await admin<{ treasuries: { coins: Record<string, string>; gas: string; address: string }[] }>(
      'treasury.balances',
      { network },
    )
  ).treasuries[0]!;

async function paidSession(network: string, orderId: string, amount = '50.00'): Promise<void> {
  const session = await service.client.sessions.create({ amount, currency: 'USDT', order_id: orderId });
  await service.client.sandbox.pay(session.id, { network: network as 'ethereum' });
  await until(
    'the session is paid',
    WAIT_MS,
    async () => (await service.client.sessions.get(session.id)).payment_status === 'paid',
  );
}

describe('a sweep', () => {
  it.each(['ethereum', 'tron', 'solana'])(
    'brings what was collected on %s to the treasury, with the gas it needs',
    async (network) => {
      await paidSession(network, `sweep-${network}`);
      const sweepable = async (dryRun: boolean) =>
        (await admin<{ sweeps: Sweep[] }>('treasury.sweep', { network, dryRun })).sweeps;
      const [planned] = await until('the event log knows what was collected', WAIT_MS, async () => {
        const sweeps = await sweepable(true);
        return sweeps.length > 0 && sweeps;
      });
      expect(planned).toMatchObject({ id: null, network, amount: '50.00' });
      expect(planned!.note).toMatch(network === 'solana' ? /ready/ : /native coin from the treasury first/);
      // What the network takes beside the money, in its own coin: more than nothing, and little.
      expect(planned!.fee_coin).toBe(NATIVE_COIN[network as Network]);
      expect(Number(planned!.fee)).toBeGreaterThan(0);
      expect(Number(planned!.fee)).toBeLessThan(network === 'tron' ? 100 : 1);
      expect(await openMoves()).toEqual([]);
      const before = await treasuryOf(network);
      const ordered = await sweepable(false);
      expect(ordered).toMatchObject([{ note: 'ordered', from_address: planned!.from_address }]);
      await idle();
      const after = await treasuryOf(network);
      expect(Number(after.coins['USDT']) - Number(before.coins['USDT'])).toBe(50);
      expect(Number(after.gas)).toBeLessThan(Number(before.gas));
      expect(
        await until('the event log knows that it is gone', WAIT_MS, async () => (await sweepable(true)).length === 0),
      ).toBe(true);
    },
  );
});

interface Reconciled {
  readonly accounts: readonly { account: string; coin: string; booked: string; onChain: string; difference: string }[];
  readonly unknown: readonly {
    outflowKey: string;
    coin: string | null;
    amount: string | null;
    txHash: string | null;
  }[];
  readonly unbooked: {
    readonly addresses_read: number;
    readonly next: string | null;
    readonly found: readonly unknown[];
  };
}
const reconcile = async (network: string) =>
  (await admin<{ treasuries: Reconciled[] }>('treasury.reconcile', { network })).treasuries[0]!;

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
      expect(
        Number(even.find(({ account, coin }) => account === 'treasury' && coin === 'USDT')!.booked),
      ).toBeGreaterThan(0);
    },
  );
});

describe('native coin that somebody sent to a collection address', () => {
  const url = (network: string): string => service.facts.networks[network]!.rpc_url;
  const evm = async <Answer>(method: string, params: unknown[]): Promise<Answer> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const answer = await fetch(url('ethereum'), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    return ((await answer.json()) as { result: Answer }).result;
  };
  const stray: Readonly<Record<string, (to: string) => Promise<string>>> = {
    ethereum: async (to) => {
      const from = Wallet.createRandom().address;
      await evm('anvil_setBalance', [from, '0xde0b6b3a7640000']);
      await evm('anvil_impersonateAccount', [from]);
      return evm('eth_sendTransaction', [{ from, to, value: '0x2386f26fc10000' }]);
    },
    tron: async (to) => (await tronPayer({ facts: service.facts, dataDir })).sendNative(to, 5_000_000n),
    solana: (to) => solanaPayer({ facts: service.facts, dataDir }).sendNative(to, 5_000_000n),
  };

  it.each(['ethereum', 'tron', 'solana'])(
    'goes back once on %s to who sent it, less the fee, when two approvers agreed',
    async (network) => {
      const session = await service.client.sessions.create({
        amount: '5.00',
        currency: 'USDT',
        order_id: `stray-${network}`,
      });
      const { address } = session.payment_options.find((option) => option.network === network)!;
      const terms = {
        network,
        tx: await stray[network]!(address),
        address,
        operator: 'ada',
        reason: 'sent by mistake',
      };
      const { id, amount, to_address } = await until('it is final and found', WAIT_MS, async () => {
        await reconcile(network);
        return admin<{ id: string; amount: string; to_address: string }>('treasury.return', terms);
      });
      expect(Number(amount)).toBeGreaterThan(0);
      expect(Number(amount)).toBeLessThan(network === 'ethereum' ? 0.01 : network === 'tron' ? 5 : 0.005);
      await expect(admin('treasury.return', terms)).rejects.toThrow(`the transfer is returned by ${id}`);
      for (const name of ['ben', 'cleo']) await as(name, 'treasury.approve', { id });
      await idle();
      const { lines } = await admin<{ lines: { kind: string }[] }>('ledger.account', {
        account: 'liabilities:suspense',
        limit: '500',
      });
      expect(lines.at(-1)).toMatchObject({ kind: 'native_coin_returned' });
      await expect(admin('treasury.return', terms)).rejects.toThrow('is returned by');
      if (network === 'ethereum')
        expect(BigInt(await evm<string>('eth_getBalance', [to_address, 'latest']))).toBeGreaterThan(
          10n ** 18n - 2n * 10n ** 15n,
        );
    },
  );

  it('is refused with the field at fault if it cannot be returned', async () => {
    const terms = { network: 'ethereum', tx: `0x${'1'.repeat(64)}`, address: COLD, operator: 'ada', reason: 'a drill' };
    await expect(admin('treasury.return', { ...terms, tx: 'what' })).rejects.toThrow(
      'tx is not a transaction of ethereum',
    );
    await expect(admin('treasury.return', { ...terms, address: 'what' })).rejects.toThrow(
      'address is not an address on ethereum',
    );
    await expect(admin('treasury.return', terms)).rejects.toThrow('address: it was not assigned to any session');
  });
});

describe('a withdrawal', () => {
  const terms = { network: 'ethereum', coin: 'USDT', amount: '12.50', to: COLD };
  const by = (operator: string) => ({ operator });

  it('goes to an allow-listed address once two approvers agreed, and to nobody else', async () => {
    const stranger = Wallet.createRandom().address;
    await expect(admin('treasury.withdraw', { ...terms, ...by('ada'), to: stranger })).rejects.toThrow(
      'WITHDRAWAL_ADDRESSES',
    );
    const { id } = await admin<{ id: string }>('treasury.withdraw', { ...terms, ...by('ada') });
    await expect(as('ada', 'treasury.approve', { id })).rejects.toThrow('proposed');
    for (const counted of [true, false])
      expect(await as('ben', 'treasury.approve', { id })).toEqual({ id, approved_by: ['ben'], counted });
    expect(await openMoves()).toMatchObject([{ id, status: 'waiting_for_approval' }]);
    const before = await treasuryOf('ethereum');
    expect(await as('cleo', 'treasury.approve', { id })).toEqual({ id, approved_by: ['ben', 'cleo'], counted: true });
    await idle();
    const after = await treasuryOf('ethereum');
    expect(Number(before.coins['USDT']) - Number(after.coins['USDT'])).toBeCloseTo(12.5, 6);
  });

  it('is given up while nothing is signed', async () => {
    const { id } = await admin<{ id: string }>('treasury.withdraw', { ...terms, ...by('ben') });
    expect(await admin('treasury.reject', { id })).toEqual({ rejected: id });
    expect(await openMoves()).toEqual([]);
    await expect(as('ada', 'treasury.approve', { id })).rejects.toThrow('done');
  });
});

describe('a settlement', () => {
  it("goes to the merchant's own address that two operators registered, and never beyond what the books owe", async () => {
    const [merchant] = await admin<{ id: string }[]>('merchant.list');
    const ofMerchant = { merchant_id: merchant!.id };
    const own = Wallet.createRandom().address;
    const order = { ...ofMerchant, network: 'ethereum', coin: 'USDT', amount: '20.00', operator: 'ada' };
    await expect(admin('treasury.settle', order)).rejects.toThrow('no settlement address');
    const address = { ...ofMerchant, network: 'ethereum', address: own };
    expect(await as('ben', 'merchant.settlement-address', address)).toMatchObject({
      status: 'waiting_for_approval',
    });
    expect(await as('cleo', 'merchant.settlement-address', address)).toMatchObject({ status: 'set' });
    await expect(admin('treasury.settle', { ...order, amount: '53.01' })).rejects.toThrow(
      'the books owe the merchant 53.00 USDT',
    );
    const { id } = await admin<{ id: string }>('treasury.settle', order);
    for (const name of ['ben', 'cleo']) await as(name, 'treasury.approve', { id });
    await idle();
  });
});

describe('an entry by hand', () => {
  it('is posted when two others approved it, raises what a merchant can be paid, and is reversed by another one', async () => {
    const [merchant] = await admin<{ id: string }[]>('merchant.list');
    const account = `liabilities:merchants:${merchant!.id}:payable`;
    const place = { mode: 'test', network: 'tron', coin: 'USDT', operator: 'ada' };
    const proposal = {
      ...place,
      reason: 'goodwill for an outage',
      debit: 'expenses:other=7.00',
      credit: `${account}=7.00`,
      attachment: '5'.repeat(64),
    };
    await expect(admin('ledger.adjust', { ...proposal, credit: `${account}=6.99` })).rejects.toThrow(
      'they differ by 0.01 USDT',
    );
    await expect(
      admin('ledger.adjust', { ...proposal, credit: 'liabilities:merchants:mer_nobody:payable=7.00' }),
    ).rejects.toThrow('no such merchant');
    await expect(admin('ledger.adjust', { ...proposal, debit: 'expenses:other' })).rejects.toThrow(
      'debit must be account=amount',
    );
    const balance = async (): Promise<number> => {
      const { closing } = await admin<{ closing: { network: string; coin: string; balance: string }[] }>(
        'ledger.account',
        { account },
      );
      return Number(closing.find(({ network, coin }) => network === 'tron' && coin === 'USDT')?.balance ?? 0);
    };
    const before = await balance();
    const { id } = await admin<{ id: string }>('ledger.adjust', proposal);
    await expect(as('ada', 'ledger.approve-adjustment', { id })).rejects.toThrow('proposed');
    expect(await as('ben', 'ledger.approve-adjustment', { id })).toMatchObject({ status: 'waiting_for_approval' });
    expect(await balance()).toBe(before);
    expect(await as('cleo', 'ledger.approve-adjustment', { id })).toMatchObject({
      status: 'posted',
      approved_by: ['ben', 'cleo'],
      counted: true,
    });
    expect(await balance()).toBeCloseTo(before - 7, 6);
    await expect(admin('ledger.reject-adjustment', { id })).rejects.toThrow('propose one that reverses it');
    const back = await admin<{ id: string; lines: object[] }>('ledger.adjust', {
      reverses: id,
      reason: 'it was the wrong merchant',
      operator: 'ada',
    });
    expect(back.lines).toMatchObject([{ credit: '7.00' }, { debit: '7.00' }]);
    for (const name of ['ben', 'cleo']) await as(name, 'ledger.approve-adjustment', { id: back.id });
    expect(await balance()).toBeCloseTo(before, 6);
    const { adjustments } = await admin<{ adjustments: { id: string; reversed_by: string | null }[] }>(
      'ledger.adjustments',
    );
    expect(adjustments).toMatchObject([
      { id, reversed_by: back.id },
      { id: back.id, reversed_by: null },
    ]);
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
    type Status = { signers: object[]; treasuries: { network: string; alarm: string | null }[] };
    const alarm = async () =>
      (await admin<Status>('treasury.status')).treasuries.find(({ network }) => network === 'bsc')!.alarm;
    await until('payouts stand still', WAIT_MS, async () => (await alarm())?.includes('is not in the event log'));
    expect((await reconcile('bsc')).unknown).toEqual([]);
    const explained = { outflow: unknown[0]!.txHash!, operator: 'ada', reason: 'a drill' };
    await expect(as('ben', 'treasury.acknowledge', explained)).rejects.toThrow('each explained by itself');
    for (const [index, { outflowKey: outflow }] of unknown.entries()) {
      expect(await as('ben', 'treasury.acknowledge', { ...explained, outflow })).toEqual({
        outflow,
        approved_by: ['ben'],
        counted: true,
        status: 'waiting_for_approval',
      });
      const left = { unknownOutflows: unknown.length - index };
      expect((await admin<Status>('treasury.status')).signers).toMatchObject([{ stopped: false, ...left }]);
      expect(await as('cleo', 'treasury.acknowledge', { ...explained, outflow })).toEqual({
        acknowledged: outflow,
        approved_by: ['ben', 'cleo'],
        counted: true,
      });
    }
    expect((await admin<Status>('treasury.status')).signers).toMatchObject([{ unknownOutflows: 0 }]);
    await until('the alarm ends', WAIT_MS, async () => !(await alarm())?.includes('is not in the event log'));
  });
});
