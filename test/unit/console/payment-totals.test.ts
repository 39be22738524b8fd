import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AdminArguments } from '../../../src/operator/server/commands.ts';
import { ConsoleWorld, SHOP, type TestPerson } from '../../support/console-world.ts';

const NOW = Date.parse('2027-01-15T08:00:00Z');
const asked: AdminArguments[] = [];
const of = (day: string | null, coin: string, payments: number, due: string) => ({
  ...{ day, coin, payments, due },
  ...{ received: '1234567.89', refunded: '0.000001' },
});

let world: ConsoleWorld;
let support: TestPerson;
beforeAll(async () => {
  world = await ConsoleWorld.start({
    commands: {
      'session.totals': async (args) => {
        asked.push(args);
        const totals =
          args['byDay'] === true
            ? [
                of('2027-01-10', 'USDT', 3, '31.50'),
                of('2027-01-15', 'USDC', 1, '7.00'),
                of('2027-01-15', 'USDT', 2, '20.00'),
              ]
            : [of(null, 'USDC', 1, '7.00'), of(null, 'USDT', 5, '51.50')];
        return { mode: 'live', totals };
      },
    },
  });
  world.nowMs = NOW;
  support = await world.person('Ada', { role: 'support', merchantId: SHOP.id });
});
afterAll(() => world.close());

const words = (body: string): string => body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');

it('a list of payments shows what its filters add up to, coin by coin', async () => {
  const { status, body } = await world.get(`/m/${SHOP.id}/payments?status=unpaid&from=2027-01-01&order=o-1`, support);
  expect(status).toBe(200);
  expect(asked.at(-1)).toMatchObject({
    merchant_id: SHOP.id,
    status: 'unpaid',
    from: '2027-01-01',
    to: '',
    order: 'o-1',
  });
  expect(words(body)).toContain('USDC 1 7.00 1234567.89 0.000001 USDT 5 51.50 1234567.89 0.000001');
  expect(words(body)).toContain('6 payments');
});

it('totals by day are a file, under the filters of the list', async () => {
  const { body } = await world.get(`/m/${SHOP.id}/payments/totals.csv?status=paid`, support);
  expect(body.split('\r\n').slice(0, 2)).toEqual([
    'Day,Coin,Payments,Due,Received,Refunded',
    '2027-01-10,USDT,3,31.50,1234567.89,0.000001',
  ]);
  expect(asked.at(-1)).toMatchObject({ merchant_id: SHOP.id, status: 'paid', byDay: true });
});

it('the first page of a merchant charts number and volume of paid payments, with the same numbers in a table', async () => {
  const { body } = await world.get(`/m/${SHOP.id}`, support);
  expect(asked.at(-1)).toMatchObject({ status: 'paid', from: '2027-01-02', byDay: true });
  const charts = [...body.matchAll(/<svg class="chart".*?aria-label="([^"]+)">(.*?)<\/svg>/gs)];
  expect(charts.map(([, title, drawn]) => [title, [...drawn!.matchAll(/height="([1-9]\d*)"/g)].length])).toEqual([
    ['Volume in USDC', 1],
    ['Volume in USDT', 2],
    ['Number of payments', 2],
  ]);
  expect(words(body)).toContain('2027-01-10 3 0.00 31.50 2027-01-11 0 0.00 0.00');
  expect(words(body)).toContain('2027-01-15 3 7.00 20.00');
  expect(body).toContain(`/m/${SHOP.id}/payments/totals.csv?status=paid&amp;from=2027-01-02`);
});

it('nobody sees the totals of another merchant', async () => {
  const other = await world.person('Eve', { role: 'support', merchantId: 'mer_other' as typeof SHOP.id });
  const before = asked.length;
  expect((await world.get(`/m/${SHOP.id}/payments/totals.csv`, other)).status).toBe(404);
  expect(asked).toHaveLength(before);
});
