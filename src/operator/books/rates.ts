import { isFiat } from '../../domain/money/currencies.ts';
import { BOOKED_COINS } from '../../domain/money/ledger.ts';
import { toSec } from '../../ports/clock.ts';
import type { IssueDeps } from '../../features/ledger/documents/issue.ts';
import { BookRates, parseRates } from '../../features/ledger/valuation/book-rates.ts';
import { valued } from '../../features/ledger/valuation/worth.ts';
import { recordRates } from '../../features/ledger/valuation/record-rates.ts';
import { actorOf } from '../server/acts.ts';
import { refused, requiredText, type AdminArguments, type AdminCommands } from '../server/commands.ts';

const MAX_RATES = 1_000;
const MAX_SOURCE = 100;

/** Values of coins in the currency of the operator's books, from an outside source. */
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
      if (early) return refused(`rates: ${new Date(early.atSec * 1000).toISOString()} is in the future`);
      const done = await recordRates(deps, { currency, source, rates, actor: actorOf(args) });
      return 'refused' in done
        ? refused(done.refused)
        : { currency, source, recorded: rates.length, event: done.event };
    },
    'ledger.rates': async (args) => {
      if (args['currency'] === undefined) return { currencies: await BookRates.currencies(deps.store) };
      const currency = currencyIn(args);
      const known = await BookRates.read(deps.store, currency);
      const nowSec = toSec(deps.clock.nowMs());
      const coins = BOOKED_COINS.flatMap((coin) => {
        const rates = known.summary(coin);
        return rates ? [{ ...rates, is_current: valued(known, { coin, units: 0n }, nowSec) !== null }] : [];
      });
      return { currency, coins };
    },
  };
}

export function currencyIn(args: AdminArguments): string {
  const currency = requiredText(args, 'currency').toUpperCase();
  return isFiat(currency) ? currency : refused('currency must be an ISO 4217 code such as EUR');
}
