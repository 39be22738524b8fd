import { least } from '../../../domain/money/money.ts';
import type { CsvCell } from '../../../runtime/util/csv.ts';
import { amountCell, chainTimeCell, rowOf, timeCell, type Table } from '../documents/table.ts';
import type { BookRates } from './book-rates.ts';
import type { ValuedEntry, ValuedLine } from './valued-journal.ts';
import { must } from '../../../domain/values/must.ts';

export const COST_METHODS = ['fifo', 'average'] as const;
export type CostMethod = (typeof COST_METHODS)[number];

const COLUMNS = [
  ...['entry', 'recorded_day', 'chain_time', 'kind', 'account', 'network', 'coin', 'acquired', 'disposed', 'uncovered'],
  ...[
    'currency',
    'rate',
    'rate_at',
    'rate_source',
    'cost',
    'proceeds',
    'gain',
    'held',
    'held_cost',
    'event_id',
    'tx_hash',
  ],
];

/** The operator's own coin is what no liability offsets: each line of these accounts is coin gained or spent. */
const isOwn = (account: string): boolean => /^(equity|income|expenses):/.test(account);

interface Lot {
  units: bigint;
  cost: bigint;
}

/**
 * What the operator's own coin cost and what disposals yielded, by network and coin. `cost` is the value at
 * acquisition, or the cost of a disposal by the method. All acquisitions equal disposals plus `held_cost` exactly.
 */
export const costBasisTable = (
  entries: () => AsyncIterable<ValuedEntry>,
  rates: BookRates,
  method: CostMethod,
  from: string | null,
): Table => ({
  columns: COLUMNS,
  amounts: ['acquired', 'disposed', 'uncovered', 'cost', 'proceeds', 'gain'],
  rows: async function* () {
    const pools = new Map<string, Pool>();
    for await (const entry of entries()) {
      const rows = entry.lines.flatMap((line) => {
        if (line.units === null || line.rate === null || !isOwn(line.account)) return [];
        const key = `${line.network}/${line.coin}`;
        const pool = pools.get(key) ?? new Pool(method);
        pools.set(key, pool);
        return [cellsOf(entry, line, pool, rates)];
      });
      if (from === null || entry.day >= from) yield rows;
    }
  },
});

function cellsOf({ entry, kind, day }: ValuedEntry, line: ValuedLine, pool: Pool, rates: BookRates): CsvCell[] {
  const units = -must(line.units);
  const value = -line.value;
  const isAcquired = units > 0n;
  const left = isAcquired ? null : pool.dispose(-units, -value);
  if (isAcquired) pool.acquire(units, value);
  const cells: Record<string, CsvCell> = {
    entry: entry?.number ?? null,
    recorded_day: day,
    kind,
    account: line.account,
    network: line.network,
    coin: line.coin,
    chain_time: chainTimeCell(entry),
    ...(isAcquired ? { acquired: amountCell(units), cost: rates.text(value) } : {}),
    ...(left && {
      ...{ disposed: amountCell(-units), uncovered: amountCell(left.uncovered), cost: rates.text(-left.cost) },
      ...{ proceeds: rates.text(-value), gain: rates.text(-value - left.cost) },
    }),
    currency: rates.currency,
    rate: must(line.rate).rate,
    rate_at: timeCell(must(line.rate).atSec * 1000),
    rate_source: must(line.rate).source,
    held: amountCell(pool.held),
    held_cost: rates.text(pool.cost),
    event_id: entry?.id ?? null,
    tx_hash: entry?.txHash ?? null,
  };
  return rowOf(COLUMNS, cells);
}

class Pool {
  readonly #method: CostMethod;
  #lots: Lot[] = [];
  /**
   * Coin disposed of before its acquisition was known. It leaves at its value, without a gain, and the next acquisition
   * offsets it.
   */
  #short: Lot = { units: 0n, cost: 0n };

  constructor(method: CostMethod) {
    this.#method = method;
  }

  get held(): bigint {
    return this.#lots.reduce((sum, { units }) => sum + units, 0n) - this.#short.units;
  }

  get cost(): bigint {
    return this.#lots.reduce((sum, { cost }) => sum + cost, 0n) - this.#short.cost;
  }

  acquire(units: bigint, cost: bigint): void {
    const covered = least(units, this.#short.units);
    const coveredCost = covered === 0n ? 0n : partOf(this.#short, covered);
    this.#short = { units: this.#short.units - covered, cost: this.#short.cost - coveredCost };
    const lot = { units: units - covered, cost: cost - coveredCost };
    if (lot.units === 0n && lot.cost === 0n) return;
    const [first] = this.#lots;
    if (this.#method === 'average' && first) {
      first.units += lot.units;
      first.cost += lot.cost;
    } else this.#lots.push(lot);
  }

  dispose(units: bigint, value: bigint): { readonly cost: bigint; readonly uncovered: bigint } {
    let [left, cost] = [units, 0n];
    for (const lot of this.#lots) {
      if (left === 0n) break;
      const taken = least(left, lot.units);
      const part = partOf(lot, taken);
      lot.units -= taken;
      lot.cost -= part;
      left -= taken;
      cost += part;
    }
    this.#lots = this.#lots.filter((lot) => lot.units !== 0n || lot.cost !== 0n);
    if (left === 0n) return { cost, uncovered: 0n };
    const uncovered = { units: left, cost: (value * left) / units };
    this.#short = { units: this.#short.units + uncovered.units, cost: this.#short.cost + uncovered.cost };
    return { cost: cost + uncovered.cost, uncovered: left };
  }
}

/** The cost of a part. The last unit takes the whole rest, so that rounding loses nothing. */
const partOf = ({ units, cost }: Lot, part: bigint): bigint => (part === units ? cost : (cost * part) / units);
