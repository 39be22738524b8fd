import { setImmediate as breathe } from 'node:timers/promises';
import { isMode, type Mode } from '../../domain/values/ids.ts';
import { mustBe } from '../../domain/values/one-of.ts';
import { absolute, formatAmount, signedAmountOf } from '../../domain/money/money.ts';
import { rowPages } from '../../ports/read-model/row-pages.ts';
import type { ReadModel, Table } from '../../ports/read-model/read-model.ts';
import { Recurring } from '../../runtime/util/recurring.ts';
import { LEDGER_BALANCES_TABLE, LEDGER_BOOKS_TABLE, LEDGER_SUMS_TABLE } from '../../../projections/ledger/rows.ts';

export interface LedgerCheckDeps {
  readonly readModel: ReadModel;
  /** Debits and credits of a coin on a network do not balance; `units` is debits less credits. */
  readonly onImbalance: (imbalance: {
    readonly mode: Mode;
    readonly network: string;
    readonly coin: string;
    readonly difference: string;
  }) => void;
  readonly onError: (error: unknown) => void;
}

/** Result of the last check in units of the coin. A float suffices for display and alarms. */
export interface Imbalance {
  readonly mode: Mode;
  readonly coin: string;
  readonly amount: number;
}

const EVERY_MS = 15_000;
const PAGE = 500;

/**
 * Verifies the running books: the totals kept per entry, and all balances recomputed whenever no entry interferes.
 * Neither relies on the rule that made the entries.
 */
export class CheckLedger {
  readonly #deps: LedgerCheckDeps;
  readonly #checks: Recurring;
  #found: readonly Imbalance[] = [];
  #known = new Set<string>();
  #balances = new Map<string, bigint>();

  constructor(deps: LedgerCheckDeps) {
    this.#deps = deps;
    this.#checks = new Recurring(() => this.check(), EVERY_MS, deps.onError);
  }

  start(): void {
    this.#checks.start();
  }

  close(): Promise<void> {
    return this.#checks.close();
  }

  /** By mode and coin, zero included, so that a resolved imbalance shows as zero again. */
  imbalances(): readonly Imbalance[] {
    return this.#found;
  }

  async check(): Promise<void> {
    const sums = await this.#sums();
    this.#balances = (await this.#balancesAtRest()) ?? this.#balances;
    const found = new Map<string, Imbalance>();
    for (const key of new Set([...sums.keys(), ...this.#balances.keys()])) {
      const [modeName, network = '', coin = ''] = key.split('/');
      const mode = mustBe(isMode, modeName);
      const units = largest(sums.get(key) ?? 0n, this.#balances.get(key) ?? 0n);
      this.#tell(key, { mode, network, coin, difference: formatAmount(units) }, units);
      // Differences on two networks must not cancel each other out.
      const amount = Math.abs(Number(formatAmount(units)));
      found.set(`${mode}/${coin}`, { mode, coin, amount: (found.get(`${mode}/${coin}`)?.amount ?? 0) + amount });
    }
    this.#found = [...found.values()];
  }

  #tell(key: string, imbalance: Parameters<LedgerCheckDeps['onImbalance']>[0], units: bigint): void {
    if (units === 0n) return void this.#known.delete(key);
    if (this.#known.has(key)) return;
    this.#known.add(key);
    this.#deps.onImbalance(imbalance);
  }

  async #sums(): Promise<Map<string, bigint>> {
    const sums = new Map<string, bigint>();
    for await (const { key, row } of this.#rows(LEDGER_SUMS_TABLE)) sums.set(key, signedAmountOf(row.sum));
    return sums;
  }

  /** Sums of all balances; null if entries came in during the read, which makes them inconsistent. */
  async #balancesAtRest(): Promise<Map<string, bigint> | null> {
    const before = await this.#entries();
    const sums = new Map<string, bigint>();
    for await (const { row } of this.#rows(LEDGER_BALANCES_TABLE)) {
      const key = `${row.mode}/${row.network}/${row.coin}`;
      sums.set(key, (sums.get(key) ?? 0n) + signedAmountOf(row.balance));
    }
    return (await this.#entries()) === before ? sums : null;
  }

  async #entries(): Promise<string> {
    const rows = await this.#deps.readModel.getMany(LEDGER_BOOKS_TABLE, ['test', 'live']);
    return rows.map((row) => row?.entries ?? 0).join('/');
  }

  async *#rows<Kept extends object>(table: Table<Kept>): AsyncGenerator<{ key: string; row: Kept }> {
    for await (const page of rowPages(this.#deps.readModel, table, { limit: PAGE })) {
      yield* page;
      await breathe();
    }
  }
}

function largest(one: bigint, other: bigint): bigint {
  return absolute(one) >= absolute(other) ? one : other;
}
