import { html, when, type Html } from './html.ts';
import type { PageInput } from './page-input.ts';
import { sentenceHtml } from './speech.ts';

/** A line item as the merchant's request was accepted (`lineItem` of the session schema). */
interface ShownItem {
  readonly price_data: {
    readonly currency: string;
    readonly unit_amount: string;
    readonly product_data: { readonly name: string; readonly description?: string };
  };
  readonly quantity?: number;
}

/** Longer orders start closed, so that the address stays on the first screen. */
const OPEN_ITEMS = 3;

/** What is bought and what it costs. */
export function orderHtml(input: PageInput): Html {
  const { session } = input;
  return html`<p class="due">
      <bdi><span class="amount">${session.dueAmount}</span> ${session.dueCoin}</bdi>
    </p>
    ${session.rateLock !== null && rateHtml(input, session.rateLock.rate)}
    ${session.personal?.description && html`<p class="description"><bdi>${session.personal.description}</bdi></p>`} ${itemsHtml(input)}`;
}

function rateHtml({ session, status, speech }: PageInput, rate: string): Html {
  const values = { total: speech.money(session.amount, session.currency), rate: `1 ${session.currency} = ${speech.number(rate)} ${session.dueCoin}` };
  const holds = status.toSend !== null;
  const sentence = holds
    ? speech.sentence('rate', { ...values, deadline: speech.moment(session.expiresAtSec) })
    : speech.sentence('rate_past', values);
  return html`<p class="rate">${sentenceHtml(sentence)}</p>`;
}

function itemsHtml({ session, speech }: PageInput): Html | null {
  const items = (session.personal?.lineItems ?? []) as readonly ShownItem[];
  if (items.length === 0 && session.taxAmount === null && session.shippingAmount === null) return null;
  return html`<details class="order" ${when(items.length <= OPEN_ITEMS, 'open')}>
    <summary>${speech.text('order')}</summary>
    ${itemsTable({ session, speech })}
  </details>`;
}

/** The order as a table: items, tax, shipping, total in the shop's currency. */
export function itemsTable({ session, speech }: Pick<PageInput, 'session' | 'speech'>): Html {
  const items = (session.personal?.lineItems ?? []) as readonly ShownItem[];
  const extra = (label: string, amount: string | null): Html | false =>
    amount !== null &&
    html`<tr>
      <th scope="row">${label}</th>
      <td><bdi>${speech.money(amount, session.currency)}</bdi></td>
    </tr>`;
  return html`<table>
    <tbody>
      ${items.map((item) => itemRow(item, speech))}
      ${extra(speech.text('tax'), session.taxAmount)}${extra(speech.text('shipping'), session.shippingAmount)}
      <tr class="total">
        <th scope="row">${speech.text('total')}</th>
        <td><bdi>${speech.money(session.amount, session.currency)}</bdi></td>
      </tr>
    </tbody>
  </table>`;
}

function itemRow({ price_data: price, quantity = 1 }: ShownItem, speech: PageInput['speech']): Html {
  const { name, description } = price.product_data;
  return html`<tr>
    <th scope="row">
      <span class="count">${speech.number(String(quantity))} ×</span>
      <bdi>${name}</bdi>${description && html`<small><bdi>${description}</bdi></small>`}
    </th>
    <td><bdi>${speech.money(price.unit_amount, price.currency)}</bdi></td>
  </tr>`;
}
