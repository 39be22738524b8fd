import type { Mode } from '../../../domain/values/ids.ts';
import type { AsOf, LedgerBalances } from '../balances.ts';
import { amountCell, type Table } from './table.ts';

const ATTEMPTS = 5;

/**
 * The trial balance with one row per balance, and the number of the last entry that it can include. Null while entries
 * keep coming in.
 */
export async function balancesTable(
  balances: LedgerBalances,
  mode: Mode,
  asOf: AsOf,
): Promise<{ table: Table; through: number } | null> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const through = (await balances.modeRow(mode)).entries;
    const found = await balances.balances(mode, asOf);
    if ((await balances.modeRow(mode)).entries !== through) continue;
    const rows = found.map(({ account, network, coin, units }) => [
      ...[account, network, coin, amountCell(units)],
      ...[units > 0n ? amountCell(units) : null, units < 0n ? amountCell(-units) : null],
    ]);
    const columns = ['account', 'network', 'coin', 'amount', 'debit', 'credit'];
    const table: Table = {
      columns,
      amounts: ['amount', 'debit', 'credit'],
      rows: async function* () {
        yield rows;
      },
    };
    return { table, through };
  }
  return null;
}
