import type { MoveExecutor } from '../payouts/moves/records.ts';
import type { reconcileTreasury } from './reconcile.ts';
import type { lookForUnbooked } from './reconcile-unbooked.ts';
import type { Comparison } from './comparisons.ts';
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
   * Searches for money at our addresses that the books lack. `after`: where the previous run ended; `most`: addresses
   * per run.
   */
  unbooked(executor: MoveExecutor, after: string | null, most?: number): ReturnType<typeof lookForUnbooked>;
  /** Last known balances of the accounts that pay refunds and fees. */
  balances(): readonly KnownBalance[];
  /** How the comparisons of each treasury and of its collection addresses ended last. */
  comparisons(): readonly Comparison[];
  stop(): Promise<void>;
}
