import type { DepositProof } from '../domain/deposit-proof.ts';
import type { ChainView, FoundDeposit } from './chain-view.ts';
import { must } from '../domain/must.ts';

/**
 * Deposits looked up beside each other: enough for a payer who paid in hundreds of parts, few enough for a provider's
 * limits.
 */
const AT_ONCE = 16;

/**
 * The deposits of one refund on chain, some ahead of the one that is asked for: one after another, a payer who paid
 * in many small parts would keep the signer from everybody else's refunds for longer than a caller waits.
 */
export class DepositLookups {
  readonly #view: Pick<ChainView, 'findDeposit'>;
  readonly #proofs: readonly DepositProof[];
  readonly #begun: Promise<FoundDeposit | null>[] = [];

  constructor(view: Pick<ChainView, 'findDeposit'>, proofs: readonly DepositProof[]) {
    this.#view = view;
    this.#proofs = proofs;
  }

  /** To be asked in order. Rejects as the view does. */
  at(index: number): Promise<FoundDeposit | null> {
    if (index >= this.#begun.length)
      for (const proof of this.#proofs.slice(index, index + AT_ONCE)) {
        const lookup = this.#view.findDeposit(proof);
        // One that is not needed in the end must not end the signer.
        lookup.catch(() => undefined);
        this.#begun.push(lookup);
      }
    return must(this.#begun[index]);
  }
}
