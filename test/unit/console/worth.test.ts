import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AdminArguments } from '../../../src/operator/server/commands.ts';
import { ConsoleWorld, termsIn, type TestPerson } from '../../support/console-world.ts';

const ACCOUNT = 'assets:deposit-wallets';
const WORTH = { amount: '9.20', rate: '0.92', rate_at: 1_799_971_200, source: 'ECB' };
const line = (entry: number, worth: typeof WORTH | null) => ({
  ...{ entry, kind: 'deposit', recorded_day: '2027-01-15', network: 'bsc', coin: 'USDT' },
  ...{ debit: '10.00', credit: null, balance: '10.00', order_id: null, tx_hash: null, worth },
});
const sweep = (id: string | null, index: number, estimate: object) => ({
  ...{ id, mode: 'live', network: 'bsc', coin: 'USDT', amount: '10.00', from_address: `0xa${index}` },
  ...{ to_address: '0xbb', note: '', ...estimate },
});

describe('values and costs', () => {
  let world: ConsoleWorld;
  let person: TestPerson;
  let currencies: string[];
  let isCurrent: boolean;
  let fees: (string | null)[];
  /** The chain answers once this settles. */
  let chain: Promise<unknown>;
  const asked: [string, AdminArguments][] = [];

  beforeAll(async () => {
    const noted =
      (name: string, answer: (args: AdminArguments) => object | Promise<object>) =>
      async (args: AdminArguments): Promise<never> => {
        asked.push([name, args]);
        return (await answer(args)) as never;
      };
    world = await ConsoleWorld.start({
      commands: {
        'ledger.rates': noted('rates', ({ currency }) =>
          currency === undefined
            ? { currencies }
            : { currency, coins: [{ coin: 'BNB', last_rate: '600', is_current: isCurrent }] },
        ),
        'ledger.account': noted('account', () => ({
          opening: [],
          closing: [{ network: 'bsc', coin: 'USDT', balance: '10.00', ...(currencies.length > 0 && { worth: WORTH }) }],
          lines: [line(1, WORTH), line(2, null)],
          next_cursor: null,
        })),
        'ledger.trial-balance': noted('trial-balance', () => ({
          ...{ entries: 1, balanced: true, totals: [] },
          accounts: [
            { account: 'assets:treasury', network: 'bsc', coin: 'USDT', debit: '7.00', credit: null, worth: '6.44' },
            { account: 'assets:treasury', network: 'bsc', coin: 'BNB', debit: '1.00', credit: null, worth: null },
          ],
        })),
        'treasury.status': noted('status', () => ({
          signers: [],
          treasuries: ['bsc', 'tron'].map((network) => ({ mode: 'live', network, address: `treasury of ${network}` })),
        })),
        'treasury.balances': noted('balances', async ({ network }) => {
          await chain;
          if (network === 'tron') throw new Error('no provider could answer');
          return { treasuries: [{ mode: 'live', network, coins: { USDT: '5.00' }, gas: '1.00' }] };
        }),
        'treasury.sweep': noted('sweep', async ({ dryRun, estimate }) => {
          if (estimate !== false) await chain;
          const estimated = (fee: string | null): object =>
            estimate === false ? {} : { note: 'ready', fee, fee_coin: 'BNB' };
          return {
            sweeps: fees.map((fee, index) => sweep(dryRun === true ? null : 'sw_1', index + 1, estimated(fee))),
          };
        }),
      },
    });
    person = await world.person('Fay', { role: 'finance' });
  });
  beforeEach(() => {
    [currencies, isCurrent, fees, chain] = [['EUR'], true, ['0.01', '0.02'], Promise.resolve()];
    world.nowMs += 60_000;
    asked.length = 0;
  });
  afterAll(() => world.close());

  const bodyOf = async (path: string): Promise<string> => (await world.get(path, person)).body.replaceAll(/\s+/g, ' ');

  it('an account shows its value with the rate, its day and its source, or that there is none', async () => {
    const page = await bodyOf(`/books/live/account?account=${ACCOUNT}`);
    expect(page).toContain('9.20 EUR<small>at 0.92 of 2027-01-15, ECB</small>');
    expect(page).toContain('unknown in EUR: no rate was recorded at the time');
    expect(asked.find(([name]) => name === 'account')![1]).toMatchObject({ currency: 'EUR' });
    const file = (await world.get(`/books/live/account.csv?account=${ACCOUNT}`, person)).body.split('\r\n');
    expect(file[0]).toContain('Worth in EUR,Rate,Rate of,Rate by');
    expect(file[1]).toContain('9.20,0.92,2027-01-15T00:00:00.000Z,ECB');
    expect(file[2]).toContain('10.00 USDT,,,,,');
  });

  it('an account says nothing of worth where no rates are recorded, or nobody wants it', async () => {
    for (const [known, query] of [
      [[], ''],
      [['EUR'], '&currency='],
    ] as const) {
      currencies = [...known];
      expect(await bodyOf(`/books/live/account?account=${ACCOUNT}${query}`)).not.toContain('Worth in EUR');
    }
    expect((await world.get(`/books/live/account?account=${ACCOUNT}&currency=NOPE`, person)).status).toBe(400);
  });

  it('balances are shown next to the books, even while a network does not respond', async () => {
    const file = (await world.get('/treasury/balances.csv', person)).body.split('\r\n');
    expect(file.slice(0, 5)).toEqual([
      'Network,Coin,On the chain,In the books,Difference,Books in EUR,Address',
      'bsc,USDT,5.00,7.00,-2.00,6.44,treasury of bsc',
      'bsc,BNB gas,1.00,1.00,0.00,unknown,treasury of bsc',
      'tron,TRX gas,cannot be read now,0.00,,0,treasury of tron',
      '',
    ]);
  });

  it('a sweep says what it would cost, in the coin and in the currency, and which of it is unknown', async () => {
    const page = await bodyOf('/treasury/sweeps?network=bsc&min=5');
    expect(page).toContain('0.01 BNB<small>about 6.00 EUR</small>');
    expect(page).toContain('Total: about 0.03 BNB');
    expect(asked.find(([name]) => name === 'sweep')![1]).toMatchObject({
      ...{ mode: 'live', network: 'bsc', min: '5', dryRun: true },
    });
    isCurrent = false;
    expect(await bodyOf('/treasury/sweeps?network=bsc')).toContain('0.01 BNB<small>unknown in EUR</small>');
    fees = ['0.01', null];
    world.nowMs += 60_000;
    expect(await bodyOf('/treasury/sweeps?network=bsc')).toContain('Total: unknown');
    expect((await world.get('/treasury/sweeps?network=moon', person)).status).toBe(400);
  });

  it('a chain that takes its time holds up no page: what the books know is shown, and the rest follows', async () => {
    const answer = Promise.withResolvers<void>();
    chain = answer.promise;
    const sweeps = '/treasury/sweeps?network=bsc&min=7';
    const page = await bodyOf(sweeps);
    expect(page).toContain('Asking bsc …');
    expect(page).toMatch(/0xa1.*10\.00 USDT.*being looked up/);
    expect(page).not.toContain('Total');
    // The test before read it.
    expect(await bodyOf('/treasury/balances')).toMatch(/5\.00<small data-asking>\d+ \w+ ago, being read again/);
    answer.resolve();
    await new Promise((done) => setImmediate(done));
    expect(await bodyOf(sweeps)).toMatch(/As of .*0\.01 BNB.*Total: about 0\.03 BNB/);
    expect(await bodyOf('/treasury/balances')).toMatch(/5\.00<small >0 s ago/);
  });

  it('sweeps are signed by address and amount before they are ordered', async () => {
    const form = { network: 'bsc', coin: '', min: '5', reason: 'cheap gas', back: '/treasury/sweeps?mode=live' };
    const terms = termsIn((await world.post('/treasury/sweeps', person, form)).body);
    expect(terms?.text).toContain('sweep: 10.00 USDT from 0xa1');
    const planned = asked.filter(([name]) => name === 'sweep').map(([, { dryRun, estimate }]) => [dryRun, estimate]);
    expect(planned).toEqual([[true, false]]);
  });
});
