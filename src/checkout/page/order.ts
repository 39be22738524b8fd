import { formatAmount, shownRate } from '../../domain/money/money.ts';
import { shownDecimals } from '../../domain/money/currencies.ts';
import { lineTotal, unlistedAmount } from '../../domain/money/order-parts.ts';
import type { LineItem } from '../../domain/events/session-personal-data.ts';
import { html, when, type Html } from '../../runtime/http/html.ts';
import type { PageInput } from './input.ts';
import { moneyHtml, sentenceHtml, type Piece } from '../speech.ts';

/**
 * What is bought and its price, before what is due now; after what happened to the money, once nothing is to be sent.
 */
export function orderHtml(input: PageInput): Html {
  const { session } = input;
  return html`<section class="order" aria-label="${input.speech.text('order')}">
    ${session.personal?.description && html`<p class="description"><bdi>${session.personal.description}</bdi></p>`}
    ${itemsHtml(input)}
  </section>`;
}

const money = (text: string): Piece => ({ text, kind: 'money' });

/** The order's total in the shop's currency and its conversion rate. */
export function rateHtml({ session, status, speech }: PageInput): Html | null {
  if (session.rateLock === null) return null;
  const values = {
    total: money(speech.money(session.amount, session.currency)),
    rate: money(rateText(session, speech)),
  };
  const holds = status.toSend !== null;
  const sentence = holds
    ? speech.sentence('rate', { ...values, deadline: speech.moment(session.expiresAtSec) })
    : speech.sentence('rate_past', values);
  return html`<p class="rate">${sentenceHtml(sentence)}</p>`;
}

/** The rate implied by the order's total and what is due for it, so that the two agree to the last digit. */
export function rateText(
  { amount, dueAmount, currency, dueCoin }: PageInput['session'],
  speech: PageInput['speech'],
): string {
  return `1 ${currency} = ${speech.number(shownRate(amount, dueAmount))} ${dueCoin}`;
}

/** More items than this would push the outcome off a phone's screen. */
const SHORT_ORDER = 5;

/**
 * The total in the order's own currency, and behind it the lines: collapsed while payment is due, so that the address
 * stays near the top, and when there are many.
 */
function itemsHtml({ session, status, speech }: PageInput): Html | null {
  const items = session.personal?.lineItems ?? [];
  const total = html`${speech.text('total')} <b>${moneyHtml(speech.money(session.amount, session.currency))}</b>`;
  if (items.length === 0 && session.taxAmount === null && session.shippingAmount === null)
    return session.rateLock && html`<p class="items">${total}</p>`;
  return html`<details class="items" ${when(status.toSend === null && items.length <= SHORT_ORDER, 'open')}>
    <summary>${total}</summary>
    ${itemsTable({ session, speech })}
  </details>`;
}

/**
 * The order as a table: items, tax, shipping, total in the shop's currency. What the total has beyond its parts is a row
 * of its own, so that the table always adds up.
 */
export function itemsTable({ session, speech }: Pick<PageInput, 'session' | 'speech'>): Html {
  const items = session.personal?.lineItems ?? [];
  const unlisted = unlistedAmount({ ...session, lineItems: items });
  const rest = unlisted === null ? '' : formatAmount(unlisted, shownDecimals(session.currency));
  const extra = (label: string, amount: string | null): Html | false =>
    amount !== null &&
    html`<tr>
      <th scope="row">${label}</th>
      <td>${amount && moneyHtml(speech.money(amount, session.currency))}</td>
    </tr>`;
  return html`<table>
    <tbody>
      ${items.map((item) => itemRow(item, speech))}
      ${extra(speech.text('tax'), session.taxAmount)}${extra(speech.text('shipping'), session.shippingAmount)}
      ${unlisted !== 0n && extra(speech.text('unlisted'), rest)}
      <tr class="total">
        <th scope="row">${speech.text('total')}</th>
        <td>${moneyHtml(speech.money(session.amount, session.currency))}</td>
      </tr>
    </tbody>
  </table>`;
}

function itemRow(item: LineItem, speech: PageInput['speech']): Html {
  const { price_data: price, quantity = 1 } = item;
  const { name, description } = price.product_data;
  const currency = price.currency.toUpperCase();
  const each = speech.money(price.unit_amount, currency);
  const count =
    quantity !== 1 && html`<small>${moneyHtml(speech.number(String(quantity)))} × ${moneyHtml(each)}</small>`;
  return html`<tr>
    <th scope="row"><bdi>${name}</bdi>${description && html`<small><bdi>${description}</bdi></small>`}${count}</th>
    <td>${moneyHtml(speech.money(lineTotal(item), currency))}</td>
  </tr>`;
}
