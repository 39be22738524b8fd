import { html, type Html } from '../../../runtime/http/html.ts';
import { qrCode } from '../../../checkout/qr.ts';
import { createSessionBody } from '../../../http/schemas/session.schema.ts';
import { parseSessionId } from '../../../domain/values/ids.ts';
import { decimalsOf } from '../../../domain/money/money.ts';
import { maxDecimals, shownDecimals } from '../../../domain/money/currencies.ts';
import { paddedAmount } from '../../../http/presenters/amount-text.ts';
import { accepted, callerOf, readerOf, type ConsoleDeps } from '../../deps.ts';
import { link } from '../../parts.ts';
import { Refused, type ChangeRoute, type Visit } from '../../visit.ts';
import { paymentPath } from './payment-path.ts';
import { words } from '../../words.ts';

/** A payment without programming: a link to send and a QR code to print. */
export const onePaymentLink = ({ api, records }: ConsoleDeps): ChangeRoute => ({
  path: '/m/:merchant/links/new',
  action: 'payments.create',
  target: ({ form }) => form['order'] ?? '',
  run: async (visit) => {
    const made = accepted(await api.createSession(callerOf(visit), inputOf(visit)));
    const payment = await records.session(readerOf(visit), made.sessionId);
    const body = html`${linkAndCode(payment?.url ?? '')}
      <p>${words`${made.amount} ${made.currency}, order ${made.orderId}`}</p>
      <p>${link(paymentPath(visit, made.sessionId), words`The payment`)}</p>`;
    return { detail: made.sessionId, shown: { page: { title: words`Your payment link`, body } } };
  },
});

/** The link and its QR code. */
export function linkAndCode(url: string): Html {
  const { path, size } = qrCode(url);
  return html`<p class="secret"><a href="${url}" rel="noreferrer">${url}</a></p>
    <svg
      class="qr"
      viewBox="0 0 ${size} ${size}"
      shape-rendering="crispEdges"
      role="img"
      aria-label="${words`Code of the link`}"
    >
      <path fill="#fff" d="M0 0h${size}v${size}H0z" />
      <path stroke="#000" d="${path}" />
    </svg>`;
}

/** The order as the API accepts it, with the same error messages. Throws `Refused`. */
function inputOf({ form }: Visit) {
  const { amount = '', currency: code = '', order = '', description = '', supersedes = '' } = form;
  const before = parseSessionId(supersedes);
  if (supersedes !== '' && before === null)
    throw new Refused(words`in place of: name a payment by its id, such as cs_...`);
  const parsed = createSessionBody.safeParse({
    amount,
    currency: code,
    order_id: order,
    ...(description !== '' && { description }),
  });
  if (!parsed.success)
    throw new Refused(
      parsed.error.issues
        .map((issue) => `${String(issue.path[0]).replace('order_id', 'order')} ${issue.message}`)
        .join('; '),
    );
  const currency = parsed.data.currency.toUpperCase();
  if (decimalsOf(amount) > maxDecimals(currency))
    throw new Refused(words`amount must have at most ${maxDecimals(currency)} decimals in ${currency}`);
  return {
    ...{ amount: paddedAmount(amount, shownDecimals(currency)), currency, orderId: order },
    ...(description !== '' && { description }),
    ...(before && { supersedes: before }),
  };
}
