import { html, type Html } from '../../../runtime/http/html.ts';
import type { RefundBody } from '../../../http/schemas/refund.schema.ts';
import type { PaymentSessionBody } from '../../../http/schemas/session.schema.ts';
import type { Timeline } from '../../../features/sessions/timeline/types.ts';
import type { DeliverySummary } from '../../../features/webhooks/views.ts';
import { accepted, callerOf, readerOf, type ConsoleDeps } from '../../deps.ts';
import { linkOfOrder } from '../../../features/payment-links/payment-links.ts';
import { merchantPath } from '../../layout.ts';
import {
  badge,
  changeForm,
  checkbox,
  code,
  facts,
  field,
  link,
  REASON,
  table,
  time,
  timeColumn,
  type Column,
  spelled,
} from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import { NO_SUCH, type ChangeRoute, type Visit, paramOf, merchantOf } from '../../visit.ts';
import { paymentOf, paymentPath } from './payment-path.ts';
import { refundChange } from './refund.ts';
import { words } from '../../words.ts';

const DELIVERIES = 50;

/** One payment: what happened, on what evidence, and what can be done. */
export function paymentRoutes(deps: ConsoleDeps): ConsoleRoutes {
  return {
    read: [
      {
        path: '/m/:merchant/payments/:payment',
        action: 'payments.read',
        show: async (visit) => {
          const id = paymentOf(visit);
          const reader = readerOf(visit);
          const payment = await deps.records.session(reader, id);
          if (!payment) throw NO_SUCH();
          const [refunds, timeline, deliveries] = await Promise.all([
            deps.records.refunds(reader, id),
            deps.records.timeline(id),
            visit.can('webhooks.read', merchantOf(visit).id)
              ? deps.webhooks.list(reader, { page: 1, pageSize: DELIVERIES, sessionId: id })
              : null,
          ]);
          const rows = deliveries?.ok ? deliveries.value.rows : [];
          return {
            page: {
              title: words`Order ${payment.order_id}`,
              isLive: true,
              body: page(visit, payment, refunds, timeline, rows),
            },
          };
        },
      },
    ],
    change: [refundChange(deps), cancelChange(deps)],
  };
}

const cancelChange = ({ api }: ConsoleDeps): ChangeRoute => ({
  path: '/m/:merchant/payments/:payment/cancel',
  action: 'payments.create',
  target: (visit) => paramOf(visit, 'payment'),
  run: async (visit) => {
    const id = paymentOf(visit);
    accepted(await api.cancelSession(callerOf(visit), id));
    return { detail: 'cancelled', shown: { to: `${paymentPath(visit, id)}?done=cancelled` } };
  },
});

function page(
  visit: Visit,
  payment: PaymentSessionBody,
  refunds: readonly RefundBody[],
  timeline: Timeline | null,
  deliveries: readonly DeliverySummary[],
): Html {
  const { id } = merchantOf(visit);
  const coin = payment.settlement_currency;
  const linkId = linkOfOrder(payment.order_id);
  return html`${timeline !== null && html`<p class="card" lang="en" dir="ltr">${timeline.conclusion}</p>`}
    ${facts([
      [words`Status`, badge(payment.status)],
      [words`Amount`, `${payment.amount_total} ${payment.currency.toUpperCase()}`],
      [words`Received, less refunds`, `${payment.received} ${coin}`],
      [words`Not final yet`, `${payment.pending} ${coin}`],
      [words`Overpaid`, `${payment.excess} ${coin}`],
      [words`Refunded`, `${payment.refunded} ${coin}`],
      [words`Can be refunded`, refundableOf(payment)],
      [words`Created`, time(payment.created, visit)],
      [words`Expires`, time(payment.expires_at, visit)],
      [words`Paid`, time(payment.paid_at ?? null, visit)],
      [words`Payment`, code(payment.id)],
      [words`Payment page`, html`<a href="${payment.url}" rel="noreferrer">${payment.url}</a>`],
      [words`Description`, payment.description ?? '–'],
      ...(linkId === null
        ? []
        : [[words`Payment link`, link(`${merchantPath(merchantOf(visit))}/links/${linkId}`, linkId)] as const]),
    ])}
    <h2>${words`Deposits`}</h2>
    ${table(words`Deposits`, depositColumns(visit), payment.deposits, words`No deposits yet.`)}
    <h2>${words`Refunds`}</h2>
    ${table(words`Refunds`, refundColumns(visit), refunds, words`No refunds yet.`)}
    ${visit.can('payments.refund', id) && refundForm(visit, payment)}
    ${
      visit.can('webhooks.read', id) &&
      html`<h2>${words`Webhooks`}</h2>
        ${table(words`Webhooks`, deliveryColumns(visit), deliveries, words`No webhooks yet.`)}`
    }
    ${
      payment.status === 'open' &&
      visit.can('payments.create', id) &&
      html`<h2>${words`Cancel`}</h2>
        ${changeForm(visit, `${visit.path}/cancel`, field(REASON), words`Cancel this payment`, 'danger')}`
    }
    <h2>${words`What happened`}</h2>
    ${timeline !== null && timelinePart(visit, timeline)}`;
}

const refundableOf = ({ refundable_amounts: amounts, settlement_currency: coin }: PaymentSessionBody): string =>
  amounts.flatMap(({ value, currency }) => (Number(value) > 0 ? `${value} ${currency}` : [])).join(', ') ||
  `0.00 ${coin}`;

function refundForm(visit: Visit, payment: PaymentSessionBody): Html {
  if (payment.refundable_amounts.every(({ value }) => Number(value) === 0))
    return html`<p class="empty">${words`Nothing can be refunded now.`}</p>`;
  const coins = payment.refundable_amounts.map(({ currency }): string => currency);
  const currencies = [...new Set([...coins, payment.currency.toUpperCase()])];
  return html`<h3>${words`Refund`}</h3>
    ${changeForm(
      visit,
      `${visit.path}/refund`,
      [
        field({
          name: 'amount',
          label: words`Amount`,
          hint: words`Leave empty to refund everything that is left, ${payment.refundable} ${payment.settlement_currency}.`,
          max: 40,
        }),
        field({
          name: 'currency',
          label: words`Currency`,
          options: currencies.map((one) => [one, one]),
          value: payment.settlement_currency,
        }),
        checkbox('acknowledge', words`The payer confirmed that they can receive at this contract or exchange address`),
        field({ ...REASON, hint: words`The merchant sees it. Kept in the record of actions.` }),
      ],
      words`Preview the refund`,
    )}`;
}

type DepositBody = PaymentSessionBody['deposits'][number];

const evidence = (txHash: string | null, url: string | null): Html | string =>
  txHash === null
    ? '–'
    : url === null
      ? code(txHash)
      : html`<a href="${url}" rel="noreferrer noopener"><code>${txHash}</code></a>`;

const depositColumns = (visit: Visit): Column<DepositBody>[] => [
  { name: words`When`, cell: ({ block_time: sec }) => time(sec, visit) },
  { name: words`Status`, cell: ({ status }) => badge(status) },
  { name: words`Amount`, isNumber: true, cell: ({ amount, coin }) => `${amount} ${coin}` },
  { name: words`Kind`, cell: ({ kind }) => spelled(kind) },
  {
    name: words`From`,
    cell: ({ from_address: from, sender }) =>
      html`${code(from)}${sender && html`<small>${spelled(sender.kind)} ${sender.name}</small>`}`,
  },
  {
    name: words`Evidence`,
    cell: (deposit) =>
      html`${evidence(deposit.tx_hash, deposit.explorer_url)}<small
          >${words`${deposit.network}, block ${deposit.block_number}, entry ${deposit.log_index}`}</small
        >`,
  },
];

const refundColumns = (visit: Visit): Column<RefundBody>[] => [
  { name: words`Requested`, cell: ({ created }) => time(created, visit) },
  {
    name: words`Status`,
    cell: ({ status, waiting_reason: waits, failure_reason: failed }) =>
      html`${badge(status)}${waits !== undefined && waits !== null && html`<small>${words`waits: ${spelled(waits)}`}</small>`}${
        failed !== null && html`<small>${spelled(failed)}</small>`
      }`,
  },
  { name: words`Amount`, isNumber: true, cell: ({ amount }) => `${amount.value} ${amount.currency}` },
  {
    name: words`To`,
    cell: ({ payouts }) =>
      html`${payouts.map((payout) => html`${code(payout.to_address)}<small>${words`${payout.amount} ${payout.coin} on ${payout.network}`}</small>`)}`,
  },
  {
    name: words`Evidence`,
    cell: ({ payouts }) => html`${payouts.map((payout) => evidence(payout.tx_hash, payout.explorer_url))}`,
  },
  { name: words`Reason`, cell: ({ reason }) => reason },
  { name: words`Refund`, cell: ({ id }) => code(id) },
];

export const deliveryColumns = (visit: Visit): Column<DeliverySummary>[] => [
  timeColumn(words`Created`, ({ createdSec }) => createdSec, visit),
  {
    name: words`Event`,
    cell: (row) => link(`${merchantPath(merchantOf(visit))}/webhooks/${row.notificationId}`, row.eventType),
  },
  { name: words`Status`, cell: ({ status }) => badge(status) },
  { name: words`Attempts`, isNumber: true, cell: ({ attempts }) => attempts },
  { name: words`Last answer`, cell: ({ lastStatus, lastFailure }) => lastStatus ?? lastFailure ?? null },
];

function timelinePart(visit: Visit, { entries, coverage }: Timeline): Html {
  return html`<ol class="timeline" lang="en" dir="ltr">
      ${entries.map(
        ({ atMs, message, type, facts: known }) =>
          html`<li>
            ${time(Math.floor(atMs / 1000), visit)}
            <p>${message}</p>
            <details>
              <summary>${type}</summary>
              ${facts(Object.entries(known).map(([name, value]) => [html`${name}`, String(value ?? '–')]))}
            </details>
          </li>`,
      )}
    </ol>
    <h3>${words`Blocks read`}</h3>
    ${table(
      words`What was read`,
      [
        { name: words`Network`, cell: ({ network }) => network },
        { name: words`Blocks`, cell: ({ fromBlock, toBlock }) => words`${fromBlock} to ${toBlock}` },
        { name: words`Up to`, cell: ({ toTimeSec }) => time(toTimeSec, visit) },
        { name: words`Providers`, cell: ({ providers }) => providers.join(', ') },
        {
          name: words`Gaps`,
          cell: ({ gaps }) =>
            gaps.map(({ fromBlock, toBlock }) => words`${fromBlock} to ${toBlock}`).join(', ') || words`none`,
        },
      ],
      coverage,
      words`Nothing is recorded yet.`,
    )}`;
}
