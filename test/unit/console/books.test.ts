import { afterAll, beforeAll, expect, it } from 'vitest';
import { ConsoleWorld, type TestPerson } from '../../support/console-world.ts';

const closed = { period: '2026-12', closed_at: 1_799_000_000, actor: 'Fay', entry: 'e-1' };
const entry = {
  ...{ entry: 1, id: 'e-2', kind: 'deposit', recorded_at: 1_799_000_000, recorded_day: '2027-01-03', chain_time: null },
  ...{ merchant_id: 'mer_shop', order_id: 'order-1', session_id: 'cs_one', tx_hash: null, block_number: null },
  ...{ value: null, lines: [] },
};

let periods: readonly (typeof closed)[] = [];
let world: ConsoleWorld;
let finance: TestPerson;
beforeAll(async () => {
  const commands = {
    'ledger.periods': async () => ({ periods }),
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
  expect(body).toMatch(/<pre class="terms" data-text translate="no"[^>]*>Quittance console\naction: close a month/);
});
