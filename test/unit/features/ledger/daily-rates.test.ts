import { describe, expect, it } from 'vitest';
import { BookRates } from '../../../../src/features/ledger/valuation/book-rates.ts';
import { RecordDailyRates } from '../../../../src/features/ledger/valuation/record-daily.process.ts';
import { bookRateCommands } from '../../../../src/operator/books/rates.ts';
import { nodeRandom } from '../../../../src/adapters/node/random.ts';
import type { DailyRates } from '../../../../src/ports/rates/daily-rates.ts';
import { silentLog } from '../../../../src/ports/log.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';
import { ManualClock } from '../../../support/price-feed.ts';

const HOUR_MS = 3_600_000;
/** A quarter to four in the morning, UTC. */
const NOW_MS = Date.parse('2026-11-24T03:45:00Z');

/** A source with these rates, by coin and day. */
const sourceOf = (source: string, rates: Record<string, Record<string, string>>) => {
  const asked: string[] = [];
  const daily: DailyRates = {
    source,
    rates: async (coin, currency, days) => {
      asked.push(`${coin} ${days.join(' ')}`);
      const ofCoin = rates[coin];
      if (ofCoin === undefined) throw new Error('answered 503');
      return new Map(Object.entries(ofCoin).filter(([day]) => currency === 'EUR' && days.includes(day)));
    },
  };
  return Object.assign(daily, { asked });
};

async function recording(
  sources: readonly DailyRates[],
  coins: readonly string[],
  firstDay = '2026-11-23',
  clock = new ManualClock(NOW_MS),
) {
  const store = new MemoryEventStore();
  const deps = { store, clock, random: nodeRandom, log: silentLog, currency: 'EUR', sources, everyMs: 1e9 };
  const process = new RecordDailyRates({ ...deps, booked: async () => ({ coins, firstDay }) });
  await process.round();
  const rates = async (coin: string) => {
    const known = await BookRates.read(store, 'EUR');
    return ['2026-11-22', '2026-11-23', '2026-11-24'].map((day) => {
      const rate = known.newest(coin, Date.parse(day) / 1000);
      return rate && rate.atSec === Date.parse(day) / 1000 ? `${rate.rate} ${rate.source}` : null;
    });
  };
  return { process, rates, store, clock, deps };
}

const USDT = { '2026-11-22': '0.921', '2026-11-23': '0.922', '2026-11-24': '0.923' };

describe('daily rates', () => {
  it('are recorded from the day before the first entry, once, each with its source and day', async () => {
    const kraken = sourceOf('Kraken', { USDT });
    const { process, rates, store } = await recording([kraken], ['USDT']);
    expect(await rates('USDT')).toEqual(['0.921 Kraken', '0.922 Kraken', '0.923 Kraken']);
    expect(process.missing()).toEqual([]);
    await process.round();
    expect(kraken.asked).toEqual(['USDT 2026-11-22 2026-11-23 2026-11-24']);
    const events = await store.readStream('ledger-rates');
    expect(events.map(({ data }) => JSON.parse(data))).toMatchObject([
      { currency: 'EUR', source: 'Kraken', actor: 'daily-rates', recordedAtSec: NOW_MS / 1000 },
    ]);
  });

  it('come from the next source if one lacks the day or does not respond', async () => {
    const [kraken, gecko] = [
      sourceOf('Kraken', { USDT: { '2026-11-23': '0.922' } }),
      sourceOf('CoinGecko', { USDT, BNB: { '2026-11-22': '800' } }),
    ];
    const { process, rates } = await recording([kraken, gecko], ['USDT', 'BNB']);
    expect(await rates('USDT')).toEqual(['0.921 CoinGecko', '0.922 Kraken', '0.923 CoinGecko']);
    expect(await rates('BNB')).toEqual(['800 CoinGecko', null, null]);
    expect(process.missing()).toEqual([{ coin: 'BNB', day: '2026-11-23' }]);
  });

  it('count as missing from the sixth hour of a day, and are requested again until they are there', async () => {
    const days: Record<string, string> = { ...USDT };
    delete days['2026-11-24'];
    const { process, rates, clock } = await recording([sourceOf('Kraken', { USDT: days })], ['USDT']);
    expect(process.missing()).toEqual([]);
    clock.advance(3 * HOUR_MS);
    await process.round();
    expect(process.missing()).toEqual([{ coin: 'USDT', day: '2026-11-24' }]);
    days['2026-11-24'] = '0.924';
    await process.round();
    expect(process.missing()).toEqual([]);
    expect((await rates('USDT'))[2]).toBe('0.924 Kraken');
  });

  it('are never derived from others: a day without a source stays without a rate', async () => {
    const { process, rates } = await recording(
      [sourceOf('Kraken', { USDT: { '2026-11-22': '0.921', '2026-11-24': '0.923' } })],
      ['USDT'],
    );
    expect(await rates('USDT')).toEqual(['0.921 Kraken', null, '0.923 Kraken']);
    expect(process.missing()).toEqual([{ coin: 'USDT', day: '2026-11-23' }]);
  });

  it('that jumped fourfold, or are not an amount, are refused', async () => {
    const slipped = { ...USDT, '2026-11-23': '9.22' };
    const { process, rates } = await recording(
      [sourceOf('Kraken', { USDT: slipped, ETH: { '2026-11-22': '1e3', '2026-11-23': '0' } })],
      ['ETH', 'USDT'],
    );
    expect(await rates('USDT')).toEqual(['0.921 Kraken', null, '0.923 Kraken']);
    expect(await rates('ETH')).toEqual([null, null, null]);
    expect(process.missing()).toContainEqual({ coin: 'USDT', day: '2026-11-23' });
  });

  it('are not requested if an operator recorded one for the day', async () => {
    const kraken = sourceOf('Kraken', { USDT });
    const { process, deps } = await recording([kraken], [], '2026-11-23');
    const record = bookRateCommands(deps)['ledger.record-rates']!;
    await record({ currency: 'EUR', source: 'ECB', rates: '2026-11-23T16:00:00Z,USDT,0.93', actor: 'olga' });
    const again = new RecordDailyRates({ ...deps, booked: async () => ({ coins: ['USDT'], firstDay: '2026-11-23' }) });
    await again.round();
    expect(kraken.asked).toEqual(['USDT 2026-11-22 2026-11-24']);
    expect(again.missing()).toEqual([]);
    expect(process.missing()).toEqual([]);
  });

  it('wait for a quarter of an hour after midnight, and go back a year at most', async () => {
    const kraken = sourceOf('Kraken', { USDT: {} });
    await recording([kraken], ['USDT'], '2020-01-01', new ManualClock(Date.parse('2026-11-24T00:14:00Z')));
    const days = kraken.asked[0]!.split(' ').slice(1);
    expect([days.length, days[0], days.at(-1)]).toEqual([365, '2025-11-24', '2026-11-23']);
  });

  it('do not exist without entries: nothing is requested', async () => {
    const kraken = sourceOf('Kraken', { USDT });
    const { deps } = await recording([kraken], []);
    const process = new RecordDailyRates({ ...deps, booked: async () => null });
    await process.round();
    expect([process.missing(), kraken.asked]).toEqual([[], []]);
  });
});
