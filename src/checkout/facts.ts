import { html, type Html } from '../runtime/http/html.ts';
import { coinText } from './coin-text.ts';

/** Names and values of a sheet; rows without a value are left out. */
export const factsHtml = (rows: readonly (readonly [name: string, value: Html | null])[]): Html =>
  html`<dl>
    ${rows.map(
      ([name, value]) =>
        value &&
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;

export const coins = (amount: string, coin: string): Html =>
  html`<bdi class="number">${coinText(amount)} ${coin}</bdi>`;
