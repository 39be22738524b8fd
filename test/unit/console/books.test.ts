import { afterAll, beforeAll, expect, it } from 'vitest';
import { ConsoleWorld, type TestPerson } from '../../support/console-world.ts';

const closed = { period: '2026-12', closed_at: 1_799_000_000, actor: 'Fay', entry: 'e-1' };
const entry = {
  ...{ entry: 1, id: 'e-2', kind: 'deposit', recorded_at: 1_799_000_000, recorded_day: '2027-01-03', chain_time: null },
  ...{ merchant_id: 'mer_shop', order_id: 'order-1', session_id: 'cs_one', tx_hash: null, block_number: null },
  ...{ value: null, lines: [] },
};

const reserved = { account: 'liabilities:merchants:mer_shop:refunds-reserved', network: 'bsc', coin: 'USDT' };

let balances: readonly (typeof reserved & { readonly debit: null; readonly credit: string })[] = [];
let periods: readonly (typeof closed)[] = [];
let world: ConsoleWorld;
let finance: TestPerson;
beforeAll(async () => {
  const commands = {
    'ledger.periods': async () => ({ periods }),
    'treasury.moves': async () => ({ moves: [] }),
    'ledger.trial-balance': async () => ({ entries: 3, balanced: true, accounts: balances }),
    'ledger.journal': async () => ({ entries: [entry], next_cursor: null }),
  };
  world = await ConsoleWorld.start({ commands });
  finance = await world.person('Fay', { role: 'finance' });
});
afterAll(() => world.close());

it('offers to close the month before this one, until that is closed', async () => {
  const offered = async (): Promise<string | undefined> =>
    /name="month"\s+value="([^"]*)"/.exec((await world.get('/books/live/months', finance)).body)?.[1];
  expect(await offered()).toBe('2026-12');
  periods = [closed];
  expect(await offered()).toBe('');
});

it('the journal says where the proof of an entry is verified', async () => {
  const { status, body } = await world.get('/books/live/journal', finance);
  expect(status).toBe(200);
  const after = body.slice(body.indexOf('A proof is a file to download.'));
  expect(after).toMatch(/^A proof is a file to download\. <a href="\/audit\?mode=live"\s*>Verify it<\/a>/);
});

it('a browser that translates pages leaves alone what the passkey signs', async () => {
  const { body } = await world.post('/books/live/months', finance, { month: '2026-11', reason: 'nothing is open' });
  expect(body).toMatch(
    /<pre class="terms" data-text translate="no"[^>]*><span>Quittance console\n<\/span><span>action: close a month/,
  );
});

it('a refund that is not paid yet is a payout in progress', async () => {
  const shown = async (): Promise<string | undefined> =>
    /Payouts in progress.*?data-name="Result"\s*>([^<]*)</s.exec(
      (await world.get('/books/live/months', finance)).body,
    )?.[1];
  expect(await shown()).toBe('none');
  balances = [
    { ...reserved, debit: null, credit: '2.00' },
    { ...reserved, network: 'ethereum', debit: null, credit: '0.50' },
    { ...reserved, coin: 'USDC', debit: null, credit: '0.00' },
  ];
  expect(await shown()).toBe('0, and refunds of 2.50 USDT');
});
