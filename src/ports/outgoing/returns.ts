import type { MoveTerms } from '../../domain/events/treasury-move-events.ts';
import type { Mode } from '../../domain/values/ids.ts';
import type { Network } from '../../domain/networks/networks.ts';

/** How a return of the treasury ended, or that it has not yet. */
export type ReturnStatus =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'under_way' }
  | { readonly kind: 'paid'; readonly txHash: string }
  | { readonly kind: 'failed'; readonly reason: string };

/** A return as requested from the treasury. */
export type ReturnRequest = MoveTerms & {
  readonly requestedBy: string;
  readonly reason: string;
  readonly requestedAtSec: number;
};

/** Pays unmatched transfers back from the treasury. */
export interface Returns {
  /** The account that pays on the network; null if there is none. */
  treasuryOf(mode: Mode, network: Network): string | null;
  /**
   * Requesting again with the same id changes nothing, even long after payment. Returns the reason for a refusal; null
   * if it is in progress.
   */
  request(request: ReturnRequest): Promise<string | null>;
  status(mode: Mode, network: Network, moveId: string): Promise<ReturnStatus>;
  /**
   * Gives up a return for which nothing is signed, even one that nobody has requested. Returns the reason for a
   * refusal; null if it will never be paid.
   */
  cancel(request: ReturnRequest): Promise<string | null>;
  /** What prevents paying it now, in words; signs and writes nothing. */
  forecast(request: ReturnRequest): Promise<string>;
}
