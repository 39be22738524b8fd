import type { DailyRates } from '../../ports/rates/daily-rates.ts';
import type { RatesSettings } from './create-rates.ts';
import { coingeckoDays } from './coingecko-days.ts';
import { krakenDays } from './kraken-days.ts';

/** Those of the providers that have historical rates, in their order. */
export function createDailyRates({ providers, urls }: Pick<RatesSettings, 'providers' | 'urls'>): DailyRates[] {
  return [...new Set(providers)].flatMap((name) => {
    if (name === 'kraken') return [krakenDays(urls.kraken)];
    return name === 'coingecko' ? [coingeckoDays(urls.coingecko)] : [];
  });
}
