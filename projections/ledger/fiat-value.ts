import { isCurrency, shownDecimals } from '../../src/domain/money/currencies.ts';
import type { Valuation } from '../../src/domain/events/coin-events.ts';
import type { FiatValue } from '../../src/domain/money/ledger.ts';
import { absolute, formatAmount, isCoin, parseAmount, SCALE } from '../../src/domain/money/money.ts';
import type { SessionBooks } from './session-books.ts';

/**
 * The value of units of the session's coin in the merchant's currency, rounded half up to its minor unit. Null if the
 * currency is the coin itself.
 */
export function fiatValueOf(books: SessionBooks, units: bigint, quote: Valuation | null): FiatValue | null {
  const { currency, rate } = books;
  if (rate === null || isCoin(currency) || !isCurrency(currency)) return null;
  const atLockedRate = valueAt(units, rate, currency);
  if (atLockedRate === null) return null;
  const atQuote = quote?.currency === currency ? valueAt(units, quote.rate, currency) : null;
  const text = (value: bigint): string => formatAmount(value, shownDecimals(currency));
  return {
    currency,
    atLockedRate: text(atLockedRate),
    atSettlementQuote: atQuote === null ? null : text(atQuote),
    difference: atQuote === null ? null : text(atQuote - atLockedRate),
  };
}

/** `units / rate`, where the rate is units of the coin per unit of the currency. */
function valueAt(units: bigint, rate: string, currency: string): bigint | null {
  const divisor = parseAmount(rate);
  if (divisor === null || divisor === 0n) return null;
  const step = 10n ** BigInt(SCALE - shownDecimals(currency));
  const size = absolute(units);
  const steps = (2n * size * 10n ** BigInt(SCALE) + divisor * step) / (2n * divisor * step);
  return units < 0n ? -steps * step : steps * step;
}
