import type { EncodedEvent, CoCommit } from '../../../ports/event-log/event-store.ts';

/** The end of the log, which a committer needs to continue it. */
export interface Tail {
  readonly position: number;
  readonly chain: string;
}

/** An existing stream: its number, and the revision and hash of its last event. */
export interface StreamHead {
  readonly number: number;
  readonly revision: number;
  readonly hash: string;
}

/** One append on its way to the file. A plain object, so that it can cross threads. */
export interface AppendJob {
  readonly stream: string;
  /** -1: the stream must not exist. */
  readonly expected: number;
  readonly events: readonly EncodedEvent[];
  readonly coCommits: readonly CoCommit[] | undefined;
  /** The stream as of the last commit if known; otherwise looked up. */
  readonly head: StreamHead | undefined;
  /** The stream's number if it is too recent for `stream-names.db`. */
  readonly number: number | undefined;
}

export type JobOutcome =
  | { readonly kind: 'appended'; readonly head: StreamHead; readonly position: number }
  /** The same events are already stored at the same revisions. */
  | { readonly kind: 'repeated'; readonly head: StreamHead; readonly revision: number; readonly position: number }
  | { readonly kind: 'refused'; readonly head: StreamHead | undefined }
  /** A caller's bug: an event that was not encoded for its place in the stream. */
  | { readonly kind: 'faulty'; readonly message: string };

export interface Commit {
  readonly outcomes: readonly JobOutcome[];
  readonly tail: Tail;
}
