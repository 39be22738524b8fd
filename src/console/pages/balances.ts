import { html, type Html } from '../../runtime/util/html.ts';
import { TREASURY } from '../../domain/ledger.ts';
import { amountOf, formatAmount, signedAmountOf } from '../../domain/money.ts';
import { NATIVE_COIN, type Network } from '../../domain/networks.ts';
import { csvLink, csvRoute } from '../csv.ts';
import { run, type ConsoleDeps } from '../deps.ts';
import { inMode } from '../modes.ts';
import { code, link, table, type Column } from '../parts.ts';
import type { ConsoleRoutes } from '../server.ts';
import type { Visit } from '../visit.ts';
import type { TreasuryStatus } from './treasury.ts';
import type { Balance } from './books.ts';
import { currencyOf } from './worth.ts';

interface OnChain {
  readonly mode: string;
  readonly network: string;
  readonly coins: Readonly<Record<string, string>>;
  readonly gas: string;
}

interface Row {
  readonly network: string;
  readonly address: string;
  readonly coin: string;
  /** Null if the network cannot be read now. */
  readonly onChain: string | null;
  readonly booked: string;
  readonly worth: string | null;
}

/** What the treasuries hold now according to the chains, beside what the books say. */
export function balanceRoutes(deps: ConsoleDeps): ConsoleRoutes {
  return {
    change: [],
    read: [
      {
        path: '/treasury/balances',
        action: 'treasury.read',
        show: async (visit) => {
          const { currency } = await currencyOf(deps, visit.query);
          const rows = await rowsOf(deps, visit, currency);
          return { page: { title: 'Balances of the treasury', body: body(visit, rows, currency) } };
        },
      },
      csvRoute('/treasury/balances', 'treasury.read', async (visit) => {
        const { currency } = await currencyOf(deps, visit.query);
        return { columns: columns(currency), pages: [await rowsOf(deps, visit, currency)] };
      }),
    ],
  };
}

const body = (visit: Visit, rows: readonly Row[], currency: string): Html =>
  html`<p>
      Balances on the chains right now. The books contain what is final and recorded, so money in transit differs for a
      moment. The service compares both by itself and stops payouts when it cannot explain a difference.
      ${link(inMode('/treasury', visit.mode), 'Treasury')} · ${csvLink(visit)}
    </p>
    ${table('Balances', columns(currency), rows, 'This process has no treasury.')}`;

const columns = (currency: string): Column<Row>[] => [
  { name: 'Network', cell: ({ network }) => network },
  { name: 'Coin', cell: ({ coin, network }) => (isGas({ coin, network }) ? html`${coin}<small>gas</small>` : coin) },
  { name: 'On the chain', isNumber: true, cell: ({ onChain }) => onChain ?? 'cannot be read now' },
  { name: 'In the books', isNumber: true, cell: ({ booked }) => booked },
  { name: 'Difference', isNumber: true, cell: differenceOf },
  ...(currency === ''
    ? []
    : [{ name: `Books in ${currency}`, isNumber: true, cell: ({ worth }: Row) => worth ?? 'unknown' }]),
  { name: 'Address', cell: ({ address }) => code(address) },
];

const isGas = ({ coin, network }: Pick<Row, 'coin' | 'network'>): boolean => coin === NATIVE_COIN[network as Network];

function differenceOf({ onChain, booked }: Row): string | null {
  if (onChain === null) return null;
  return formatAmount(amountOf(onChain) - signedAmountOf(booked));
}

async function rowsOf(deps: ConsoleDeps, { mode }: Visit, currency: string): Promise<Row[]> {
  const [{ treasuries }, { accounts }] = await Promise.all([
    run<TreasuryStatus>(deps, 'treasury.status'),
    run<{ accounts: Balance[] }>(deps, 'ledger.trial-balance', { mode, ...(currency !== '' && { currency }) }),
  ]);
  const own = treasuries.filter((treasury) => treasury.mode === mode);
  const rows = own.map(async ({ network, address }): Promise<Row[]> => {
    const held = await heldOn(deps, mode, network);
    const native = NATIVE_COIN[network as Network];
    const booked = accounts.filter((one) => one.account === TREASURY && one.network === network);
    const coins = new Set([...Object.keys(held?.coins ?? {}), ...booked.map(({ coin }) => coin), native]);
    return [...coins].map((coin) => {
      const inBooks = booked.find((one) => one.coin === coin);
      return {
        ...{ network, address, coin },
        onChain: held && (coin === native ? held.gas : (held.coins[coin] ?? '0')),
        booked: inBooks ? (inBooks.debit ?? `-${inBooks.credit}`) : '0.00',
        worth: inBooks ? (inBooks.worth ?? null) : '0',
      };
    });
  });
  return (await Promise.all(rows)).flat();
}

/** A network that does not respond does not hide the others. */
async function heldOn(deps: ConsoleDeps, mode: string, network: string): Promise<OnChain | null> {
  const found = await run<{ treasuries: OnChain[] }>(deps, 'treasury.balances', { network }).catch(() => null);
  return found?.treasuries.find((one) => one.mode === mode) ?? null;
}
