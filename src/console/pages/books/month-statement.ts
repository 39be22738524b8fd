import { html, type Html } from '../../../runtime/http/html.ts';
import { firstDayOf, isMonth, lastDayOf } from '../../../domain/values/calendar.ts';
import { merchantAccountOf, owedToMerchant } from '../../../domain/money/ledger.ts';
import { NoStatement } from '../../../operator/books/documents.ts';
import { modeOf, readerOf, run, type ConsoleDeps } from '../../deps.ts';
import { merchantPath } from '../../layout.ts';
import { badge, changeForm, code, facts, field, link, REASON, table, time, type Column } from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import { NO_SUCH, reasonIn, type ChangeRoute, type Shown, type Visit, merchantOf } from '../../visit.ts';
import { booksTabs } from './books.ts';
import { must } from '../../../domain/values/must.ts';
import { words } from '../../words.ts';

interface Moved {
  readonly account: string;
  readonly network: string;
  readonly coin: string;
  readonly debits: string;
  readonly credits: string;
}

/** The part of a statement's evidence that the page shows. */
interface Statement {
  readonly mode: string;
  readonly period: string;
  readonly merchant_id: string | null;
  readonly accounts: readonly (Moved & { readonly opening: string; readonly closing: string })[];
  readonly kinds: readonly (Moved & { readonly kind: string; readonly lines: number })[];
  readonly lines: number;
  readonly lines_sha256: string;
  readonly closing: string;
  readonly through_event: string;
  readonly event: string;
  readonly issued_at_sec: number;
  readonly checkpoint: { readonly size: number; readonly root_hash: string };
  readonly verifier_key: string | null;
}

/** Statements of closed months: to print, as CSV lines, and as evidence that can be verified on its own. */
export function monthStatementRoutes(deps: ConsoleDeps): ConsoleRoutes {
  const routesOf = (base: string, action: 'books.read' | 'statements.read', ownerOf: (visit: Visit) => Owner) => {
    const read = (visit: Visit): Promise<Statement> =>
      run<Statement>(deps, 'ledger.month-statement', { ...ownerOf(visit), month: monthOf(visit) });
    return [
      {
        path: `${base}/:month`,
        action,
        show: async (visit: Visit): Promise<Shown> => {
          const { mode } = ownerOf(visit);
          const statement = await read(visit).catch((error: unknown) => whyNone(deps, visit, mode, error));
          const shown = 'page' in statement ? statement.page : page(visit, statement);
          const body = html`${base.startsWith('/books') && booksTabs(visit)} ${shown}`;
          return { page: { title: words`Statement of ${monthOf(visit)}`, mode: modeOf(mode), body } };
        },
      },
      {
        path: `${base}/:month/evidence.json`,
        action,
        show: async (visit: Visit): Promise<Shown> => {
          const chunks = [`${JSON.stringify(await read(visit), null, 2)}\n`];
          return { file: { name: `statement-${monthOf(visit)}.json`, contentType: 'application/json', chunks } };
        },
      },
      {
        path: `${base}/:month/lines.csv`,
        action,
        show: async (visit: Visit): Promise<Shown> => {
          const { mode, merchant } = ownerOf(visit);
          const month = monthOf(visit);
          const document = merchant === undefined ? { document: 'journal' } : { document: 'lines', merchant };
          const { chunks } = await must(deps.streams['ledger.export'])({
            mode,
            ...document,
            from: firstDayOf(month),
            to: lastDayOf(month),
          });
          return { file: { name: `lines-${month}.csv`, contentType: 'text/csv; charset=utf-8', chunks } };
        },
      },
    ];
  };
  return {
    change: [creation(deps)],
    read: [
      ...routesOf('/books/:mode/months', 'books.read', ({ params }) => ({ mode: modeOf(params['mode']) })),
      ...routesOf('/m/:merchant/statement', 'statements.read', (visit) => ({
        mode: readerOf(visit).mode,
        merchant: readerOf(visit).merchantId,
      })),
    ],
  };
}

/** For a month that was closed before its statements were made with it. */
const creation = (deps: ConsoleDeps): ChangeRoute => ({
  path: '/books/:mode/months/:month/statements',
  action: 'books.close',
  target: ({ params }) => `${params['month']} ${params['mode']}`,
  run: async (visit) => {
    reasonIn(visit);
    const [mode, month] = [modeOf(visit.params['mode']), monthOf(visit)];
    const asked = { mode, month, actor: visit.person.name };
    const { statements } = await run<{ statements: readonly unknown[] }>(deps, 'ledger.statements', asked);
    return { detail: `${statements.length}`, shown: { to: `/books/${mode}/months/${month}?done=statements` } };
  },
});

/** Nothing was owed and nothing moved in a closed month. Throws what else went wrong. */
async function whyNone(deps: ConsoleDeps, visit: Visit, mode: string, error: unknown): Promise<{ page: Html }> {
  if (!(error instanceof NoStatement)) throw error;
  const month = monthOf(visit);
  const { periods } = await run<{ periods: readonly { period: string }[] }>(deps, 'ledger.periods', { mode });
  if (!periods.some(({ period }) => period === month)) throw NO_SUCH();
  return {
    page: html`<p class="empty">
        ${words`Nothing was owed to ${visit.merchant?.name ?? 'anybody'} in ${month}, and nothing moved, so there is no
        statement.`}
      </p>
      <p>
        ${words`If money did move, the statements of the month were not created when it was closed.`}
        ${!visit.can('books.close') && words`Somebody of finance can create them.`}
      </p>
      ${
        visit.can('books.close') &&
        changeForm(visit, `/books/${mode}/months/${month}/statements`, field(REASON), words`Create the statements`)
      }`,
  };
}

interface Owner {
  readonly mode: string;
  readonly merchant?: string;
}

function monthOf({ params }: Visit): string {
  const month = params['month'] ?? '';
  if (!isMonth(month)) throw NO_SUCH();
  return month;
}

/** On a merchant's statement, as everywhere, what the merchant is owed is positive. */
function page(visit: Visit, statement: Statement): Html {
  const isOperators = statement.merchant_id === null;
  const owed = (amount: string): string => (isOperators ? amount : owedToMerchant(amount));
  const name = ({ account }: { account: string }): string =>
    isOperators ? account : (merchantAccountOf(account)?.part ?? account);
  const place = { name: words`Coin`, cell: ({ coin, network }: Moved) => words`${coin} on ${network}` };
  const turnover: Column<Moved>[] = [
    { name: isOperators ? words`Debits` : words`Less`, isNumber: true, cell: ({ debits }) => debits },
    { name: isOperators ? words`Credits` : words`More`, isNumber: true, cell: ({ credits }) => credits },
  ];
  return html`${facts([
      [words`Month`, words`${statement.period} (UTC, by the time of recording)`],
      [words`For`, isOperators ? words`the operator` : words`${visit.merchant?.name ?? ''} (${statement.merchant_id})`],
      [words`Mode`, statement.mode],
      [words`Made`, time(statement.issued_at_sec, visit)],
    ])}
    <p class="filters">
      ${link(`${visit.path}/evidence.json`, words`Evidence (JSON)`)}
      ${link(`${visit.path}/lines.csv`, words`Lines (CSV)`)}
    </p>
    <h2>${isOperators ? words`Accounts` : words`What you are owed`}</h2>
    ${table(
      words`Accounts`,
      [
        { name: words`Account`, cell: name },
        place,
        { name: words`Before`, isNumber: true, cell: ({ opening }) => owed(opening) },
        ...turnover,
        { name: words`After`, isNumber: true, cell: ({ closing }) => owed(closing) },
      ],
      statement.accounts,
      words`Nothing was held and nothing moved.`,
    )}
    <h2>${words`What happened`}</h2>
    ${table(
      words`What happened`,
      [
        { name: words`What`, cell: ({ kind }) => badge(kind) },
        { name: words`Account`, cell: name },
        place,
        { name: words`Lines`, isNumber: true, cell: ({ lines }) => lines },
        ...turnover,
      ],
      statement.kinds,
      words`Nothing moved.`,
    )}
    <h2>${words`Evidence`}</h2>
    ${facts([
      [words`Event of this statement`, code(statement.event)],
      [words`Event that sealed the month`, code(statement.closing)],
      [words`Last event in the month`, code(statement.through_event || null)],
      [words`Lines`, statement.lines],
      [words`SHA-256 of the lines`, code(statement.lines_sha256)],
      [words`Checkpoint`, `${statement.checkpoint.size} events`],
      [words`Root`, code(statement.checkpoint.root_hash)],
      [words`Public key`, code(statement.verifier_key)],
    ])}`;
}

/** Links to the statements of a merchant's closed months. */
export const monthLinks = (visit: Visit, months: readonly string[]): Html =>
  html`<h2>${words`Closed months`}</h2>
    ${table(words`Closed months`, [{ name: words`Month`, cell: (month) => link(`${merchantPath(merchantOf(visit))}/statement/${month}`, month) }], months.toReversed(), words`No month is closed.`)}`;
