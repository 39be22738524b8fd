import { html, type Html } from '../../../runtime/http/html.ts';
import type { Mode } from '../../../domain/values/ids.ts';
import { csvLink, csvRoute } from '../../csv.ts';
import { run, type ConsoleDeps } from '../../deps.ts';
import {
  badge,
  changeForm,
  field,
  inWords,
  MODE_IN_FILES,
  REASON,
  table,
  timeColumn,
  type Column,
} from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import { reasonIn, type Visit } from '../../visit.ts';
import { words, type Words } from '../../words.ts';

export interface ChainStatus {
  readonly mode: Mode;
  readonly network: string;
  readonly chain_id: string;
  readonly head_block: number | null;
  readonly read_block: number | null;
  readonly read_to: number | null;
  readonly final_block: number | null;
  readonly durable_block: number | null;
  readonly deposits_not_settled: number;
  readonly failed_reads_in_a_row: number;
  readonly providers: readonly Provider[];
}

/** What a provider last reported, and how many seconds ago; null if it was not asked. */
interface Provider {
  readonly provider: string;
  readonly state: string;
  readonly why: string | null;
  readonly head_block: number | null;
  readonly head_age: number | null;
  readonly read_block: number | null;
  readonly read_age: number | null;
  readonly final_block: number | null;
  readonly final_age: number | null;
}

type ProviderRow = Provider & Pick<ChainStatus, 'mode' | 'network'>;

export interface Coverage {
  readonly mode: Mode;
  readonly network: string;
  readonly ranges: number;
  readonly since_the_beginning: boolean;
  readonly from_block: number | null;
  readonly to_block: number | null;
  readonly to_time: number | null;
  readonly providers: readonly string[];
  readonly gaps: readonly { readonly from_block: number; readonly to_block: number }[];
}

/** How far the chains were read. */
export function chainRoutes(deps: ConsoleDeps): ConsoleRoutes {
  return {
    read: [
      {
        path: '/chains',
        action: 'chains.read',
        show: async (visit) => ({ page: { title: words`Chains`, isLive: true, body: await chainsPage(deps, visit) } }),
      },
      csvRoute('/chains', 'chains.read', async (visit) => ({
        columns: chainColumns(visit),
        pages: [await chainsOf(deps, visit)],
      })),
      csvRoute('/chains/providers', 'chains.read', async (visit) => ({
        columns: PROVIDER_COLUMNS,
        pages: [providerRows(await chainsOf(deps, visit))],
      })),
      csvRoute('/chains/coverage', 'chains.read', async (visit) => ({
        columns: coverageColumns(visit),
        pages: [await coverageOf(deps, visit)],
      })),
    ],
    change: [
      {
        path: '/chains/rescan',
        action: 'chains.rescan',
        target: ({ form }) => ['chain', 'from', 'to', 'address'].flatMap((name) => form[name] || []).join(' '),
        run: async (visit) => {
          reasonIn(visit);
          const { form } = visit;
          const [mode = '', network = ''] = (form['chain'] ?? '').split('/');
          const given = Object.fromEntries(
            ['from', 'to', 'address'].flatMap((name) => (form[name] ? [[name, form[name]]] : [])),
          );
          const answer = await run<{ to_block?: number; recorded_to?: number | null }>(deps, 'chain.rescan', {
            ...{ mode, network, ...given },
            operator: visit.person.name,
          });
          const isPartly = answer.to_block !== undefined && answer.recorded_to !== answer.to_block;
          const done = isPartly ? 'rescanned-partly' : 'rescanned';
          return { detail: JSON.stringify(answer), shown: { to: `/chains?done=${done}` } };
        },
      },
    ],
  };
}

async function chainsPage(deps: ConsoleDeps, visit: Visit): Promise<Html> {
  const [chains, coverage] = await Promise.all([chainsOf(deps, visit), coverageOf(deps, visit)]);
  return html`<p>${csvLink(visit)}</p>
    ${table(words`Chains`, chainColumns(visit), chains, NOT_WATCHED)}
    <h2>${words`Providers`}</h2>
    <p>
      ${words`The last answer of each provider and its age. Providers are asked in the order of the settings, so one that was
      not asked is on standby.`}
      ${csvLink(visit, '/chains/providers')}
    </p>
    ${table(words`Providers`, PROVIDER_COLUMNS, providerRows(chains), NOT_WATCHED)}
    <h2>${words`Recorded as read`}</h2>
    <p>${csvLink(visit, '/chains/coverage')}</p>
    ${table(words`Recorded as read`, coverageColumns(visit), coverage, NOT_WATCHED)}
    ${coverage.flatMap((covered) => covered.gaps.map((gap) => gapPart(visit, covered, gap)))}
    ${visit.can('chains.rescan') && rescanForm(visit, chains)}`;
}

const chainsOf = async (deps: ConsoleDeps, { mode }: Visit): Promise<ChainStatus[]> =>
  (await run<ChainStatus[]>(deps, 'chain.status')).filter((chain) => chain.mode === mode);
const coverageOf = async (deps: ConsoleDeps, { mode }: Visit): Promise<Coverage[]> =>
  (await run<Coverage[]>(deps, 'chain.coverage')).filter((covered) => covered.mode === mode);

/** The genesis hash that identifies a Solana chain is too long for its cell. */
const SHORT_ID = 8;

const chainColumns = (visit: Visit): Column<ChainStatus>[] => [
  {
    name: words`Network`,
    cell: ({ network, chain_id: id }) =>
      html`${network}<small>${words`chain ${id.length > SHORT_ID ? `${id.slice(0, SHORT_ID)}…` : id}`}</small>`,
    text: ({ network, chain_id: id }) => `${network} chain ${id}`,
  },
  MODE_IN_FILES,
  { name: words`Head`, isNumber: true, cell: ({ head_block: block }) => block },
  { name: words`Read`, isNumber: true, cell: ({ read_block: block }) => block },
  { name: words`Final`, isNumber: true, cell: ({ final_block: block }) => block },
  { name: words`Recorded as read`, isNumber: true, cell: ({ durable_block: block }) => block },
  timeColumn(words`Read up to`, ({ read_to: sec }) => sec, visit),
  { name: words`Deposits not final`, isNumber: true, cell: (chain) => chain.deposits_not_settled },
  { name: words`Failed reads`, isNumber: true, cell: (chain) => chain.failed_reads_in_a_row },
];

const providerRows = (chains: readonly ChainStatus[]): ProviderRow[] =>
  chains.flatMap(({ mode, network, providers }) => providers.map((provider) => ({ mode, network, ...provider })));

const blockColumn = (name: Words, what: 'head' | 'read' | 'final'): Column<ProviderRow> => ({
  name,
  isNumber: true,
  cell: (row) => {
    const block = row[`${what}_block`];
    return block === null
      ? words`not asked`
      : html`${block}<small>${words`${inWords(row[`${what}_age`] ?? 0)} ago`}</small>`;
  },
  text: (row) => row[`${what}_block`],
});

const ageColumn = (name: Words, what: 'head' | 'read' | 'final'): Column<ProviderRow> => ({
  name,
  onlyInFiles: true,
  cell: (row) => row[`${what}_age`],
});

const PROVIDER_COLUMNS: readonly Column<ProviderRow>[] = [
  { name: words`Provider`, cell: ({ provider }) => provider },
  { name: words`Network`, cell: ({ network }) => network },
  MODE_IN_FILES,
  { name: words`State`, cell: ({ state, why }) => html`${badge(state)}${why !== null && html`<small>${why}</small>`}` },
  blockColumn(words`Head`, 'head'),
  ageColumn(words`Head, seconds ago`, 'head'),
  blockColumn(words`Read`, 'read'),
  ageColumn(words`Read, seconds ago`, 'read'),
  blockColumn(words`Final`, 'final'),
  ageColumn(words`Final, seconds ago`, 'final'),
];

const coverageColumns = (visit: Visit): Column<Coverage>[] => [
  { name: words`Network`, cell: ({ network }) => network },
  MODE_IN_FILES,
  {
    name: words`Blocks`,
    cell: ({ from_block: from, to_block: to, since_the_beginning: isWhole }) =>
      from === null
        ? words`none yet`
        : html`${words`${from} to ${to}`}${!isWhole && html`<small>${words`the newest ranges; older ones are in the event log`}</small>`}`,
  },
  timeColumn(words`Up to`, ({ to_time: sec }) => sec, visit),
  { name: words`Providers`, cell: ({ providers }) => providers.join(', ') },
  {
    name: words`Gaps`,
    cell: (covered) => gapsOf(covered) || words`none`,
  },
];

export const gapsOf = ({ gaps }: Coverage): string =>
  gaps.map(({ from_block: from, to_block: to }) => words`${from} to ${to}`).join(', ');

/** Reads the range again, which records it as read and finds payments in it. */
function gapPart(
  visit: Visit,
  { mode, network }: Coverage,
  { from_block: from, to_block: to }: Coverage['gaps'][number],
): Html {
  return html`<section class="card warn">
    <h3>${words`${network}: blocks ${from} to ${to} are not recorded as read`}</h3>
    ${
      visit.can('chains.rescan') &&
      changeForm(
        visit,
        '/chains/rescan',
        [
          ...Object.entries({ chain: `${mode}/${network}`, from, to }).map(
            ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
          ),
          field(REASON),
        ],
        words`Read them again`,
      )
    }
  </section>`;
}

const NOT_WATCHED = words`No network is watched in this process.`;

const rescanForm = (visit: Visit, chains: readonly ChainStatus[]) =>
  html`<h2>${words`Read again`}</h2>
    <p>
      ${words`Transfers that are already known stay as they are. Final blocks are read twice and recorded as read when both
      readings agree.`}
    </p>
    ${changeForm(
      visit,
      '/chains/rescan',
      [
        field({
          name: 'chain',
          label: words`Network`,
          options: chains.map(({ mode, network }) => [`${mode}/${network}`, network] as const),
        }),
        field({ name: 'from', label: words`From block` }),
        field({ name: 'to', label: words`To block` }),
        field({ name: 'address', label: words`Address`, hint: words`On Solana, instead of blocks.` }),
        field(REASON),
      ],
      words`Read again`,
    )}`;
