import type { StreamHead } from './committer.ts';

/** The heads of the streams written last, so that appends to them need no look-up: two generations, the older is dropped whole. */
export class StreamHeads {
  readonly #capacity: number;
  #young = new Map<string, StreamHead>();
  #old = new Map<string, StreamHead>();

  /** Remembers at least this many streams, at most twice as many. */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get(stream: string): StreamHead | undefined {
    return this.#young.get(stream) ?? this.#old.get(stream);
  }

  set(stream: string, head: StreamHead): void {
    this.#young.set(stream, head);
    if (this.#young.size < this.#capacity) return;
    this.#old = this.#young;
    this.#young = new Map();
  }
}
