import type { Transfer } from '../../ports/chain/chain.ts';
import { must } from '../../domain/values/must.ts';

/** More than a day's sessions that wait for small payments; the oldest is dropped first. */
const MAX_ADDRESSES = 50_000;

/**
 * What each address received on the word of one provider. It stops many small transfers from together paying what a
 * single large one would need a second source for. Not durable.
 */
export class BelievedAlone {
  readonly #byAddress = new Map<string, Map<string, bigint>>();

  /** What other transfers brought to the same address, in 10^-18 units. */
  besides(transfer: Transfer): bigint {
    let units = 0n;
    for (const [name, own] of this.#byAddress.get(transfer.toAddress) ?? [])
      if (name !== nameOf(transfer)) units += own;
    return units;
  }

  add(transfer: Transfer, units: bigint): void {
    const { toAddress } = transfer;
    const known = this.#byAddress.get(toAddress) ?? new Map<string, bigint>();
    this.#byAddress.delete(toAddress);
    this.#byAddress.set(toAddress, known.set(nameOf(transfer), units));
    if (this.#byAddress.size > MAX_ADDRESSES) this.#byAddress.delete(must(this.#byAddress.keys().next().value));
  }
}

const nameOf = ({ txHash, logIndex }: Transfer): string => `${txHash}:${logIndex}`;
