import type { DepositProof } from '../../domain/networks/deposit-proof.ts';
import type { ChainView, FoundDeposit } from './chain-view.ts';
import { must } from '../../domain/values/must.ts';

/** Concurrent look-ups: enough for a payer with hundreds of deposits, few enough for a provider's limits. */
const AT_ONCE = 16;

/**
 * Looks up a refund's deposits on chain ahead of their use. One after another, a payer with many small deposits would
 * block all other refunds for longer than a caller waits.
 */
export class DepositLookups {
  readonly #view: Pick<ChainView, 'findDeposit'>;
  readonly #proofs: readonly DepositProof[];
  readonly #begun: Promise<FoundDeposit | null>[] = [];

  constructor(view: Pick<ChainView, 'findDeposit'>, proofs: readonly DepositProof[]) {
    this.#view = view;
    this.#proofs = proofs;
  }

  /** Must be called in order. Rejects like the view. */
  at(index: number): Promise<FoundDeposit | null> {
    if (index >= this.#begun.length)
      for (const proof of this.#proofs.slice(index, index + AT_ONCE)) {
        const lookup = this.#view.findDeposit(proof);
        // The failure of an unneeded look-up must not end the signer.
        lookup.catch(() => undefined);
        this.#begun.push(lookup);
      }
    return must(this.#begun[index]);
  }
}
