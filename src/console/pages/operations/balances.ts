import { html, type Html } from '../../../runtime/http/html.ts';
import { TREASURY } from '../../../domain/money/ledger.ts';
import { amountOf, formatAmount, signedAmountOf } from '../../../domain/money/money.ts';
import { NATIVE_COIN, type Network } from '../../../domain/networks/networks.ts';
import { csvLink, csvRoute } from '../../csv.ts';
import { run, type ConsoleDeps } from '../../deps.ts';
import { inMode } from '../../modes.ts';
import { FILE_PATIENCE_MS, LastKnown, type Known } from '../../last-known.ts';
import { code, inWords, link, table, type Column } from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import type { Visit } from '../../visit.ts';
import { comparison, comparisonForm } from './comparison.ts';
import { treasuryStatus } from './treasury.ts';
import type { Balance } from '../books/books.ts';
import { currencyOf } from '../books/worth.ts';
import { words, type Words } from '../../words.ts';

interface OnChain {
  readonly mode: string;
  readonly network: string;
  readonly coins: Readonly<Record<string, string>>;
  readonly gas: string;
}

type Chain = Known<OnChain | null>;

interface Row {
  readonly network: Network;
  readonly address: string;
  readonly coin: string;
  readonly chain: Chain;
  /** Null if the network has not answered. */
  readonly onChain: string | null;
  readonly booked: string;
  readonly worth: string | null;
}

/** What the treasuries hold now according to the chains, beside what the books say. */
export function balanceRoutes(deps: ConsoleDeps): ConsoleRoutes {
  const known: LastKnown<OnChain | null> = new LastKnown();
  return {
    change: [comparison(deps)],
    read: [
      {
        path: '/treasury/balances',
        action: 'treasury.read',
        show: async (visit) => {
          const { currency } = await currencyOf(deps, visit.query);
          const rows = await rowsOf(deps, visit, { known, currency });
          return { page: { title: words`Balances of the treasury`, isLive: true, body: body(visit, rows, currency) } };
        },
      },
      csvRoute('/treasury/balances', 'treasury.read', async (visit) => {
        const { currency } = await currencyOf(deps, visit.query);
        const rows = await rowsOf(deps, visit, { known, currency, patienceMs: FILE_PATIENCE_MS });
        return { columns: columns(visit, currency), pages: [rows] };
      }),
    ],
  };
}

const body = (visit: Visit, rows: readonly Row[], currency: string): Html =>
  html`<p>
      ${words`What the chains reported last. The books contain what is final and recorded, so money in transit differs for a
      moment. The service compares both by itself and stops payouts when it cannot explain a difference.
      ${link(inMode('/treasury', visit.mode), words`Treasury`)}`}
      · ${csvLink(visit)}
    </p>
    ${table(words`Balances`, columns(visit, currency), rows, words`This process has no treasury.`)}
    ${rows.length > 0 && visit.can('treasury.compare') && comparisonForm(visit, [...new Set(rows.map(({ network }) => network))])}`;

const columns = ({ nowSec }: Visit, currency: string): Column<Row>[] => [
  { name: words`Network`, cell: ({ network }) => network },
  {
    name: words`Coin`,
    cell: ({ coin, network }) => (isGas({ coin, network }) ? html`${coin}<small>${words`gas`}</small>` : coin),
  },
  {
    name: words`On the chain`,
    isNumber: true,
    cell: ({ onChain, chain }) =>
      html`${onChain}<small ${chain.isAsking && html`data-asking`}>${stateOf(chain, nowSec)}</small>`,
    text: ({ onChain }) => onChain ?? words`cannot be read now`,
  },
  { name: words`In the books`, isNumber: true, cell: ({ booked }) => booked },
  { name: words`Difference`, isNumber: true, cell: differenceOf },
  ...(currency === ''
    ? []
    : [{ name: words`Books in ${currency}`, isNumber: true, cell: ({ worth }: Row) => worth ?? words`unknown` }]),
  { name: words`Address`, cell: ({ address }) => code(address) },
];

function stateOf({ atSec, isAsking, fault }: Chain, nowSec: number): Words | null {
  const age = atSec === null ? null : words`${inWords(nowSec - atSec)} ago`;
  if (isAsking) return age === null ? words`being read` : words`${age}, being read again`;
  if (fault === null) return age;
  return age === null ? words`cannot be read now` : words`cannot be read now; ${age}`;
}

const isGas = ({ coin, network }: Pick<Row, 'coin' | 'network'>): boolean => coin === NATIVE_COIN[network];

function differenceOf({ onChain, booked }: Row): string | null {
  if (onChain === null) return null;
  return formatAmount(amountOf(onChain) - signedAmountOf(booked));
}

async function rowsOf(
  deps: ConsoleDeps,
  { mode, nowSec }: Visit,
  {
    known,
    currency,
    patienceMs,
  }: { readonly known: LastKnown<OnChain | null>; readonly currency: string; readonly patienceMs?: number },
): Promise<Row[]> {
  const [{ treasuries }, { accounts }] = await Promise.all([
    treasuryStatus(deps),
    run<{ accounts: Balance[] }>(deps, 'ledger.trial-balance', { mode, ...(currency !== '' && { currency }) }),
  ]);
  const own = treasuries.filter((treasury) => treasury.mode === mode);
  const rows = own.map(async ({ network, address }): Promise<Row[]> => {
    const chain = await known.look(`${mode} ${network}`, nowSec, () => heldOn(deps, mode, network), patienceMs);
    const held = chain.answer;
    const native = NATIVE_COIN[network];
    const booked = accounts.filter((one) => one.account === TREASURY && one.network === network);
    const coins = new Set([...Object.keys(held?.coins ?? {}), ...booked.map(({ coin }) => coin), native]);
    return [...coins].map((coin) => {
      const inBooks = booked.find((one) => one.coin === coin);
      return {
        ...{ network, address, coin, chain },
        onChain: held && (coin === native ? held.gas : (held.coins[coin] ?? '0')),
        booked: inBooks ? (inBooks.debit ?? `-${inBooks.credit}`) : '0.00',
        worth: inBooks ? (inBooks.worth ?? null) : '0',
      };
    });
  });
  return (await Promise.all(rows)).flat();
}

async function heldOn(deps: ConsoleDeps, mode: string, network: string): Promise<OnChain | null> {
  const { treasuries } = await run<{ treasuries: OnChain[] }>(deps, 'treasury.balances', { network });
  return treasuries.find((one) => one.mode === mode) ?? null;
}
