import type { MoveFailureReason } from '../../domain/events/treasury-move-events.ts';
import type { Fate } from '../../ports/outgoing/transaction.ts';

/** Why the order ended without being paid. */
export interface Failure {
  readonly reason: MoveFailureReason;
  /** The transaction that is in a final block without effect; null if nothing signed is in a block. */
  readonly ineffective: Pick<Extract<Fate, { kind: 'ineffective' }>, 'txHash' | 'networkFee' | 'blockNumber'> | null;
}

/** A failure of an order for which nothing was signed. */
export const failure = (reason: MoveFailureReason): Failure => ({ reason, ineffective: null });
