import { hash } from 'node:crypto';
import { html } from '../../../runtime/http/html.ts';
import { decimalsOf, parseAmount } from '../../../domain/money/money.ts';
import { maxDecimals } from '../../../domain/money/currencies.ts';
import type { RefundPreview } from '../../../features/sessions/refunds/preview.ts';
import type { RefundInput } from '../../../features/shared/merchant-api.ts';
import { accepted, callerOf, readerOf, type ConsoleDeps } from '../../deps.ts';
import { reasonIn, Refused, type ChangeRoute, type ToSign, type Visit, merchantNamed, paramOf } from '../../visit.ts';
import { paymentOf, paymentPath } from './payment-path.ts';
import { must } from '../../../domain/values/must.ts';
import { words } from '../../words.ts';

/** The terms are the plan that the request would follow: payees, amounts and the kind of each payee. */
export const refundChange = ({ api }: ConsoleDeps): ChangeRoute<Visit, ToSign & Pick<RefundPreview, 'payouts'>> => ({
  path: '/m/:merchant/payments/:payment/refund',
  action: 'payments.refund',
  target: (visit) => paramOf(visit, 'payment'),
  toSign: async (visit) => {
    const preview = accepted(await api.previewRefund(readerOf(visit), inputOf(visit)));
    const kindOf = (sender: RefundPreview['payouts'][number]['sender']): string =>
      sender === null ? 'kind of payee not known yet' : [sender.kind, sender.name].filter(Boolean).join(' ');
    const payees = preview.payouts.map(({ amount, network, toAddress, sender }): [string, string] => [
      'pays',
      `${amount} ${preview.coin} on ${network} to ${toAddress} (${kindOf(sender)})`,
    ]);
    return {
      kind: 'terms',
      payouts: preview.payouts,
      title: 'refund a payment',
      lines: [
        ...Object.entries(merchantNamed(visit)),
        ['payment', paymentOf(visit)],
        ['amount', `${preview.amount} ${preview.coin} (${preview.type})`],
        ...payees,
        ['network fee', 'none of it taken from the payer'],
        ...(visit.form['acknowledge'] === 'yes' ? [['payee', 'says that they can receive there'] as const] : []),
        ['reason', reasonIn(visit)],
      ],
      note: html`<p>
        <small
          >${words`The money goes back to the sender.`}
          ${words`The signer's limits apply. Above its threshold, two approvers must agree as well.`}</small
        >
      </p>`,
    };
  },
  run: async (visit, [signature], signed) => {
    // One signature makes one refund, however often the form is sent.
    const key = `console-${hash('sha256', must(signature).number, 'hex').slice(0, 32)}`;
    const planned = must(signed).payouts.map(({ sender: _, ...payout }) => payout);
    const refund = accepted(await api.requestRefund(callerOf(visit, key), { ...inputOf(visit), planned }));
    return { detail: refund.refundId, shown: { to: `${paymentPath(visit, refund.sessionId)}?done=refunded` } };
  },
});

/** The refund request in the form. Throws `Refused`. */
function inputOf(visit: Visit): RefundInput {
  const { form } = visit;
  const value = form['amount'] ?? '';
  const currency = (form['currency'] ?? '').toUpperCase();
  if (value !== '') {
    if (!/^[A-Z]{3,5}$/.test(currency)) throw new Refused(words`currency must be a coin or the currency of the order`);
    if (parseAmount(value) === null || decimalsOf(value) > maxDecimals(currency))
      throw new Refused(
        words`amount must be a decimal amount such as 10.00, with at most ${maxDecimals(currency)} decimals`,
      );
  }
  return {
    sessionId: paymentOf(visit),
    reason: reasonIn(visit),
    ...(value !== '' && { amount: { value, currency } }),
    ...(form['acknowledge'] === 'yes' && { acknowledgeSender: true }),
  };
}
