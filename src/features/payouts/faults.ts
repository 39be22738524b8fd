import { ChainUnavailable } from '../../ports/chain/chain.ts';
import { StoreUnavailable } from '../../ports/event-log/event-store.ts';
import type { WaitReason } from '../../ports/outgoing/transaction.ts';

/** A dependency of every payout or move. */
type Helper = 'chain' | 'signer';

/** Null for other errors. */
export function helperGone(error: unknown): Helper | null {
  if (error instanceof ChainUnavailable) return 'chain';
  return error instanceof Error && error.name === 'SignerUnavailable' ? 'signer' : null;
}

/** Resolves by itself: an unavailable chain or signer comes back. */
export const isTransient = (error: unknown): boolean => helperGone(error) !== null;

export const OUTAGE_REASON = { chain: 'chain_unavailable', signer: 'signer_unavailable' } as const satisfies Record<
  Helper,
  WaitReason
>;

/** After this many failed questions and no answer, the chain or the signer counts as unavailable. */
const ASKED_IN_VAIN = 3;

/**
 * Faults of one round. The other orders tell whether the chain is unavailable or one order's question cannot be
 * answered: while nobody gets an answer, it is unavailable; as soon as one does, those without an answer are at fault
 * themselves.
 */
export class RoundFaults {
  readonly #answered = new Set<Helper>();
  readonly #inVain: { readonly helper: Helper; readonly error: unknown; readonly blame: () => void }[] = [];

  answered(helper: Helper): void {
    this.#answered.add(helper);
  }

  /**
   * Rethrows errors that affect everybody. Calls `blame` for an order's own fault: at once, or at the end of the round
   * if only the other orders can tell.
   */
  judge(error: unknown, blame: () => void): void {
    if (error instanceof StoreUnavailable) throw error;
    const helper = helperGone(error);
    if (helper === null) return blame();
    this.#inVain.push({ helper, error, blame });
    const asked = this.#inVain.filter((fault) => fault.helper === helper).length;
    if (!this.#answered.has(helper) && asked >= ASKED_IN_VAIN) throw error;
  }

  /** Ends the round. Throws when a dependency answered nobody. */
  settle(): void {
    const away = this.#inVain.find(({ helper }) => !this.#answered.has(helper));
    for (const { helper, blame } of this.#inVain) if (this.#answered.has(helper)) blame();
    if (away) throw away.error;
  }
}

export const textOf = (error: unknown): string => (error instanceof Error ? error.message : 'unknown');
