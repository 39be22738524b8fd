import type { CheckpointSigned } from '../../domain/events/operations-events.ts';
import type { AuditAnchor } from '../../ports/event-log/audit.ts';
import { parseCheckpoint, verifySignature, type VerifierKey } from './checkpoint-note.ts';

/** A tree head that was recorded earlier. */
export interface ExpectedHead {
  readonly size: number;
  readonly root: Buffer;
  /** The source of the record, for people. */
  readonly source: string;
}

/** The head of a checkpoint that the signer remembers. */
export const headOfAnchor = ({ size, rootHash }: AuditAnchor): ExpectedHead => ({
  size,
  root: Buffer.from(rootHash, 'base64'),
  source: "the signer's own record",
});

/**
 * The tree head in a `CheckpointSigned` event, or why it is not a checkpoint of this log. `key`: null skips signatures.
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
  return { size: parsed.size, root: parsed.root, source: 'the event log' };
}

/** Compares recorded heads with the tree in order of size, and names the range in which they diverge. */
export class HeadCheck {
  #lastGood = 0;

  /** Null if the head matches. `root`: root of the log at that size. */
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
