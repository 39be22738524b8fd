import { html, type Html } from '../../../runtime/http/html.ts';
import type { Mode } from '../../../domain/values/ids.ts';
import type { Network } from '../../../domain/networks/networks.ts';
import { run, type ConsoleDeps } from '../../deps.ts';
import { inMode } from '../../modes.ts';
import { changeForm, code, field, link, REASON, table, type Column } from '../../parts.ts';
import { reasonIn, type ChangeRoute, type Page, type Visit } from '../../visit.ts';
import { words } from '../../words.ts';

/* The comparison of the books with a chain, which the service otherwise makes at intervals. */

interface Account {
  readonly account: string;
  readonly coin: string;
  readonly onChain: string;
  readonly booked: string;
  readonly difference: string;
}

interface Unbooked {
  readonly session_id: string;
  readonly address: string;
  readonly coin: string;
  readonly booked: string;
  readonly on_chain: string;
}

interface NativeDifference {
  readonly kind: 'found' | 'missing';
  readonly session_id: string;
  readonly address: string;
  readonly coin: string;
  readonly booked_before: string;
  readonly on_chain: string;
}

interface Compared {
  readonly network: Network;
  readonly throughBlock: number;
  readonly accounts: readonly Account[];
  readonly unknown: readonly object[];
  readonly unbooked: {
    readonly addresses_read: number;
    /** Where the check of the addresses continues; null at the end. */
    readonly next: string | null;
    readonly found: readonly Unbooked[];
    readonly native_coin: readonly NativeDifference[];
  };
}

export const comparisonForm = (visit: Visit, networks: readonly Network[]): Html =>
  html`<h2>${words`Compare now`}</h2>
    <p>
      ${words`The service compares the books with each chain at intervals. Compare at once when you expect money that the
      books do not have yet, such as native coin that is to be returned. It may take a minute.`}
    </p>
    ${changeForm(
      visit,
      '/treasury/compare',
      [
        field({ name: 'network', label: words`Network`, options: networks.map((one) => [one, one] as const) }),
        field(REASON),
      ],
      words`Compare now`,
    )}`;

export const comparison = (deps: ConsoleDeps): ChangeRoute => ({
  path: '/treasury/compare',
  action: 'treasury.compare',
  target: ({ form, mode }) => `${form['network']} (${mode})`,
  run: async (visit) => {
    reasonIn(visit);
    const { mode, form } = visit;
    const after = form['after'] ? { after: form['after'] } : {};
    const asked = { mode, network: form['network'] ?? '', ...after };
    const { treasuries } = await run<{ treasuries: Compared[] }>(deps, 'treasury.reconcile', asked);
    const detail = treasuries.map(inShort).join('; ');
    return { detail, shown: { page: resultPage(visit, treasuries) } };
  },
});

const inShort = ({ network, throughBlock, unknown, unbooked }: Compared): string =>
  `${network} through block ${throughBlock}: ${unknown.length} unknown outflows, ${unbooked.found.length} amounts that the books lack`;

const resultPage = (visit: Visit, treasuries: readonly Compared[]): Page => ({
  title: words`The comparison`,
  body: html`<p>${link(inMode('/treasury/balances', visit.mode), words`Balances against the books`)}</p>
    ${treasuries.length === 0 && html`<p class="empty">${words`Nothing is paid out on this network in ${visit.mode} mode.`}</p>`}
    ${treasuries.map((compared) => resultPart(visit, compared))}`,
});

function resultPart(visit: Visit, { network, throughBlock, accounts, unknown, unbooked }: Compared): Html {
  const { found, native_coin: native, addresses_read: count, next } = unbooked;
  return html`<h2>${words`${network}, through block ${throughBlock}`}</h2>
    ${unknown.length > 0 && outflowsFound(visit.mode)}
    <p>
      ${words`What the treasury holds beyond the books counts as brought in by the operator, and is booked as such.`}
    </p>
    ${table(words`Balances`, ACCOUNT_COLUMNS, accounts, words`There is nothing to compare.`)}
    <h3>${words`Money that the books lack`}</h3>
    ${found.length > 0 && html`<p>${words`Find the blocks of its transfers in an explorer, and read them again: ${link(inMode('/chains', visit.mode), words`Chains`)}.`}</p>`}
    ${table(words`Money that the books lack`, UNBOOKED_COLUMNS, found, words`None at the ${count} addresses that were checked.`)}
    <h3>${words`Native coin at collection addresses`}</h3>
    ${table(words`Native coin`, NATIVE_COLUMNS, native, words`Nothing new.`)}
    ${next !== null && continueForm(visit, network, next)}`;
}

const outflowsFound = (mode: Mode): Html =>
  html`<p class="problem">
    ${words`Money left without an order. Nothing is paid out on this network until two approvers explain it:
    ${link(inMode('/treasury', mode), words`Treasury`)}.`}
  </p>`;

const continueForm = (visit: Visit, network: Network, after: string): Html =>
  changeForm(
    { ...visit, path: '/treasury/balances', query: new URLSearchParams({ mode: visit.mode }) },
    '/treasury/compare',
    [
      html`<input type="hidden" name="network" value="${network}" />`,
      html`<input type="hidden" name="after" value="${after}" />`,
      field(REASON),
    ],
    words`Check the next addresses`,
  );

const ACCOUNT_COLUMNS: readonly Column<Account>[] = [
  { name: words`Account`, cell: ({ account }) => account.replaceAll('_', ' ') },
  { name: words`Coin`, cell: ({ coin }) => coin },
  { name: words`On the chain`, isNumber: true, cell: ({ onChain }) => onChain },
  { name: words`In the books`, isNumber: true, cell: ({ booked }) => booked },
  { name: words`Difference`, isNumber: true, cell: ({ difference }) => difference },
];

const payment = (id: string): Html => link(`/search?q=${id}`, id);

const UNBOOKED_COLUMNS: readonly Column<Unbooked>[] = [
  { name: words`Payment`, cell: ({ session_id: id }) => payment(id) },
  { name: words`Address`, cell: ({ address }) => code(address) },
  { name: words`Coin`, cell: ({ coin }) => coin },
  { name: words`On the chain`, isNumber: true, cell: ({ on_chain: amount }) => amount },
  { name: words`In the books`, isNumber: true, cell: ({ booked }) => booked },
];

const NATIVE_COLUMNS: readonly Column<NativeDifference>[] = [
  {
    name: words`What`,
    cell: ({ kind }) => (kind === 'found' ? words`found, and booked as owed to its sender` : words`missing`),
  },
  { name: words`Payment`, cell: ({ session_id: id }) => payment(id) },
  { name: words`Address`, cell: ({ address }) => code(address) },
  { name: words`Coin`, cell: ({ coin }) => coin },
  { name: words`On the chain`, isNumber: true, cell: ({ on_chain: amount }) => amount },
  { name: words`In the books before`, isNumber: true, cell: ({ booked_before: amount }) => amount },
];
