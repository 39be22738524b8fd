import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accountOfBase58 } from '../../src/adapters/tron/address.ts';
import { amountOf, formatAmount, fromTokenUnits, signedAmountOf } from '../../src/domain/money/money.ts';
import type { SettlementLineBody } from '../../src/http/schemas/ledger.schema.ts';
import { RunningService, until } from '../crash/running-service.ts';
import { freePort } from '../support/free-port.ts';
import { operatorsOf } from '../support/operators-of.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* The books of a service on real nodes: what they say is on our addresses is there. */

const run = promisify(execFile);
const ENTRY = resolve(import.meta.dirname, '../../bin/quittance.mjs');
const WAIT_MS = 60_000;
const DECIMALS: Readonly<Record<string, number>> = { ethereum: 6, bsc: 18, tron: 6 };
type Network = 'ethereum' | 'bsc' | 'tron';

interface Balance {
  readonly account: string;
  readonly network: string;
  readonly coin: string;
  readonly debit: string | null;
  readonly credit: string | null;
}

describe('the books beside the chains', () => {
  const directory = temporaryFolder('books');
  const dataDir = join(directory, 'data');
  const { token } = operatorsOf(dataDir).create('ada', 'operator', 0);
  let service: RunningService;
  let adminUrl: string;
  const collected: { network: Network; address: string }[] = [];
  const treasuryBefore = new Map<string, bigint>();

  const cli = async (...args: string[]): Promise<string> => quittance('ledger', ...args);
  const quittance = async (...args: string[]): Promise<string> =>
    (await run(process.execPath, [ENTRY, ...args], { env: { ...process.env, DATA_DIR: dataDir } })).stdout;
  const admin = async (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${adminUrl}/admin/ledger/${path}`, {
      headers: { Authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(WAIT_MS),
      ...init,
    });

  async function rpc<Result>(network: Network, method: string, params: unknown[]): Promise<Result> {
    const url = service.facts.networks[network]!.rpc_url;
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    return ((await answer.json()) as { result: Result }).result;
  }

  /** 10^-18 units of USDT that the chain says are on the address. */
  async function onChain(network: Network, address: string): Promise<bigint> {
    const { rpc_url: url, tokens } = service.facts.networks[network]!;
    const account = network === 'tron' ? accountOfBase58(address)! : address.slice(2);
    const parameter = account.toLowerCase().padStart(64, '0');
    if (network !== 'tron') {
      const units = await rpc<string>(network, 'eth_call', [
        { to: tokens['USDT'], data: `0x70a08231${parameter}` },
        'latest',
      ]);
      return fromTokenUnits(BigInt(units), DECIMALS[network]!);
    }
    const call = {
      owner_address: address,
      contract_address: tokens['USDT'],
      function_selector: 'balanceOf(address)',
      parameter,
      visible: true,
    };
    const answer = await fetch(`${url}/wallet/triggerconstantcontract`, { method: 'POST', body: JSON.stringify(call) });
    const { constant_result: result } = (await answer.json()) as { constant_result: [string] };
    return fromTokenUnits(BigInt(`0x${result[0]}`), DECIMALS[network]!);
  }

  async function pay(orderId: string, network: Network, kind: 'exact' | 'over' | 'partial'): Promise<string> {
    const session = await service.client.sessions.create({ amount: '12.50', currency: 'EUR', order_id: orderId });
    collected.push({ network, address: session.payment_options.find((option) => option.network === network)!.address });
    await service.client.sandbox.pay(session.id, { network, case: kind });
    return session.id;
  }

  beforeAll(async () => {
    const port = await freePort();
    adminUrl = `http://127.0.0.1:${port}`;
    service = await RunningService.start(dataDir, { ADMIN_PORT: String(port), SANDBOX_NETWORKS: 'ethereum,bsc,tron' });
    for (const network of ['ethereum', 'bsc', 'tron'] as const) {
      const { treasury } = service.facts.networks[network]!;
      treasuryBefore.set(
        network,
        await until(`money of the ${network} treasury`, WAIT_MS, () => onChain(network, treasury)),
      );
    }
  }, 2 * WAIT_MS);
  afterAll(() => service?.kill());

  const booked = (accounts: readonly Balance[], account: string, network: string, coin = 'USDT'): bigint =>
    accounts
      .filter((row) => row.account === account && row.network === network && row.coin === coin)
      .reduce((sum, { debit, credit }) => sum + (debit === null ? -amountOf(credit!) : amountOf(debit)), 0n);

  it('balance, and equal the chains to the last unit, after payments, an excess, a part and refunds', async () => {
    const paid = await Promise.all([
      pay('exact', 'ethereum', 'exact'),
      pay('over', 'bsc', 'over'),
      pay('tron', 'tron', 'exact'),
    ]);
    await pay('part', 'ethereum', 'partial');
    for (const id of paid)
      await until(
        'the payment',
        WAIT_MS,
        async () => (await service.client.sessions.get(id)).payment_status === 'paid',
      );
    const refunds = [
      await service.client.refunds.create({ session_id: paid[0], amount: { value: '3.00', currency: 'EUR' } }),
      await service.client.refunds.create({ session_id: paid[1] }),
    ];
    for (const { id } of refunds)
      await until('the refund', WAIT_MS, async () => (await service.client.refunds.get(id)).status === 'COMPLETED');

    const { accounts, balanced, totals } = await until('every deposit in the books', WAIT_MS, async () => {
      const trial = JSON.parse(await cli('trial-balance', '--json')) as {
        accounts: Balance[];
        balanced: boolean;
        totals: { difference: string }[];
      };
      return booked(trial.accounts, 'assets:deposit-wallets', 'ethereum') > 14n * 10n ** 18n && trial;
    });
    expect(balanced).toBe(true);
    expect(totals.every(({ difference }) => signedAmountOf(difference) === 0n)).toBe(true);
    for (const network of ['ethereum', 'bsc', 'tron'] as const) {
      const own = collected.filter((address) => address.network === network);
      const found = await Promise.all(own.map(({ address }) => onChain(network, address)));
      const held = found.reduce((sum, units) => sum + units, 0n);
      expect([network, formatAmount(booked(accounts, 'assets:deposit-wallets', network))]).toEqual([
        network,
        formatAmount(held),
      ]);
      const moved = (await onChain(network, service.facts.networks[network]!.treasury)) - treasuryBefore.get(network)!;
      // What the sandbox put into the treasury is there before the books begin.
      const flows = booked(accounts, 'assets:treasury', network) + booked(accounts, 'equity:operator-funding', network);
      expect([network, formatAmount(flows)]).toEqual([network, formatAmount(moved)]);
    }
    expect(booked(accounts, 'expenses:network-fees', 'ethereum', 'ETH')).toBeGreaterThan(0n);
  }, 180_000);

  it('agree with what the merchant sees: what it is owed is the sum of its settlement lines', async () => {
    const { data: owed } = await service.client.ledger.balances();
    const sums = new Map<string, bigint>();
    for await (const { network, coin, total } of service.client.ledger.settlementLines()) {
      if (network !== null)
        sums.set(`${network}/${coin}`, (sums.get(`${network}/${coin}`) ?? 0n) + signedAmountOf(total));
    }
    for (const { network, coin, total } of owed) expect(formatAmount(sums.get(`${network}/${coin}`) ?? 0n)).toBe(total);
    expect(owed.find(({ network }) => network === 'ethereum')).toMatchObject({
      payable: '10.26',
      refunds_reserved: '0.00',
    });
    const values = [];
    for await (const { kind, value } of service.client.ledger.settlementLines())
      if (kind === 'payment') values.push(value?.at_locked_rate);
    expect(values).toEqual(['12.50', '12.50', '12.50']);
  });

  it("keep the operator's service fee separate, for orders created after it was set", async () => {
    const earlier = await service.client.sessions.create({
      amount: '12.50',
      currency: 'EUR',
      order_id: 'before the fee',
    });
    await quittance('merchant', 'set-policy', service.facts.merchant.id, '--service-fee', '0.75');
    const charged = await pay('after the fee', 'bsc', 'over');
    await service.client.sandbox.pay(earlier.id, { network: 'tron', case: 'exact' });
    for (const id of [charged, earlier.id])
      await until(
        'the payment',
        WAIT_MS,
        async () => (await service.client.sessions.get(id)).payment_status === 'paid',
      );

    const lines: SettlementLineBody[] = [];
    for await (const line of service.client.ledger.settlementLines()) lines.push(line);
    const ofOrder = (order: string) =>
      lines.filter(({ order_id: id }) => id === order).map(({ kind, payable, total }) => [kind, payable, total]);
    expect(ofOrder('after the fee').slice(-2)).toEqual([
      ['payment', '13.50', '0.00'],
      ['service_fee', '-0.10125', '-0.10125'],
    ]);
    expect(ofOrder('before the fee').at(-1)).toEqual(['payment', '13.50', '0.00']);
    const { data: owed } = await service.client.ledger.balances();
    for (const { network, coin, total } of owed) {
      const own = lines.filter((line) => line.network === network && line.coin === coin);
      expect(formatAmount(own.reduce((sum, line) => sum + signedAmountOf(line.total), 0n))).toBe(total);
    }
    const trial = JSON.parse(await cli('trial-balance', '--json')) as { accounts: Balance[]; balanced: boolean };
    expect(trial.balanced).toBe(true);
    expect(trial.accounts.filter(({ account }) => account === 'income:service-fees')).toMatchObject([
      { network: 'bsc', credit: '0.10125' },
    ]);
    expect(await cli('account', 'income:service-fees')).toContain('after the fee');
    expect((await cli('export')).match(/service_fee,.*income:service-fees,bsc,USDT,-0\.101250,/g)).toHaveLength(1);
  }, 120_000);

  it('are the operator’s over HTTP, with the token only, and are exported whole', async () => {
    expect((await fetch(`${adminUrl}/admin/ledger/trial-balance`)).status).toBe(401);
    expect((await admin('trial-balance', { headers: { Authorization: `Bearer ${token}x` } })).status).toBe(401);
    expect(await (await admin('trial-balance')).json()).toEqual(JSON.parse(await cli('trial-balance', '--json')));
    expect((await admin('accounts/assets:pocket')).status).toBe(400);
    expect(await (await admin('accounts/assets:treasury')).json()).toMatchObject({
      account: 'assets:treasury',
      next_cursor: null,
    });
    expect((await admin('nothing')).status).toBe(404);
    expect((await admin('trial-balance', { method: 'POST' })).status).toBe(405);
    expect(await (await admin('trial-balance?as_of=yesterday')).json()).toMatchObject({
      error: { code: 'invalid_request' },
    });
    const numbers = [];
    for (let cursor = ''; ;) {
      const page = (await (await admin(`journal?limit=3&cursor=${cursor}`)).json()) as {
        entries: { entry: number }[];
        next_cursor: string | null;
      };
      numbers.push(...page.entries.map(({ entry }) => entry));
      if (page.next_cursor === null) break;
      cursor = page.next_cursor;
    }
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
    const file = join(directory, 'journal.csv');
    await cli('export', '--output', file);
    const written = readFileSync(file, 'utf8');
    expect(await (await admin('export?format=csv')).text()).toBe(written);
    expect(
      new Set(
        written
          .trim()
          .split('\r\n')
          .slice(1)
          .map((row) => row.split(',')[0]),
      ).size,
    ).toBe(numbers.length);
  });

  it('close a month that is over, and no other', async () => {
    const thisMonth = new Date().toISOString().slice(0, 7);
    await expect(cli('close', thisMonth)).rejects.toMatchObject({
      stderr: expect.stringContaining('is not over yet') as string,
    });
    const answer = await admin('periods/2026-01/close', { method: 'POST' });
    expect(await answer.json()).toMatchObject({ period: '2026-01' });
    expect(await cli('trial-balance', '--as-of', '2026-01-31')).toContain(
      '2026-01 is closed; the books agree with its seal.',
    );
  });

  it('are read from the data directory as well, when no service runs', async () => {
    await service.kill();
    expect(await cli('trial-balance')).toContain('Debits equal credits.');
    expect(
      (await cli('export', '--format', 'jsonl'))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { kind: string })
        .at(-1)?.kind,
    ).toBe('period_closed');
  });
});
