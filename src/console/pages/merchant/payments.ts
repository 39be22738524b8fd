import { html, type Html } from '../../../runtime/http/html.ts';
import { isDay } from '../../../domain/values/calendar.ts';
import type { PaymentSessionBody } from '../../../http/schemas/session.schema.ts';
import { accepted, readerOf, type ConsoleDeps, type ListAsked } from '../../deps.ts';
import { csvLink, csvRoute, everyPage } from '../../csv.ts';
import { merchantPath } from '../../layout.ts';
import { badge, filterForm, link, more, table, timeColumn, type Column, spelled } from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import { Refused, type Visit, merchantOf } from '../../visit.ts';
import { failedDeliveries } from '../operations/deliveries.ts';
import { countOf, paidChart, paidDays, totalsFile, totalsOf, totalsPart } from './payment-totals.ts';
import { FILTER_STATUSES } from '../../../../projections/sessions/session-list.ts';
import { words } from '../../words.ts';

const PAGE = 50;
const CSV_PAGE = 100;
const DAY_SEC = 86_400;

type Row = PaymentSessionBody;

/** A merchant's first page, and the list of its payments with the filters of the URL. */
export function paymentsRoutes(deps: ConsoleDeps): ConsoleRoutes {
  return {
    change: [],
    read: [
      {
        path: '/m/:merchant',
        action: 'payments.read',
        show: async (visit) => ({
          page: { title: html`${merchantOf(visit).name}`, isLive: true, body: await homePage(deps, visit) },
        }),
      },
      {
        path: '/m/:merchant/payments',
        action: 'payments.read',
        show: async (visit) => ({ page: { title: words`Payments`, isLive: true, body: await listPage(deps, visit) } }),
      },
      csvRoute('/m/:merchant/payments', 'payments.read', (visit) => ({
        columns: columnsOf(visit),
        pages: everyPayment(deps, visit),
      })),
      totalsFile(deps),
    ],
  };
}

async function homePage(deps: ConsoleDeps, visit: Visit): Promise<Html> {
  const reader = readerOf(visit);
  const today = Math.floor(visit.nowSec / DAY_SEC) * DAY_SEC;
  const count = async (asked: Partial<ListAsked>): Promise<number> =>
    accepted(await deps.records.list('sessions', reader, { page: 1, pageSize: 1, ...asked })).pagination.total ?? 0;
  const [created, open, processing, failed, days, newest] = await Promise.all([
    count({ createdFromSec: today }),
    count({ status: 'open' }),
    count({ status: 'processing' }),
    failedDeliveries({ webhooks: deps.webhooks, merchants: () => [merchantOf(visit)] }, reader.mode),
    paidDays(deps, visit),
    deps.records.list('sessions', reader, { page: 1, pageSize: 10 }),
  ]);
  const payments = `${merchantPath(merchantOf(visit))}/payments`;
  return html`<ul class="tiles" role="list">
      <li>${words`${html`<b>${created}</b>`} Created today (UTC)`}</li>
      <li>${words`${html`<b>${days.at(-1)?.count ?? 0}</b>`} Of those, paid`}</li>
      <li><b>${open}</b> ${link(`${payments}?status=open`, words`Waiting for money`)}</li>
      <li><b>${processing}</b> ${link(`${payments}?status=processing`, words`Money not final yet`)}</li>
    </ul>
    ${needsAttention(visit, failed.length)}
    <h2>${words`Paid payments by day of creation (UTC)`}</h2>
    ${paidChart(visit, days)}
    <h2>${words`Newest`}</h2>
    ${table(words`Newest payments`, columnsOf(visit), accepted(newest).rows, words`No payments yet. Create one under “Payment links” or with the API.`)}
    <p>${link(payments, words`All payments`)}</p>`;
}

function needsAttention(visit: Visit, webhooks: number): Html | null {
  if (webhooks === 0 || !visit.can('webhooks.read', merchantOf(visit).id)) return null;
  const what = webhooks === 1 ? words`A webhook did not arrive` : words`${webhooks} webhooks did not arrive`;
  return html`<section class="card warn">
    <h2>${words`Needs attention`}</h2>
    <p>${link(`${merchantPath(merchantOf(visit))}/webhooks`, what)}</p>
  </section>`;
}

async function listPage(deps: ConsoleDeps, visit: Visit): Promise<Html> {
  const { query } = visit;
  const here = `${merchantPath(merchantOf(visit))}/payments`;
  const cursor = query.get('cursor');
  const asked = { ...filtersOf(query), page: 1, pageSize: PAGE, cursor: cursor ?? '' };
  const [listed, totals] = await Promise.all([
    deps.records.list('sessions', readerOf(visit), asked),
    totalsOf(deps, visit, query),
  ]);
  const page = accepted(listed);
  return html`${filterForm(here, [
      { name: 'order', label: words`Order`, type: 'search', value: query.get('order') ?? '' },
      {
        name: 'status',
        label: words`Status`,
        value: query.get('status') ?? '',
        options: [['', words`Any`], ...FILTER_STATUSES.map((status) => [status, spelled(status)] as const)],
      },
      { name: 'from', label: words`Created from (UTC)`, type: 'date', value: query.get('from') ?? '' },
      { name: 'to', label: words`Created until`, type: 'date', value: query.get('to') ?? '' },
    ])}
    ${totals.length > 0 && totalsPart(visit, totals)}
    <h2>${words`Payments`}</h2>
    <p>${words`${countOf(totals)} payments`} · ${csvLink(visit)}</p>
    ${table(words`Payments`, columnsOf(visit), page.rows, words`No payments match the filters.`)}
    ${more(visit, page.pagination.next_cursor)}`;
}

const everyPayment = (deps: ConsoleDeps, visit: Visit): AsyncGenerator<readonly Row[]> =>
  everyPage(async (cursor) => {
    const asked: ListAsked = { ...filtersOf(visit.query), page: 1, pageSize: CSV_PAGE, cursor: cursor ?? '' };
    const { rows, pagination } = accepted(await deps.records.list('sessions', readerOf(visit), asked));
    return { rows, next: pagination.next_cursor };
  });

/** The filters of the URL. Throws `Refused` with the name of the filter at fault. */
function filtersOf(query: URLSearchParams): Partial<ListAsked> {
  const status = query.get('status') ?? '';
  const order = query.get('order')?.trim() ?? '';
  if (status !== '' && !FILTER_STATUSES.some((one) => one === status))
    throw new Refused(words`status must be one of ${FILTER_STATUSES.join(', ')}`);
  const from = dayOf(query, 'from');
  const to = dayOf(query, 'to');
  return {
    ...(status !== '' && { status }),
    ...(order !== '' && { orderId: order }),
    ...(from !== null && { createdFromSec: from }),
    ...(to !== null && { createdToSec: to + DAY_SEC - 1 }),
  };
}

function dayOf(query: URLSearchParams, name: string): number | null {
  const day = query.get(name) ?? '';
  if (day === '') return null;
  if (!isDay(day)) throw new Refused(words`${name} must be a day such as 2026-10-31`);
  return Date.parse(`${day}T00:00:00Z`) / 1000;
}

const columnsOf = (visit: Visit): Column<Row>[] => [
  timeColumn(words`Created`, ({ created }) => created, visit),
  {
    name: words`Order`,
    cell: (row) => link(`${merchantPath(merchantOf(visit))}/payments/${row.id}`, row.order_id),
    text: (row) => row.order_id,
  },
  { name: words`Status`, cell: ({ status }) => badge(status), text: ({ status }) => status },
  { name: words`Amount`, isNumber: true, cell: (row) => `${row.amount_total} ${row.currency.toUpperCase()}` },
  { name: words`Received`, isNumber: true, cell: (row) => `${row.received} ${row.settlement_currency}` },
  { name: words`Refunded`, isNumber: true, cell: (row) => `${row.refunded} ${row.settlement_currency}` },
  { name: words`Payment`, cell: ({ id }) => id, onlyInFiles: true },
];
