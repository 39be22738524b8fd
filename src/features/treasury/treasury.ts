import type { MoveExecutor } from '../payouts/moves/records.ts';
import type { reconcileTreasury } from './reconcile.ts';
import type { lookForUnbooked } from './reconcile-unbooked.ts';
import type { MoveMoney } from '../payouts/moves/moves.process.ts';
import type { SweepCollected } from './sweep.process.ts';
import { type KnownBalance } from './watch-outflows.process.ts';

/** Everything that moves the operator's own money. */
export interface Treasury {
  readonly moves: MoveMoney;
  readonly sweeper: SweepCollected;
  /** Compares books and chain now. */
  reconcile(executor: MoveExecutor): ReturnType<typeof reconcileTreasury>;
  /**
   * Looks for money at our addresses that the books do not have; `after`: where an earlier look ended; `most`:
   * addresses of this one.
   */
  unbooked(executor: MoveExecutor, after: string | null, most?: number): ReturnType<typeof lookForUnbooked>;
  /** What the accounts hold that refunds and fees are paid from, as last read. */
  balances(): readonly KnownBalance[];
  stop(): Promise<void>;
}
