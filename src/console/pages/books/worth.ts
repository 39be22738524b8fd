import { html, type Html } from '../../../runtime/http/html.ts';
import { isFiat } from '../../../domain/money/currencies.ts';
import { run, type ConsoleDeps } from '../../deps.ts';
import type { Field } from '../../parts.ts';
import { Refused } from '../../visit.ts';
import { words, type Words } from '../../words.ts';

/** A value, with the recorded rate behind it. */
export interface Value {
  readonly amount: string;
  readonly rate: string;
  readonly rate_at: number;
  readonly source: string;
}

interface Wanted {
  /** Empty if no currency was chosen or no rates are recorded. */
  readonly currency: string;
  /** The currencies in which rates are recorded. */
  readonly currencies: readonly string[];
}

/** The currency in the URL, else the first one with recorded rates. Throws `Refused`. */
export async function currencyOf(deps: ConsoleDeps, query: URLSearchParams): Promise<Wanted> {
  const { currencies } = await run<{ currencies: string[] }>(deps, 'ledger.rates').catch(() => ({ currencies: [] }));
  const currency = (query.get('currency') ?? currencies[0] ?? '').toUpperCase();
  if (currency !== '' && !isFiat(currency)) throw new Refused(words`currency must be an ISO 4217 code such as EUR`);
  return { currency, currencies };
}

export const currencyField = (currency: string, currencies: readonly string[]): Field => ({
  name: 'currency',
  label: words`Worth in`,
  value: currency,
  options: [
    ...[...new Set([...currencies, ...(currency === '' ? [] : [currency])])].map((one) => [one, one] as const),
    ['', currencies.length === 0 ? words`no rates` : words`not shown`],
  ],
});

export const WORTH_NOTE = words`Values use the newest rate recorded at the time, at most seven days old. Unknown: there is no such rate.`;

/** The value, with its rate, the day of the rate and its source. */
export function valueText(value: Value | null | undefined, currency: string): Html | Words | string | null {
  if (value === undefined) return null;
  if (value === null) return words`unknown in ${currency}: no rate was recorded at the time`;
  const day = new Date(value.rate_at * 1000).toISOString().slice(0, 10);
  return html`${value.amount} ${currency}<small>${words`at ${value.rate} of ${day}, ${value.source}`}</small>`;
}
