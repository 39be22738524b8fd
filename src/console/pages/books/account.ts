import { html, type Html } from '../../../runtime/http/html.ts';
import { merchantAccountOf } from '../../../domain/money/ledger.ts';
import { csvLink, csvRoute, everyPage } from '../../csv.ts';
import { modeOf, run, type ConsoleDeps } from '../../deps.ts';
import { code, facts, filterForm, link, more, table, withQuery, type Column, spelled } from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import type { Visit } from '../../visit.ts';
import { booksTabs, clockField, dayField, given, type Line } from './books.ts';
import { currencyField, currencyOf, valueText, WORTH_NOTE, type Value } from './worth.ts';
import { words } from '../../words.ts';

interface Sum {
  readonly network: string;
  readonly coin: string;
  readonly balance: string;
  /** Present if a currency was requested. */
  readonly worth?: Value | null;
}

type StatementLine = Line & {
  readonly entry: number;
  readonly kind: string;
  readonly recorded_day: string;
  readonly order_id: string | null;
  readonly tx_hash: string | null;
  readonly worth?: Value | null;
};

interface Statement {
  readonly opening: readonly Sum[];
  readonly closing: readonly Sum[];
  readonly lines: readonly StatementLine[];
  readonly next_cursor: string | null;
}

/** One account: opening balance, every line, closing balance, and the value of each. */
export function accountRoutes(deps: ConsoleDeps): ConsoleRoutes {
  return {
    change: [],
    read: [
      {
        path: '/books/:mode/account',
        action: 'books.read',
        show: async (visit) => ({
          page: {
            title: words`Account`,
            mode: modeOf(visit.params['mode']),
            body: html`${booksTabs(visit)} ${await account(deps, visit)}`,
          },
        }),
      },
      csvRoute('/books/:mode/account', 'books.read', async (visit) => {
        const { currency } = await currencyOf(deps, visit.query);
        return {
          columns: lineColumns(visit, currency),
          pages: everyPage(async (cursor) => {
            const { lines, next_cursor: next } = await linesOf(deps, visit, currency, cursor);
            return { rows: lines, next };
          }),
        };
      }),
    ],
  };
}

const linesOf = (
  deps: ConsoleDeps,
  { params, query }: Visit,
  currency: string,
  cursor: string | null,
): Promise<Statement> =>
  run<Statement>(deps, 'ledger.account', {
    ...{ account: query.get('account') ?? '', mode: modeOf(params['mode']) },
    ...given(query, ['from', 'to', 'clock']),
    ...(currency !== '' && { currency }),
    ...(cursor !== null && cursor !== '' && { cursor }),
  });

function lineColumns({ params }: Visit, currency: string): Column<StatementLine>[] {
  const toEntry = (entry: number): string =>
    withQuery(`/books/${params['mode']}/journal`, new URLSearchParams(), { entry: String(entry) });
  return [
    { name: words`Entry`, cell: ({ entry }) => link(toEntry(entry), `#${entry}`) },
    { name: words`Day`, cell: ({ recorded_day: day }) => html`<time>${day}</time>` },
    { name: words`Kind`, cell: ({ kind }) => spelled(kind), text: ({ kind }) => kind },
    { name: words`Order`, cell: (line) => line.order_id },
    { name: words`Debit`, isNumber: true, cell: ({ debit, coin }) => debit && `${debit} ${coin}` },
    { name: words`Credit`, isNumber: true, cell: ({ credit, coin }) => credit && `${credit} ${coin}` },
    { name: words`Balance`, isNumber: true, cell: ({ balance, coin }) => `${balance} ${coin}` },
    ...(currency === '' ? [] : worthColumns(currency)),
    { name: words`Transaction`, cell: (line) => code(line.tx_hash) },
  ];
}

const worthColumns = (currency: string): Column<StatementLine>[] => [
  {
    name: words`Worth in ${currency}`,
    isNumber: true,
    cell: ({ worth }) => valueText(worth, currency),
    text: ({ worth }) => worth?.amount ?? null,
  },
  { name: words`Rate`, onlyInFiles: true, cell: ({ worth }) => worth?.rate ?? null },
  {
    name: words`Rate of`,
    onlyInFiles: true,
    cell: ({ worth }) => (worth ? new Date(worth.rate_at * 1000).toISOString() : null),
  },
  { name: words`Rate by`, onlyInFiles: true, cell: ({ worth }) => worth?.source ?? null },
];

async function account(deps: ConsoleDeps, visit: Visit): Promise<Html> {
  const { query, path } = visit;
  const name = query.get('account') ?? '';
  const { currency, currencies } = await currencyOf(deps, query);
  const found = await linesOf(deps, visit, currency, query.get('cursor'));
  const sums = (of: readonly Sum[]): Html | string =>
    of.length === 0
      ? '0'
      : html`${of.map(({ balance, coin, network, worth }) => html`<div>${words`${balance} ${coin} on ${network}`}${worth !== undefined && html`<small>${valueText(worth, currency)}</small>`}</div>`)}`;
  return html`${facts([
      [words`Account`, code(name)],
      [words`Opening balance`, sums(found.opening)],
      [words`Closing balance`, sums(found.closing)],
      [words`Merchant`, merchantAccountOf(name)?.merchantId ?? null],
    ])}
    ${filterForm(
      path,
      [
        dayField(query, 'from', words`From`),
        dayField(query, 'to', words`To the end of`),
        clockField(query),
        currencyField(currency, currencies),
      ],
      { account: name },
    )}
    ${currency !== '' && html`<p>${WORTH_NOTE}</p>`}
    <p>${csvLink(visit)}</p>
    ${table(words`Lines`, lineColumns(visit, currency), found.lines, words`No lines in this range.`)}
    ${more(visit, found.next_cursor)}`;
}
