import { MODES } from '../../../domain/values/ids.ts';
import type { LedgerBalances } from '../balances.ts';
import type { LedgerJournal } from '../journal.ts';

export interface BookedCoins {
  readonly coins: readonly string[];
  /** Recording day (UTC). */
  readonly firstDay: string;
}

/** What has to be valued in either mode; null without entries. */
export async function bookedCoins(balances: LedgerBalances, journal: LedgerJournal): Promise<BookedCoins | null> {
  const coins = new Set<string>();
  const firstDays: string[] = [];
  for (const mode of MODES) {
    const { entries } = await journal.page({ mode, book: null, clock: 'recorded', from: null, to: null }, null, 1);
    firstDays.push(...entries.map(({ entry }) => entry.days.recorded));
    for (const coin of await balances.coins(mode)) coins.add(coin);
  }
  const [firstDay] = firstDays.toSorted();
  return firstDay === undefined ? null : { coins: [...coins].toSorted(), firstDay };
}
