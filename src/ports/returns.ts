import type { MoveTerms } from '../domain/events/treasury-move-events.ts';
import type { Mode } from '../domain/ids.ts';
import type { Network } from '../domain/networks.ts';

/** How a return of the treasury ended, or that it did not yet. */
export type ReturnStatus =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'under_way' }
  | { readonly kind: 'paid'; readonly txHash: string }
  | { readonly kind: 'failed'; readonly reason: string };

/** A return as it is asked of the treasury. */
export type ReturnRequest = MoveTerms & {
  readonly requestedBy: string;
  readonly reason: string;
  readonly requestedAtSec: number;
};

/** Pays unmatched transfers back from the treasury. */
export interface Returns {
  /** The account that pays on the network; null when there is none. */
  treasuryOf(mode: Mode, network: Network): string | null;
  /**
   * Asking again with the same id changes nothing, also long after it was paid. In words why not; null when it is under
   * way.
   */
  request(request: ReturnRequest): Promise<string | null>;
  status(mode: Mode, network: Network, moveId: string): Promise<ReturnStatus>;
  /**
   * Gives up what nothing was signed for, also what nobody asked for yet. In words why not; null when it will never be
   * paid.
   */
  cancel(request: ReturnRequest): Promise<string | null>;
  /** What stands in the way of paying it now, in words; signs and writes nothing. */
  forecast(request: ReturnRequest): Promise<string>;
}
