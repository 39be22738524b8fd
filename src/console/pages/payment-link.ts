import { html } from '../../runtime/util/html.ts';
import { qrCode } from '../../checkout/qr.ts';
import { createSessionBody } from '../../http/schemas/session.schema.ts';
import { decimalsOf } from '../../domain/money.ts';
import { maxDecimals, shownDecimals } from '../../domain/currencies.ts';
import { paddedAmount } from '../../http/presenters/amount-text.ts';
import { accepted, callerOf, readerOf, type ConsoleDeps } from '../deps.ts';
import { changeForm, field, link } from '../parts.ts';
import type { ConsoleRoutes } from '../server.ts';
import { Refused, type Visit } from '../visit.ts';
import { paymentPath } from './payment-path.ts';

/** A payment without any code: a link to send and a code to print. */
export function paymentLinkRoutes({ api, records }: ConsoleDeps): ConsoleRoutes {
  return {
    read: [
      {
        path: '/m/:merchant/links/new',
        action: 'payments.create',
        show: async (visit) => ({
          page: {
            title: 'Payment link',
            body: html`<p>Makes one payment. Send its link to the payer, or print its code.</p>
              ${changeForm(
                visit,
                visit.path,
                [
                  field({ name: 'amount', label: 'Amount', required: true, max: 40 }),
                  field({ name: 'currency', label: 'Currency', required: true, value: 'USD', max: 5, hint: 'Such as USD, EUR, USDT' }),
                  field({ name: 'order', label: 'Order', required: true, max: 128, hint: 'Your number; once for each payment.' }),
                  field({ name: 'description', label: 'Description', max: 1000, hint: 'The payer reads it.' }),
                ],
                'Make the link',
              )}`,
          },
        }),
      },
    ],
    change: [
      {
        path: '/m/:merchant/links/new',
        action: 'payments.create',
        target: ({ form }) => form['order'] ?? '',
        run: async (visit) => {
          const made = accepted(await api.createSession(callerOf(visit), inputOf(visit)));
          const payment = await records.session(readerOf(visit), made.sessionId);
          const url = payment?.url ?? '';
          const { path, size } = qrCode(url);
          const body = html`<p class="secret"><a href="${url}" rel="noreferrer">${url}</a></p>
            <svg class="qr" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges" role="img" aria-label="Code of the link">
              <path fill="#fff" d="M0 0h${size}v${size}H0z" />
              <path stroke="#000" d="${path}" />
            </svg>
            <p>${made.amount} ${made.currency}, order ${made.orderId}</p>
            <p>${link(paymentPath(visit, made.sessionId), 'The payment')}</p>`;
          return { detail: made.sessionId, shown: { page: { title: 'The payment link', body } } };
        },
      },
    ],
  };
}

/** As the API takes it, with the same words for what is wrong. Throws `Refused`. */
function inputOf({ form }: Visit) {
  const { amount = '', currency: code = '', order = '', description = '' } = form;
  const parsed = createSessionBody.safeParse({ amount, currency: code, order_id: order, ...(description !== '' && { description }) });
  if (!parsed.success)
    throw new Refused(parsed.error.issues.map((issue) => `${String(issue.path[0]).replace('order_id', 'order')} ${issue.message}`).join('; '));
  const currency = parsed.data.currency.toUpperCase();
  if (decimalsOf(amount) > maxDecimals(currency)) throw new Refused(`amount must have at most ${maxDecimals(currency)} decimals in ${currency}`);
  return { amount: paddedAmount(amount, shownDecimals(currency)), currency, orderId: order, ...(description !== '' && { description }) };
}
