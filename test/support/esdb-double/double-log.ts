/*
 * The log behind the double. Rules and where they come from:
 * - expected revision and `NoStream`: developers.eventstore.com, gRPC clients, "Appending events", "Handling concurrency";
 * - idempotent replays: same page, "Idempotent writes"; the decision follows `IndexWriter.CheckCommit` of the server (every event id must
 *   be found at its revision, otherwise the answer is a wrong expected version);
 * - a deleted stream is as if it were not there, and a later append to it goes on with the next revision: same page, "Deleting streams";
 * - positions grow with the bytes of the log and are no counter; `ClientMessage.WriteEventsCompleted` names one position for all events.
 */
export interface LoggedEvent {
  readonly id: string;
  readonly stream: string;
  readonly revision: number;
  readonly position: bigint;
  readonly type: string;
  readonly contentType: string;
  readonly createdTicks: string;
  readonly data: Uint8Array;
  readonly customMetadata: Uint8Array;
}

export interface ProposedEvent {
  readonly id: string;
  readonly type: string;
  readonly contentType: string;
  readonly data: Uint8Array;
  readonly customMetadata: Uint8Array;
}

/** -1 stands for `NoStream`. */
export type AppendVerdict =
  | { readonly ok: true; readonly revision: number; readonly position: bigint }
  | { readonly ok: false; readonly current: number; readonly expected: number };

export class DoubleLog {
  readonly events: LoggedEvent[] = [];
  readonly #streams = new Map<string, LoggedEvent[]>();
  readonly #deletedBelow = new Map<string, number>();
  readonly #listeners = new Set<() => void>();
  #nextPosition = 177n;

  append(stream: string, expected: number, proposed: readonly ProposedEvent[]): AppendVerdict {
    const stored = this.#streams.get(stream) ?? [];
    const current = stored.length - 1;
    const isDeleted = stored.length > 0 && this.stream(stream).length === 0;
    if (expected !== current && !(isDeleted && expected === -1)) return this.#replayed(stored, expected, proposed);
    for (const event of proposed) this.#store(stream, event);
    for (const listener of this.#listeners) listener();
    return { ok: true, revision: current + proposed.length, position: this.events.at(-1)!.position };
  }

  stream(name: string): readonly LoggedEvent[] {
    const deletedBelow = this.#deletedBelow.get(name) ?? 0;
    const stored = this.#streams.get(name) ?? [];
    return deletedBelow === 0 ? stored : stored.slice(deletedBelow);
  }

  /** False when there is no such stream. */
  delete(name: string): boolean {
    if (this.stream(name).length === 0) return false;
    this.#deletedBelow.set(name, this.#streams.get(name)!.length);
    return true;
  }

  /** Where the first event after a position is. */
  indexAfter(position: bigint): number {
    let from = 0;
    let to = this.events.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (this.events[middle]!.position > position) to = middle;
      else from = middle + 1;
    }
    return from;
  }

  onAppend(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** As `IndexWriter.CheckCommit` does since 23.10: every id must be found at its revision, and the last event's position is named. */
  #replayed(stored: readonly LoggedEvent[], expected: number, proposed: readonly ProposedEvent[]): AppendVerdict {
    const found = proposed.map((event, index) => {
      const candidate = stored[expected + 1 + index];
      return candidate?.id === event.id ? candidate : undefined;
    });
    if (found.some((event) => !event)) return { ok: false, current: stored.length - 1, expected };
    return { ok: true, revision: expected + proposed.length, position: found.at(-1)!.position };
  }

  #store(stream: string, event: ProposedEvent): void {
    const stored = this.#streams.get(stream) ?? [];
    const logged = {
      ...event,
      stream,
      revision: stored.length,
      position: this.#nextPosition,
      createdTicks: String(BigInt(Date.now()) * 10_000n),
    };
    this.#nextPosition += BigInt(stream.length + event.data.length + event.customMetadata.length + 100);
    stored.push(logged);
    this.#streams.set(stream, stored);
    this.events.push(logged);
  }
}
