import { EMPTY_ROOT, nodeHash } from './tree.ts';

/**
 * The right edge of a Merkle tree: enough to append leaves and compute the root. Memory is proportional to the tree's
 * height.
 */
export class MerkleFrontier {
  readonly #peaks: { readonly width: number; readonly hash: Buffer }[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  append(leaf: Buffer): void {
    let peak = { width: 1, hash: leaf };
    for (let last = this.#peaks.at(-1); last?.width === peak.width; last = this.#peaks.at(-1)) {
      this.#peaks.pop();
      peak = { width: peak.width * 2, hash: nodeHash(last.hash, peak.hash) };
    }
    this.#peaks.push(peak);
    this.#size += 1;
  }

  root(): Buffer {
    return (
      this.#peaks
        .map(({ hash }) => hash)
        .reduceRight<Buffer | null>((right, left) => (right ? nodeHash(left, right) : left), null) ?? EMPTY_ROOT
    );
  }
}
