import { html, type Html } from '../../../runtime/http/html.ts';
import { dayOf } from '../../../domain/values/calendar.ts';
import type { PaymentTotals } from '../../../features/sessions/lists/payment-totals.ts';
import { barCharts } from '../../chart.ts';
import { csvLink, csvRoute } from '../../csv.ts';
import { run, type ConsoleDeps } from '../../deps.ts';
import { merchantPath } from '../../layout.ts';
import { link, table, type Column } from '../../parts.ts';
import { merchantOf, type ReadRoute, type Visit } from '../../visit.ts';
import { words, type Words } from '../../words.ts';

const CHART_DAYS = 14;
const DAY_SEC = 86_400;

/** Totals of the payments that match the filters. */
export async function totalsOf(
  deps: ConsoleDeps,
  visit: Visit,
  query: URLSearchParams,
  byDay = false,
): Promise<readonly PaymentTotals[]> {
  const filters = Object.fromEntries(['order', 'status', 'from', 'to'].map((name) => [name, query.get(name) ?? '']));
  const asked = { merchant_id: merchantOf(visit).id, ...filters, byDay };
  return (await run<{ readonly totals: readonly PaymentTotals[] }>(deps, 'session.totals', asked)).totals;
}

export const countOf = (totals: readonly PaymentTotals[]): number =>
  totals.reduce((count, { payments }) => count + payments, 0);

const COLUMNS: readonly Column<PaymentTotals>[] = [
  { name: words`Coin`, cell: ({ coin }) => coin },
  { name: words`Payments`, isNumber: true, cell: ({ payments }) => payments },
  { name: words`Due`, isNumber: true, cell: ({ due }) => due },
  { name: words`Received`, isNumber: true, cell: ({ received }) => received },
  { name: words`Refunded`, isNumber: true, cell: ({ refunded }) => refunded },
];

const DAY: Column<PaymentTotals> = { name: words`Day`, cell: ({ day }) => day };

const pathOf = (visit: Visit): string => `${merchantPath(merchantOf(visit))}/payments/totals`;

/** The totals of all payments that match the filters, whichever page is shown. */
export const totalsPart = (visit: Visit, totals: readonly PaymentTotals[]): Html =>
  html`<h2>${words`Totals`}</h2>
    ${table(words`Totals`, COLUMNS, totals, words``)}
    <p>
      <small
        >${words`Received: final money that came in time, less what refunds take.`}
        ${csvLink(visit, pathOf(visit), words`Download totals by day`)}</small
      >
    </p>`;

export const totalsFile = (deps: ConsoleDeps): ReadRoute =>
  csvRoute('/m/:merchant/payments/totals', 'payments.read', async (visit) => ({
    columns: [DAY, ...COLUMNS],
    pages: [await totalsOf(deps, visit, visit.query, true)],
  }));

interface PaidDay {
  readonly day: string;
  readonly count: number;
  /** Amounts by coin. */
  readonly due: Readonly<Record<string, string>>;
}

/** The last days, each with the amounts of the payments that were paid. */
export async function paidDays(deps: ConsoleDeps, visit: Visit): Promise<readonly PaidDay[]> {
  const days = Array.from({ length: CHART_DAYS }, (_, index) =>
    dayOf(visit.nowSec - (CHART_DAYS - 1 - index) * DAY_SEC),
  );
  const totals = await totalsOf(deps, visit, new URLSearchParams({ status: 'paid', from: days[0] ?? '' }), true);
  return days.map((day) => {
    const ofDay = totals.filter((one) => one.day === day);
    return { day, count: countOf(ofDay), due: Object.fromEntries(ofDay.map(({ coin, due }) => [coin, due])) };
  });
}

/** How many payments were paid, and the amount in each coin. */
export function paidChart(visit: Visit, days: readonly PaidDay[]): Html {
  const coins = [...new Set(days.flatMap(({ due }) => Object.keys(due)))].sort();
  if (coins.length === 0)
    return html`<p class="empty">${words`No payment of the last ${CHART_DAYS} days is paid yet.`}</p>`;
  const columns: Column<PaidDay>[] = [
    { name: words`Day`, cell: ({ day }) => day },
    { name: words`Payments`, isNumber: true, cell: ({ count }) => count },
    ...coins.map((coin) => ({ name: html`${coin}`, isNumber: true, cell: ({ due }: PaidDay) => due[coin] ?? '0.00' })),
  ];
  const chartOf = (title: Words, valueOf: (day: PaidDay) => number) => ({
    title,
    bars: days.map((day) => ({ label: day.day.slice('2026-'.length), value: valueOf(day) })),
  });
  return barCharts(
    [
      ...coins.map((coin) => chartOf(words`Volume in ${coin}`, ({ due }) => Number(due[coin] ?? 0))),
      chartOf(words`Number of payments`, ({ count }) => count),
    ],
    html`${table(words`Paid payments by day`, columns, days, words``)}
      <p>${link(`${pathOf(visit)}.csv?status=paid&from=${days[0]?.day ?? ''}`, words`Download CSV`)}</p>`,
  );
}
