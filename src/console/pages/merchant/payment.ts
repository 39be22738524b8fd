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
} from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import { NO_SUCH, type ChangeRoute, type Visit, paramOf, merchantOf } from '../../visit.ts';
import type { ClaimView } from '../../../features/shared/claim-views.ts';
import { claimsPart } from './claims.ts';
import { paymentOf, paymentPath } from './payment-path.ts';
import { refundChange } from './refund.ts';

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
          const [refunds, claims, timeline, deliveries] = await Promise.all([
            deps.records.refunds(reader, id),
            deps.records.claims(reader, id),
            deps.records.timeline(id),
            visit.can('webhooks.read', merchantOf(visit).id)
              ? deps.webhooks.list(reader, { page: 1, pageSize: DELIVERIES, sessionId: id })
              : null,
          ]);
          const rows = deliveries?.ok ? deliveries.value.rows : [];
          return {
            page: {
              title: `Order ${payment.order_id}`,
              isLive: true,
              body: page(visit, payment, { refunds, claims }, timeline, rows),
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
  { refunds, claims }: { readonly refunds: readonly RefundBody[]; readonly claims: readonly ClaimView[] },
  timeline: Timeline | null,
  deliveries: readonly DeliverySummary[],
): Html {
  const { id } = merchantOf(visit);
  const coin = payment.settlement_currency;
  const linkId = linkOfOrder(payment.order_id);
  return html`${timeline !== null && html`<p class="card">${timeline.conclusion}</p>`}
    ${facts([
      ['Status', badge(payment.status)],
      ['Amount', `${payment.amount_total} ${payment.currency.toUpperCase()}`],
      ['Received, less refunds', `${payment.received} ${coin}`],
      ['Not final yet', `${payment.pending} ${coin}`],
      ['Overpaid', `${payment.excess} ${coin}`],
      ['Refunded', `${payment.refunded} ${coin}`],
      ['Can be refunded', refundableOf(payment)],
      ['Created', time(payment.created, visit)],
      ['Expires', time(payment.expires_at, visit)],
      ['Paid', time(payment.paid_at ?? null, visit)],
      ['Payment', code(payment.id)],
      ['Payment page', html`<a href="${payment.url}" rel="noreferrer">${payment.url}</a>`],
      ['Description', payment.description ?? '–'],
      ...(linkId === null
        ? []
        : [['Payment link', link(`${merchantPath(merchantOf(visit))}/links/${linkId}`, linkId)] as const]),
    ])}
    <h2>Deposits</h2>
    ${table('Deposits', depositColumns(visit), payment.deposits, 'No deposits yet.')} ${claimsPart(visit, claims)}
    <h2>Refunds</h2>
    ${table('Refunds', refundColumns(visit), refunds, 'No refunds yet.')}
    ${visit.can('payments.refund', id) && refundForm(visit, payment)}
    ${
      visit.can('webhooks.read', id) &&
      html`<h2>Webhooks</h2>
        ${table('Webhooks', deliveryColumns(visit), deliveries, 'No webhooks yet.')}`
    }
    ${
      payment.status === 'open' &&
      visit.can('payments.create', id) &&
      html`<h2>Cancel</h2>
        ${changeForm(visit, `${visit.path}/cancel`, field(REASON), 'Cancel this payment', 'danger')}`
    }
    <h2>What happened</h2>
    ${timeline !== null && timelinePart(visit, timeline)}`;
}

const refundableOf = ({ refundable_amounts: amounts, settlement_currency: coin }: PaymentSessionBody): string =>
  amounts.flatMap(({ value, currency }) => (Number(value) > 0 ? `${value} ${currency}` : [])).join(', ') ||
  `0.00 ${coin}`;

function refundForm(visit: Visit, payment: PaymentSessionBody): Html {
  if (payment.refundable_amounts.every(({ value }) => Number(value) === 0))
    return html`<p class="empty">Nothing can be refunded now.</p>`;
  const coins = payment.refundable_amounts.map(({ currency }): string => currency);
  const currencies = [...new Set([...coins, payment.currency.toUpperCase()])];
  return html`<h3>Refund</h3>
    ${changeForm(
      visit,
      `${visit.path}/refund`,
      [
        field({
          name: 'amount',
          label: 'Amount',
          hint: `Leave empty to refund everything that is left, ${payment.refundable} ${payment.settlement_currency}.`,
          max: 40,
        }),
        field({
          name: 'currency',
          label: 'Currency',
          options: currencies.map((one) => [one, one]),
          value: payment.settlement_currency,
        }),
        checkbox('acknowledge', 'The payer confirmed that they can receive at this contract or exchange address'),
        field({ ...REASON, hint: 'The merchant sees it. Kept in the record of actions.' }),
      ],
      'Preview the refund',
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
  { name: 'When', cell: ({ block_time: sec }) => time(sec, visit) },
  { name: 'Status', cell: ({ status }) => badge(status) },
  { name: 'Amount', isNumber: true, cell: ({ amount, coin }) => `${amount} ${coin}` },
  { name: 'Kind', cell: ({ kind }) => kind.replaceAll('_', ' ') },
  {
    name: 'From',
    cell: ({ from_address: from, sender }) =>
      html`${code(from)}${sender && html`<small>${sender.kind} ${sender.name}</small>`}`,
  },
  {
    name: 'Evidence',
    cell: (deposit) =>
      html`${evidence(deposit.tx_hash, deposit.explorer_url)}<small
          >${deposit.network}, block ${deposit.block_number}, entry ${deposit.log_index}</small
        >`,
  },
];

const refundColumns = (visit: Visit): Column<RefundBody>[] => [
  { name: 'Requested', cell: ({ created }) => time(created, visit) },
  {
    name: 'Status',
    cell: ({ status, waiting_reason: waits, failure_reason: failed }) =>
      html`${badge(status)}${waits !== undefined && waits !== null && html`<small>waits: ${waits.replaceAll('_', ' ')}</small>`}${
        failed !== null && html`<small>${failed.replaceAll('_', ' ')}</small>`
      }`,
  },
  { name: 'Amount', isNumber: true, cell: ({ amount }) => `${amount.value} ${amount.currency}` },
  {
    name: 'To',
    cell: ({ payouts }) =>
      html`${payouts.map((payout) => html`${code(payout.to_address)}<small>${payout.amount} ${payout.coin} on ${payout.network}</small>`)}`,
  },
  {
    name: 'Evidence',
    cell: ({ payouts }) => html`${payouts.map((payout) => evidence(payout.tx_hash, payout.explorer_url))}`,
  },
  { name: 'Reason', cell: ({ reason }) => reason },
  { name: 'Refund', cell: ({ id }) => code(id) },
];

export const deliveryColumns = (visit: Visit): Column<DeliverySummary>[] => [
  timeColumn('Created', ({ createdSec }) => createdSec, visit),
  {
    name: 'Event',
    cell: (row) => link(`${merchantPath(merchantOf(visit))}/webhooks/${row.notificationId}`, row.eventType),
  },
  { name: 'Status', cell: ({ status }) => badge(status) },
  { name: 'Attempts', isNumber: true, cell: ({ attempts }) => attempts },
  { name: 'Last answer', cell: ({ lastStatus, lastFailure }) => lastStatus ?? lastFailure ?? null },
];

function timelinePart(visit: Visit, { entries, coverage }: Timeline): Html {
  return html`<ol class="timeline">
      ${entries.map(
        ({ atMs, message, type, facts: known }) =>
          html`<li>
            ${time(Math.floor(atMs / 1000), visit)}
            <p>${message}</p>
            <details>
              <summary>${type}</summary>
              ${facts(Object.entries(known).map(([name, value]) => [name, String(value ?? '–')]))}
            </details>
          </li>`,
      )}
    </ol>
    <h3>Blocks read</h3>
    ${table(
      'What was read',
      [
        { name: 'Network', cell: ({ network }) => network },
        { name: 'Blocks', cell: ({ fromBlock, toBlock }) => `${fromBlock} to ${toBlock}` },
        { name: 'Up to', cell: ({ toTimeSec }) => time(toTimeSec, visit) },
        { name: 'Providers', cell: ({ providers }) => providers.join(', ') },
        {
          name: 'Gaps',
          cell: ({ gaps }) => gaps.map(({ fromBlock, toBlock }) => `${fromBlock} to ${toBlock}`).join(', ') || 'none',
        },
      ],
      coverage,
      'Nothing is recorded yet.',
    )}`;
}
