import { html, type Html } from '../../../runtime/http/html.ts';
import { isDay } from '../../../domain/values/calendar.ts';
import { csvLink, csvRoute } from '../../csv.ts';
import { modeOf, run, type ConsoleDeps } from '../../deps.ts';
import { inMode } from '../../modes.ts';
import {
  badge,
  code,
  facts,
  filterForm,
  link,
  more,
  table,
  tabs,
  time,
  withQuery,
  type Column,
  type Field,
} from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import { currencyField, currencyOf, WORTH_NOTE } from './worth.ts';
import { Refused, type Shown, type Visit } from '../../visit.ts';
import { must } from '../../../domain/values/must.ts';
import { words, type Words } from '../../words.ts';

export interface Balance {
  readonly account: string;
  readonly network: string;
  readonly coin: string;
  readonly debit: string | null;
  readonly credit: string | null;
  /** Present if a currency was requested. */
  readonly worth?: string | null;
}

interface TrialBalance {
  readonly entries: number;
  readonly balanced: boolean;
  readonly accounts: readonly Balance[];
  readonly totals: readonly {
    readonly network: string;
    readonly coin: string;
    readonly debit: string;
    readonly credit: string;
    readonly difference: string;
  }[];
}

export interface Line {
  readonly account: string;
  readonly network: string;
  readonly coin: string;
  readonly debit: string | null;
  readonly credit: string | null;
  readonly balance: string;
}

export interface Entry {
  readonly entry: number;
  readonly id: string;
  readonly kind: string;
  readonly recorded_at: number;
  readonly recorded_day: string;
  readonly chain_time: number | null;
  readonly merchant_id: string | null;
  readonly order_id: string | null;
  readonly session_id: string | null;
  readonly tx_hash: string | null;
  readonly block_number: number | null;
  readonly value: {
    readonly currency: string;
    readonly atLockedRate: string;
    readonly atSettlementQuote: string | null;
  } | null;
  readonly lines: readonly Line[];
}

/** Entries per page: each is a card with a table, and more of them would make the page too heavy. */
const JOURNAL_PAGE = '20';

const CLOCK: Field = {
  name: 'clock',
  label: words`Days by`,
  options: [
    ['recorded', words`recording`],
    ['chain', words`block time`],
  ],
};

/**
 * Links from a balance to its lines, from a line to its entry, and from there to payment, transaction and proof.
 */
export function bookRoutes(deps: ConsoleDeps): ConsoleRoutes {
  const page =
    (title: Words, render: (visit: Visit) => Promise<Html>) =>
    async (visit: Visit): Promise<Shown> => ({
      page: { title, mode: modeOf(visit.params['mode']), body: html`${booksTabs(visit)} ${await render(visit)}` },
    });
  return {
    change: [],
    read: [
      {
        path: '/books',
        action: 'books.read',
        show: async ({ mode }) => ({ to: `/books/${mode}` }),
      },
      {
        path: '/books/:mode',
        action: 'books.read',
        show: page(words`Trial balance`, (visit) => trialBalance(deps, visit)),
      },
      {
        path: '/books/:mode/journal',
        action: 'books.read',
        show: page(words`Journal`, (visit) => journal(deps, visit)),
      },
      csvRoute('/books/:mode/trial-balance', 'books.read', async (visit) => {
        const { currency } = await currencyOf(deps, visit.query);
        return {
          columns: balanceColumns(visit, currency),
          pages: [(await balancesOf(deps, visit, currency)).accounts],
        };
      }),
      {
        path: '/books/:mode/journal.csv',
        action: 'books.read',
        show: async ({ params, query }) => {
          const { chunks } = await must(deps.streams['ledger.export'])({
            mode: modeOf(params['mode']),
            format: 'csv',
            ...given(query, ['from', 'to', 'clock']),
          });
          return { file: { name: 'journal.csv', contentType: 'text/csv; charset=utf-8', chunks } };
        },
      },
    ],
  };
}

export function booksTabs({ params, path }: Visit): Html {
  const mode = must(params['mode']);
  return tabs([
    [`/books/${mode}`, words`Trial balance`, path === `/books/${mode}`],
    [`/books/${mode}/journal`, words`Journal`, path.endsWith('/journal')],
    [`/books/${mode}/months`, words`Months`, path.endsWith('/months')],
  ]);
}

/** The day in the URL. Throws `Refused` if it is not a date. */
export function given(query: URLSearchParams, names: readonly string[]): Record<string, string> {
  const found = names.flatMap((name) => {
    const value = query.get(name) ?? '';
    if (value !== '' && ['from', 'to', 'asOf'].includes(name) && !isDay(value))
      throw new Refused(words`${name} must be a day such as 2026-10-31`);
    return value === '' ? [] : [[name, value] as const];
  });
  return Object.fromEntries(found);
}

export const clockField = (query: URLSearchParams): Field => ({ ...CLOCK, value: query.get('clock') ?? 'recorded' });
export const dayField = (query: URLSearchParams, name: string, label: Words): Field => ({
  name,
  label,
  type: 'date',
  value: query.get(name) ?? '',
});

const balancesOf = (deps: ConsoleDeps, { params, query }: Visit, currency: string): Promise<TrialBalance> =>
  run<TrialBalance>(deps, 'ledger.trial-balance', {
    mode: modeOf(params['mode']),
    ...given(query, ['asOf', 'clock']),
    ...(currency !== '' && { currency }),
  });

function balanceColumns({ params, query }: Visit, currency: string): Column<Balance>[] {
  const place = { clock: query.get('clock') ?? 'recorded', to: query.get('asOf') ?? '' };
  const to = (account: string): string =>
    withQuery(`/books/${params['mode']}/account`, new URLSearchParams(), {
      account,
      ...place,
      currency: query.get('currency') ?? '',
    });
  return [
    { name: words`Account`, cell: ({ account: name }) => link(to(name), name) },
    { name: words`Network`, cell: ({ network }) => network },
    { name: words`Coin`, cell: ({ coin }) => coin },
    { name: words`Debit`, isNumber: true, cell: ({ debit }) => debit },
    { name: words`Credit`, isNumber: true, cell: ({ credit }) => credit },
    ...(currency === '' ? [] : [{ name: words`Worth in ${currency}`, isNumber: true, cell: worthOf }]),
  ];
}

/** Income, expenses and equity keep the value at which they were booked. */
const worthOf = ({ account, worth }: Balance): Words | string | null =>
  worth ?? (/^(assets|liabilities):/.test(account) ? words`unknown` : null);

async function trialBalance(deps: ConsoleDeps, visit: Visit): Promise<Html> {
  const { query, path } = visit;
  const { currency, currencies } = await currencyOf(deps, query);
  const books = await balancesOf(deps, visit, currency);
  return html`${filterForm(path, [dayField(query, 'asOf', words`As of the end of`), clockField(query), currencyField(currency, currencies)])}
    <p class="${books.balanced ? 'notice' : 'problem'}">
      ${books.balanced ? words`Debits and credits are equal, ${books.entries} entries.` : words`Debits and credits differ, ${books.entries} entries.`}
    </p>
    ${currency !== '' && html`<p>${WORTH_NOTE}</p>`}
    <p>${csvLink(visit, `${path}/trial-balance`)}</p>
    ${table(words`Trial balance`, balanceColumns(visit, currency), books.accounts, words`Nothing is booked yet.`)}
    <h2>${words`Totals`}</h2>
    ${table(
      words`Totals`,
      [
        { name: words`Network`, cell: ({ network }) => network },
        { name: words`Coin`, cell: ({ coin }) => coin },
        { name: words`Debit`, isNumber: true, cell: ({ debit }) => debit },
        { name: words`Credit`, isNumber: true, cell: ({ credit }) => credit },
        { name: words`Difference`, isNumber: true, cell: ({ difference }) => difference },
      ],
      books.totals,
      words`No entries.`,
    )}`;
}

async function journal(deps: ConsoleDeps, visit: Visit): Promise<Html> {
  const { params, query, path } = visit;
  const wanted = query.get('entry');
  // A page begins after the cursor's number, so the requested entry comes first.
  const cursor = wanted !== null && /^\d{1,12}$/.test(wanted) ? String(Number(wanted) - 1) : query.get('cursor');
  const args = {
    mode: must(params['mode']),
    ...given(query, ['from', 'to', 'clock']),
    ...(cursor !== null && cursor !== '' && { cursor }),
    limit: wanted === null ? JOURNAL_PAGE : '1',
  };
  const { entries, next_cursor: next } = await run<{ entries: Entry[]; next_cursor: string | null }>(
    deps,
    'ledger.journal',
    args,
  );
  return html`${filterForm(path, [dayField(query, 'from', words`From`), dayField(query, 'to', words`To`), clockField(query)])}
    <p>${link(withQuery(`${path}.csv`, query, { cursor: null, entry: null }), words`Download CSV`)}</p>
    ${
      entries.length === 0
        ? html`<p class="empty">${words`No entries in this range.`}</p>`
        : html`<p>
            ${words`A proof is a file to download. ${link(inMode('/audit', modeOf(params['mode'])), words`Verify it`)}.`}
          </p>`
    }
    ${entries.map((entry) => entryPart(visit, entry))} ${wanted === null && more(visit, next)}`;
}

function entryPart(visit: Visit, entry: Entry): Html {
  const payment =
    entry.session_id !== null && entry.merchant_id !== null
      ? link(`/m/${entry.merchant_id}/payments/${entry.session_id}`, entry.order_id ?? entry.session_id)
      : entry.order_id;
  return html`<section class="card">
    <h2>#${entry.entry} ${badge(entry.kind)}</h2>
    ${table(
      words`Lines of entry ${entry.entry}`,
      [
        {
          name: words`Account`,
          cell: ({ account: name }: Line) =>
            link(withQuery(`/books/${visit.params['mode']}/account`, new URLSearchParams(), { account: name }), name),
        },
        { name: words`Network`, cell: ({ network }: Line) => network },
        { name: words`Debit`, isNumber: true, cell: ({ debit, coin }: Line) => debit && `${debit} ${coin}` },
        { name: words`Credit`, isNumber: true, cell: ({ credit, coin }: Line) => credit && `${credit} ${coin}` },
      ],
      entry.lines,
      words`A note: it moves no money.`,
    )}
    ${facts([
      [words`Recorded`, time(entry.recorded_at, visit)],
      [words`Block`, entry.chain_time === null ? '–' : time(entry.chain_time, visit)],
      [
        words`Worth`,
        entry.value &&
          html`${entry.value.atLockedRate} ${entry.value.currency}<small
              >${words`at the rate of the order`}${
                entry.value.atSettlementQuote !== null &&
                html`; ${words`${entry.value.atSettlementQuote} when it was recorded`}`
              }</small
            >`,
      ],
      [words`Event`, code(entry.id)],
      [words`Payment`, payment],
      [words`Transaction`, code(entry.tx_hash)],
      [
        words`Proof`,
        entry.session_id === null
          ? '–'
          : link(`/audit/proof?session=${entry.session_id}`, words`Proof of the payment’s events`),
      ],
    ])}
  </section>`;
}
