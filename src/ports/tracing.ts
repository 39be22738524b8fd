/** W3C trace context, version 00: `00-<trace id>-<span id>-<flags>`. */
export type TraceParent = string;

export type SpanFacts = Readonly<Record<string, string | number | boolean>>;

export interface SpanOptions {
  readonly kind?: 'server' | 'client' | 'producer' | 'consumer' | 'internal';
  /** The span that waits for this one; absent: a new trace. */
  readonly parent?: TraceParent | undefined;
  /** Spans that caused this one without waiting for it. */
  readonly links?: readonly (TraceParent | undefined)[];
  readonly facts?: SpanFacts;
  /** Unix milliseconds; default: now. */
  readonly startMs?: number;
}

export interface Span {
  readonly traceParent: TraceParent;
  rename(name: string): void;
  add(facts: SpanFacts): void;
  /** Marks the span as failed; `type` is one of a bounded set of words. */
  fail(type: string): void;
  end(): void;
}

/** Receives spans. */
export interface Tracer {
  start(name: string, options: SpanOptions): Span;
  /** Flushes the remaining spans. */
  close(): Promise<void>;
}
