import type { CheckpointSigned } from '../../domain/events/operations-events.ts';
import type { AuditAnchor } from '../../ports/audit.ts';
import { parseCheckpoint, verifySignature, type VerifierKey } from './checkpoint-note.ts';

/** A tree head that was once expected. */
export interface ExpectedHead {
  readonly size: number;
  readonly root: Buffer;
  /** Who remembers it, for people. */
  readonly source: string;
}

/** What the signer remembers. */
export const headOfAnchor = ({ size, rootHash }: AuditAnchor): ExpectedHead => ({
  size,
  root: Buffer.from(rootHash, 'base64'),
  source: "the signer's own record",
});

/**
 * What a `CheckpointSigned` event promises, or why it is no checkpoint of this log. `key`: null leaves signatures
 * unchecked.
 */
export function headOfEvent(
  data: CheckpointSigned['data'],
  key: VerifierKey | null,
): ExpectedHead | { readonly fault: string } {
  const parsed = parseCheckpoint(data.checkpoint);
  if (!parsed) return { fault: 'it holds no checkpoint' };
  if (parsed.size !== data.size || parsed.root.toString('base64') !== data.rootHash || parsed.origin !== data.origin)
    return { fault: 'its fields are not those of the checkpoint in it' };
  if (key && verifySignature(parsed, key) === 'invalid')
    return { fault: 'the signature of its checkpoint does not verify' };
  return { size: parsed.size, root: parsed.root, source: 'the ledger' };
}

/** Compares expected heads with the tree in the order of their sizes, and names the stretch in which they part. */
export class HeadCheck {
  #lastGood = 0;

  /** Null when the head is that of the log. `root`: of the log at that size. */
  check(head: ExpectedHead, root: Buffer): string | null {
    if (root.equals(head.root)) {
      this.#lastGood = Math.max(this.#lastGood, head.size);
      return null;
    }
    const from = this.#lastGood < head.size ? this.#lastGood : 0;
    const before = from === 0 ? 'the beginning' : `the checkpoint of ${from} events, which holds,`;
    return `history differs between ${before} and the checkpoint of ${head.size} events (from ${head.source}): one of the events ${from + 1} to ${head.size} is not what it was when that was signed`;
  }
}
