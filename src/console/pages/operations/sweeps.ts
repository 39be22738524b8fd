import { html, type Html } from '../../../runtime/http/html.ts';
import { amountOf, COINS, formatAmount, parseAmount } from '../../../domain/money/money.ts';
import { NETWORKS } from '../../../domain/networks/networks.ts';
import type { AdminArguments } from '../../../operator/server/commands.ts';
import { csvLink, csvRoute } from '../../csv.ts';
import { run, type ConsoleDeps } from '../../deps.ts';
import { inMode } from '../../modes.ts';
import { FILE_PATIENCE_MS, LastKnown, type Known } from '../../last-known.ts';
import { answered, changeForm, code, field, filterForm, link, REASON, table, type Column } from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import { reasonIn, Refused, type Visit } from '../../visit.ts';
import { currencyOf } from '../books/worth.ts';
import { must } from '../../../domain/values/must.ts';
import { words, type Words } from '../../words.ts';

interface Sweep {
  readonly id: string | null;
  readonly network: string;
  readonly coin: string;
  readonly amount: string;
  readonly from_address: string;
  readonly note: string;
  /** Absent until the network was asked; null if it does not say. */
  readonly fee?: string | null;
  readonly fee_coin?: string;
}

interface Priced extends Sweep {
  /** The value of the fee; null if no rate is recorded. */
  readonly worth: string | null;
}

type Asked = Known<readonly Sweep[]>;

/** Maximum addresses shown: the chain estimates one after another. */
const MOST = 25;

/** Money at collection addresses that could go to the treasury, and what that would cost today. */
export function sweepRoutes(deps: ConsoleDeps): ConsoleRoutes {
  const known: LastKnown<readonly Sweep[]> = new LastKnown();
  return {
    read: [
      {
        path: '/treasury/sweeps',
        action: 'treasury.read',
        show: async (visit) => ({
          page: { title: words`Sweeps`, isLive: true, body: await sweepsPage(deps, visit, known) },
        }),
      },
      csvRoute('/treasury/sweeps', 'treasury.read', async (visit) => {
        const { currency } = await currencyOf(deps, visit.query);
        const { sweeps } = await pricedSweeps(deps, visit, { known, currency, patienceMs: FILE_PATIENCE_MS });
        return { columns: columns(currency, false), pages: [sweeps] };
      }),
    ],
    change: [
      {
        path: '/treasury/sweeps',
        action: 'treasury.propose',
        target: ({ form, mode }) => `${form['coin'] || 'every coin'} on ${form['network']} (${mode})`,
        toSign: async (visit) => {
          const wanted = wantedIn((name) => visit.form[name] ?? '', visit);
          const sweeps = await planned(deps, { ...wanted, estimate: false });
          return {
            kind: 'terms',
            title: 'sweep collection addresses to the treasury',
            lines: [
              ...Object.entries(wanted).map(([name, value]) => [name, String(value)] as const),
              ...sweeps.map(
                ({ from_address: from, amount, coin }) => ['sweep', `${amount} ${coin} from ${from}`] as const,
              ),
              ['reason', reasonIn(visit)],
            ],
          };
        },
        run: async (visit) => {
          const wanted = wantedIn((name) => visit.form[name] ?? '', visit);
          const answer = { ...wanted, operator: visit.person.name, reason: reasonIn(visit) };
          const { sweeps } = await run<{ sweeps: Sweep[] }>(deps, 'treasury.sweep', answer);
          const ordered = sweeps.filter(({ id }) => id !== null);
          if (ordered.length === 0)
            throw new Refused(words`Nothing was ordered: ${sweeps[0]?.note ?? 'no address holds as much'}.`);
          return { detail: ordered.map(({ id }) => id).join(' '), shown: { to: '/treasury?done=swept' } };
        },
      },
    ],
  };
}

type Wanted = Readonly<Record<'mode' | 'network' | 'min' | 'most', string>> & { readonly coin?: string };

/** The filters of the URL. Throws `Refused` with the name of the filter at fault. */
function wantedIn(given: (name: string) => string, { mode }: Visit): Wanted {
  const [network, coin, min] = [given('network'), given('coin'), given('min') || '0'];
  if (!NETWORKS.some((one) => one === network)) throw new Refused(words`network must be one of ${NETWORKS.join(', ')}`);
  if (coin !== '' && !COINS.some((one) => one === coin))
    throw new Refused(words`coin must be one of ${COINS.join(', ')}`);
  if (parseAmount(min) === null) throw new Refused(words`min must be a decimal amount such as 10.00`);
  return { mode, network, min, most: String(MOST), ...(coin !== '' && { coin }) };
}

const planned = async (deps: ConsoleDeps, wanted: AdminArguments): Promise<readonly Sweep[]> =>
  (await run<{ sweeps: Sweep[] }>(deps, 'treasury.sweep', { ...wanted, dryRun: true })).sweeps;

/** What the books list, with what the chain says of each address, as far as it has answered. */
async function pricedSweeps(
  deps: ConsoleDeps,
  visit: Visit,
  {
    known,
    currency,
    patienceMs,
  }: { readonly known: LastKnown<readonly Sweep[]>; readonly currency: string; readonly patienceMs?: number },
): Promise<{ readonly sweeps: readonly Priced[]; readonly listed: Asked; readonly estimated: Asked }> {
  const wanted = wantedIn((name) => visit.query.get(name) ?? '', visit);
  const look = (args: AdminArguments): Promise<Asked> =>
    known.look(JSON.stringify(args), visit.nowSec, () => planned(deps, args), patienceMs);
  const [listed, estimated] = await Promise.all([look({ ...wanted, estimate: false }), look(wanted)]);
  const estimates = new Map(estimated.answer?.map((one) => [`${one.from_address} ${one.coin}`, one]));
  const rate = await rateOf(deps, currency, estimated.answer?.[0]?.fee_coin);
  const sweeps = (listed.answer ?? []).map((one) => {
    const sweep = { ...one, ...estimates.get(`${one.from_address} ${one.coin}`), amount: one.amount };
    return { ...sweep, worth: rate === null || typeof sweep.fee !== 'string' ? null : product(sweep.fee, rate) };
  });
  return { sweeps, listed, estimated };
}

/** The newest recorded rate of the coin in which fees are paid, unless it is too old to be meaningful. */
async function rateOf(deps: ConsoleDeps, currency: string, coin: string | undefined): Promise<string | null> {
  if (currency === '' || coin === undefined) return null;
  const found = await run<{ coins: { coin: string; last_rate: string; is_current: boolean }[] }>(deps, 'ledger.rates', {
    currency,
  });
  const rate = found.coins.find((one) => one.coin === coin);
  return rate?.is_current === true ? rate.last_rate : null;
}

const SCALED_ONE = amountOf('1');
const SHOWN = 4;
/** Rounded to a few digits, since it is an estimate. */
function product(fee: string, rate: string): string {
  const step = SCALED_ONE / 10n ** BigInt(SHOWN);
  return formatAmount(((amountOf(fee) * amountOf(rate)) / SCALED_ONE / step) * step);
}

const columns = (currency: string, isAsking: boolean): Column<Priced>[] => [
  { name: words`Address`, cell: ({ from_address: address }) => code(address) },
  { name: words`Amount`, isNumber: true, cell: ({ amount, coin }) => `${amount} ${coin}` },
  {
    name: words`Estimated fee`,
    isNumber: true,
    cell: ({ fee, fee_coin: coin, worth }) =>
      fee === null || fee === undefined
        ? unknown(isAsking && fee === undefined)
        : html`${fee}
          ${coin}${currency !== '' && html`<small>${worth === null ? words`unknown in ${currency}` : words`about ${worth} ${currency}`}</small>`}`,
    text: ({ fee, fee_coin: coin }) => (fee === null || fee === undefined ? null : `${fee} ${coin}`),
  },
  { name: words`Fee in ${currency}`, onlyInFiles: true, cell: ({ worth }) => worth },
  { name: words`State`, cell: ({ note }) => note || unknown(isAsking) },
];

const unknown = (isAsking: boolean): Words => (isAsking ? words`being looked up` : words`unknown`);

async function sweepsPage(deps: ConsoleDeps, visit: Visit, known: LastKnown<readonly Sweep[]>): Promise<Html> {
  const { query } = visit;
  const network = query.get('network') ?? '';
  const [coin, min] = [query.get('coin') ?? '', query.get('min') ?? ''];
  return html`<p>
      ${words`Moves money from collection addresses to the treasury. Choose a network to look up what each address holds.
      ${link(inMode('/treasury', visit.mode), words`Treasury`)}`}
    </p>
    ${filterForm(
      '/treasury/sweeps',
      [
        { name: 'network', label: words`Network`, value: network, options: NETWORKS.map((one) => [one, one] as const) },
        {
          ...{ name: 'coin', label: words`Coin`, value: coin },
          options: [['', words`Every coin`], ...COINS.map((one) => [one, one] as const)],
        },
        { name: 'min', label: words`At least`, value: min, max: 40 },
      ],
      { mode: visit.mode },
    )}
    ${network !== '' && (await found(deps, visit, known, { network, coin, min }))}`;
}

async function found(
  deps: ConsoleDeps,
  visit: Visit,
  known: LastKnown<readonly Sweep[]>,
  filters: Readonly<Record<'network' | 'coin' | 'min', string>>,
): Promise<Html> {
  const { currency } = await currencyOf(deps, visit.query);
  const { sweeps, listed, estimated } = await pricedSweeps(deps, visit, { known, currency });
  if (listed.answer === null) return answered(visit, listed, words`the books`);
  const kept = Object.entries(filters).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
  );
  return html`<p>
      ${sweeps.length === MOST ? words`The first ${MOST} addresses` : words`${sweeps.length} in all`}. ${csvLink(visit)}
    </p>
    ${sweeps.length > 0 && answered(visit, estimated, html`${filters.network}`)}
    ${table(words`Sweeps`, columns(currency, estimated.isAsking), sweeps, words`No collection address holds that much.`)}
    ${totalOf(sweeps, estimated.isAsking)}
    ${sweeps.length > 0 && visit.can('treasury.propose') && changeForm(visit, '/treasury/sweeps', [...kept, field(REASON)], words`Preview the sweeps`)}`;
}

/** Null if one of them is unknown, since an incomplete sum would be too low. */
function totalOf(sweeps: readonly Priced[], isAsking: boolean): Html | null {
  const coin = sweeps[0]?.fee_coin;
  if (coin === undefined || (isAsking && sweeps.some(({ fee }) => fee === undefined))) return null;
  if (sweeps.some(({ fee }) => fee === null || fee === undefined))
    return html`<p>${words`Total: unknown, as the network does not say the fee of each.`}</p>`;
  const sum = sweeps.reduce((units, { fee }) => units + amountOf(must(fee)), 0n);
  return html`<p>${words`Total: about ${formatAmount(sum)} ${coin}.`}</p>`;
}
