import type { Clock } from '../../ports/clock.ts';
import { coinbaseProvider } from './coinbase.ts';
import { coingeckoProvider } from './coingecko.ts';
import { krakenProvider } from './kraken.ts';
import { MarketRates } from './market-rates.ts';
import type { OnServerTime } from './quote-source.ts';
import type { RateProvider } from './provider.ts';
import { staticProvider } from './static-rates.ts';

export interface RatesSettings {
  /** `RATE_PROVIDERS`, in the order in which evidence lists them. */
  readonly providers: readonly ('static' | 'coinbase' | 'kraken' | 'coingecko')[];
  /** `RATE_STATIC`; used only if `static` is among the providers. */
  readonly staticText: string;
  /** `RATE_<PROVIDER>_URL`: base URLs; absent: the provider's own. */
  readonly urls: {
    readonly coinbase?: string | undefined;
    readonly kraken?: string | undefined;
    readonly coingecko?: string | undefined;
  };
  /** `RATE_MAX_AGE_SECONDS`. */
  readonly maxAgeSec: number;
}

/** Builds the rates of an installation. Throws when `RATE_STATIC` is invalid or no provider is named. */
export function createRates(
  settings: RatesSettings,
  clock: Clock,
  onProviderFailure?: (provider: string, message: string) => void,
  onServerTime?: OnServerTime,
): MarketRates {
  if (settings.providers.length === 0) throw new Error('RATE_PROVIDERS names no provider');
  const providers = [...new Set(settings.providers)].map((name): RateProvider => {
    switch (name) {
      case 'static':
        return staticProvider(settings.staticText);
      case 'coinbase':
        return coinbaseProvider(settings.urls.coinbase);
      case 'kraken':
        return krakenProvider(settings.urls.kraken);
      case 'coingecko':
        return coingeckoProvider(settings.urls.coingecko);
    }
  });
  return new MarketRates({
    providers,
    clock,
    maxAgeMs: settings.maxAgeSec * 1000,
    ...(onProviderFailure && { onProviderFailure }),
    ...(onServerTime && { onServerTime }),
  });
}
