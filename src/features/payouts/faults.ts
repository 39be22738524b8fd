import { ChainUnavailable } from '../../ports/chain.ts';
import { StoreUnavailable } from '../../ports/event-store.ts';
import type { WaitReason } from '../../ports/outgoing.ts';

/** What a payout or a move cannot be made without. */
type Helper = 'chain' | 'signer';

/** Null for a fault of another kind. */
export function helperGone(error: unknown): Helper | null {
  if (error instanceof ChainUnavailable) return 'chain';
  return error instanceof Error && error.name === 'SignerUnavailable' ? 'signer' : null;
}

/** Ends by itself: a chain or a signer that is away comes back. */
export const isTransient = (error: unknown): boolean => helperGone(error) !== null;

export const OUTAGE_REASON = { chain: 'chain_unavailable', signer: 'signer_unavailable' } as const satisfies Record<
  Helper,
  WaitReason
>;

/** Without an answer to anybody, this many are asked for before a chain or the signer counts as away. */
const ASKED_IN_VAIN = 3;

/**
 * One round's faults. Whether the chain is away or only one payout's question cannot be answered, the others tell:
 * while nobody gets an answer, it is away; as soon as one did, whoever got none is at fault itself.
 */
export class RoundFaults {
  readonly #answered = new Set<Helper>();
  readonly #inVain: { readonly helper: Helper; readonly error: Error; readonly blame: () => void }[] = [];

  answered(helper: Helper): void {
    this.#answered.add(helper);
  }

  /**
   * Rethrows what concerns everybody. `blame` is called with what is one's own fault: at once, or at the end of the
   * round where only the others can tell.
   */
  judge(error: unknown, blame: () => void): void {
    if (error instanceof StoreUnavailable) throw error;
    const helper = helperGone(error);
    if (helper === null) return blame();
    this.#inVain.push({ helper, error: error as Error, blame });
    const asked = this.#inVain.filter((fault) => fault.helper === helper).length;
    if (!this.#answered.has(helper) && asked >= ASKED_IN_VAIN) throw error;
  }

  /** At the end of the round. Throws when what was asked answered nobody. */
  settle(): void {
    const away = this.#inVain.find(({ helper }) => !this.#answered.has(helper));
    for (const { helper, blame } of this.#inVain) if (this.#answered.has(helper)) blame();
    if (away) throw away.error;
  }
}

export const textOf = (error: unknown): string => (error instanceof Error ? error.message : 'unknown');
