/** Opaque, and totally ordered by its store; callers may compare it only for equality. */
export type Position = string;

/** An event ready to be stored: `data` and `metadata` are JSON text, preserved byte for byte. */
export interface EncodedEvent {
  /** UUID, the same for every retry of an append. */
  readonly id: string;
  readonly type: string;
  readonly version: number;
  readonly atMs: number;
  readonly data: string;
  readonly metadata: string;
  /** SHA-256 (hex) of the canonical bytes (see `src/runtime/commands/codec.ts`). */
  readonly hash: string;
}

export interface RecordedEvent extends EncodedEvent {
  readonly stream: string;
  /** 0 for the first event of the stream. */
  readonly revision: number;
  readonly position: Position;
}

/** `no-stream`, or the revision of the stream's last event. There is no "any": every append states what it expects. */
export type ExpectedRevision = 'no-stream' | number;

/**
 * A record that must be durable no later than the events of its append. The embedded store commits it in the same
 * transaction; distributed adapters write it before they resolve and return no coCommit.
 */
export interface CoCommit {
  readonly kind: 'nonce' | 'personal-key';
  readonly values: readonly (string | number | Uint8Array)[];
}

export interface AppendRequest {
  readonly stream: string;
  readonly expected: ExpectedRevision;
  readonly events: readonly EncodedEvent[];
  readonly coCommits?: readonly CoCommit[] | undefined;
}

export type AppendResult =
  | { readonly ok: true; readonly revision: number; readonly position: Position }
  /** `actual` is the stream's last revision, -1 if it does not exist. A read that begins now finds it. */
  | { readonly ok: false; readonly actual: number };

export interface ReadAllOptions {
  /** Exclusive; null reads from the beginning. */
  readonly after: Position | null;
  readonly limit: number;
  /** Only streams whose name starts with one of these; all if absent. */
  readonly streamPrefixes?: readonly string[];
}

export interface SubscribeOptions {
  readonly name: string;
  readonly after: Position | null;
  readonly streamPrefixes?: readonly string[];
  /**
   * Events in order, never empty; the next batch follows once the promise has settled. A rejection is retried with
   * backoff.
   */
  readonly onEvents: (events: readonly RecordedEvent[]) => Promise<void> | void;
  /**
   * A batch in parts, for stores that can read them one after another, so that a large batch is never in memory whole:
   * called instead of `onEvents`, with parts of at most `size` events. A rejection, or a failed read, restarts the
   * batch.
   */
  readonly inParts?: {
    readonly size: number;
    readonly onParts: (parts: Iterable<readonly RecordedEvent[]>) => Promise<void>;
  };
  /** Called whenever the subscription has delivered everything there was. */
  readonly onCaughtUp?: () => void;
  readonly maxBatch?: number;
}

export interface Subscription {
  /** Position of the last event whose batch was handled, or the start position. */
  readonly position: Position | null;
  /** Events committed but not yet handled, as far as the store can tell cheaply. */
  readonly lag: number;
  /** Resolves once everything up to `position` was handled. */
  reached(position: Position): Promise<void>;
  close(): Promise<void>;
}

/**
 * The event log: total order, gapless revisions per stream, expected revision checked atomically with the append.
 * Appending the same event ids again at the same expected revision returns the first result. Every method rejects with
 * `StoreUnavailable` when the outcome is unknown or the store is unavailable.
 */
export interface EventStore {
  append(request: AppendRequest): Promise<AppendResult>;
  /** Oldest first from `from` (default 0); empty if the stream does not exist. */
  readStream(stream: string, options?: { readonly from?: number; readonly limit?: number }): Promise<RecordedEvent[]>;
  /** The stream's newest event, or null. */
  lastOfStream(stream: string): Promise<RecordedEvent | null>;
  readAll(options: ReadAllOptions): Promise<RecordedEvent[]>;
  subscribe(options: SubscribeOptions): Subscription;
  /** Position of the newest event; null if the log is empty. */
  head(): Promise<Position | null>;
  close(): Promise<void>;
}

/** The store did not answer, or is unavailable; the outcome of the call is unknown. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** The stored bytes differ from what was written. Never retried: it is damage or tampering and needs a person. */
export class DamagedEvent extends Error {
  override readonly name = 'DamagedEvent';
}
