import type { EncodedEvent, CoCommit } from '../../../ports/event-store.ts';

/** Where the log ends: what the holder of the pen needs to go on writing. */
export interface Tail {
  readonly position: number;
  readonly chain: string;
}

/** A stream that exists: its number, and the revision and hash of its last event. */
export interface StreamHead {
  readonly number: number;
  readonly revision: number;
  readonly hash: string;
}

/** One append on its way to the file. A plain object, so that it crosses threads. */
export interface AppendJob {
  readonly stream: string;
  /** -1: the stream must not exist. */
  readonly expected: number;
  readonly events: readonly EncodedEvent[];
  readonly coCommits: readonly CoCommit[] | undefined;
  /** The stream as of the last commit when it is known, else looked up. */
  readonly head: StreamHead | undefined;
  /** The stream's number when it is too new for `stream-names.db`. */
  readonly number: number | undefined;
}

export type JobOutcome =
  | { readonly kind: 'appended'; readonly head: StreamHead; readonly position: number }
  /** The same events were stored at the same revisions before. */
  | { readonly kind: 'repeated'; readonly head: StreamHead; readonly revision: number; readonly position: number }
  | { readonly kind: 'refused'; readonly head: StreamHead | undefined }
  /** The caller's mistake: an event that was not encoded for its place in the stream. */
  | { readonly kind: 'faulty'; readonly message: string };

export interface Commit {
  readonly outcomes: readonly JobOutcome[];
  readonly tail: Tail;
}
