import type { StreamHead } from './committer.ts';

/** The heads of the streams written last, so that appends to them need no look-up. */
export class StreamHeads {
  readonly #capacity: number;
  readonly #heads = new Map<string, StreamHead>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get(stream: string): StreamHead | undefined {
    return this.#heads.get(stream);
  }

  set(stream: string, head: StreamHead): void {
    this.#heads.delete(stream);
    this.#heads.set(stream, head);
    if (this.#heads.size <= this.#capacity) return;
    for (const oldest of this.#heads.keys()) {
      this.#heads.delete(oldest);
      return;
    }
  }
}
