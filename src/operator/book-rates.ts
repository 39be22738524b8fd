import { isCurrency } from '../domain/currencies.ts';
import type { BookRatesRecorded } from '../domain/events/book-rate-events.ts';
import { BOOKED_COINS } from '../domain/ledger.ts';
import { isCoin } from '../domain/money.ts';
import { BOOK_RATES_STREAM } from '../domain/streams.ts';
import { toSec } from '../ports/clock.ts';
import type { IssueDeps } from '../features/ledger/documents/issue.ts';
import { BookRates, parseRates } from '../features/ledger/valuation/book-rates.ts';
import { appendNext } from '../runtime/commands/append-next.ts';
import { actorOf } from './acts.ts';
import { refused, requiredText, type AdminArguments, type AdminCommands } from './commands.ts';

const MAX_RATES = 1_000;
const MAX_SOURCE = 100;

/** What coins were worth in the currency that the operator's books are kept in, by a source outside. */
export function bookRateCommands(deps: IssueDeps): AdminCommands {
  return {
    'ledger.record-rates': async (args) => {
      const currency = currencyIn(args);
      const source = requiredText(args, 'source');
      if (source.length > MAX_SOURCE) return refused(`source must have at most ${MAX_SOURCE} characters`);
      const rates = parseRates(requiredText(args, 'rates'));
      if (typeof rates === 'string') return refused(`rates: ${rates}`);
      if (rates.length > MAX_RATES) return refused(`rates: at most ${MAX_RATES} at a time`);
      const nowSec = toSec(deps.clock.nowMs());
      const early = rates.find(({ atSec }) => atSec > nowSec);
      if (early) return refused(`rates: ${new Date(early.atSec * 1000).toISOString()} is not yet`);
      const last = await deps.store.lastOfStream(BOOK_RATES_STREAM);
      const known = await BookRates.read(deps.store, currency);
      const twice = rates.find(({ coin, atSec }) => known.has(coin, atSec));
      if (twice)
        return refused(`rates: ${twice.coin} has a rate of ${new Date(twice.atSec * 1000).toISOString()} already, and a rate is never changed`);
      const actor = actorOf(args);
      const event: BookRatesRecorded = { type: 'BookRatesRecorded', data: { currency, source, rates, actor, recordedAtSec: nowSec } };
      const { result, encoded } = await appendNext(deps, { stream: BOOK_RATES_STREAM, last, event, actor });
      return result.ok ? { currency, source, recorded: rates.length, event: encoded.id } : refused('others write at the same moment: try again');
    },
    'ledger.rates': async (args) => {
      const currency = currencyIn(args);
      const known = await BookRates.read(deps.store, currency);
      return { currency, coins: BOOKED_COINS.flatMap((coin) => known.summary(coin) ?? []) };
    },
  };
}

export function currencyIn(args: AdminArguments): string {
  const currency = requiredText(args, 'currency').toUpperCase();
  return isCurrency(currency) && !isCoin(currency) ? currency : refused('currency must be an ISO 4217 code such as EUR');
}
