import type { Tail } from './append-job.ts';
import type { EventReader } from './event-reader.ts';
import type { Housekeeping } from './housekeeping.ts';
import type { SqliteFault } from '../fault.ts';
import type { StreamName, StreamNamesFile } from './stream-names-file.ts';
import { must } from '../../../domain/values/must.ts';

/**
 * Each batch touches most pages of the file and makes the other connections reread them, so fewer batches cost less.
 */
const SEND_FROM_NAMES = 8_192;
const SEND_AFTER_MS = 1_000;
/** Appends are refused while this many names wait for the file. */
const MAX_RECENT = 262_144;
const CATCH_UP_NAMES = 16_384;

/** Finds stream numbers. Recent names stay in memory until the housekeeping thread has written them to the file. */
export class StreamNames {
  readonly #file: StreamNamesFile;
  readonly #housekeeping: Housekeeping;
  readonly #onFatal: (fault: SqliteFault) => void;
  #waiting = new Map<string, number>();
  #sent = new Map<string, number>();
  #tail: Tail;
  #sending: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(file: StreamNamesFile, housekeeping: Housekeeping, tail: Tail, onFatal: (fault: SqliteFault) => void) {
    this.#file = file;
    this.#housekeeping = housekeeping;
    this.#tail = tail;
    this.#onFatal = onFatal;
  }

  get isFull(): boolean {
    return this.#waiting.size + this.#sent.size >= MAX_RECENT;
  }

  /** The number of a stream whose name may not be in the file yet. */
  recent(name: string): number | undefined {
    return this.#waiting.get(name) ?? this.#sent.get(name);
  }

  /** Null if there is no such stream. */
  numberOf(name: string): number | null {
    return this.recent(name) ?? this.#file.numberOf(name);
  }

  /** Adds the streams that a commit created; `tail` is the log's end after it. */
  add(names: readonly StreamName[], tail: Tail): void {
    for (const { name, number } of names) this.#waiting.set(name, number);
    this.#tail = tail;
    if (this.#waiting.size >= SEND_FROM_NAMES) {
      this.#send();
    } else if (this.#timer === null && this.#waiting.size > 0) {
      this.#timer = setTimeout(() => this.#send(), SEND_AFTER_MS);
      this.#timer.unref();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer) clearTimeout(this.#timer);
    while (this.#sending) await this.#sending;
    try {
      if (this.#waiting.size > 0) this.#file.add(namesIn(this.#waiting), this.#tail);
    } catch {
      // The next start finds them in the log.
    }
    this.#file.close();
  }

  #send(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#sending || this.#closed || this.#waiting.size === 0) return;
    this.#sending = this.#transfer().finally(() => {
      this.#sending = null;
      if (this.#waiting.size >= SEND_FROM_NAMES) this.#send();
    });
  }

  async #transfer(): Promise<void> {
    this.#sent = this.#waiting;
    this.#waiting = new Map();
    const fault = await this.#housekeeping.indexNames(this.#sent, this.#tail);
    if (fault === null) {
      this.#sent = new Map();
      return;
    }
    this.#waiting = new Map([...this.#sent, ...this.#waiting]);
    this.#sent = new Map();
    if (fault.kind === 'fatal') this.#onFatal(fault);
  }
}

const namesIn = (numbers: ReadonlyMap<string, number>): StreamName[] =>
  Array.from(numbers, ([name, number]) => ({ name, number }));

/** Brings the file up to the end of the log; rebuilds one that belongs to another log. */
export function catchUpStreamNames(file: StreamNamesFile, reader: EventReader): void {
  const progress = file.progress();
  let from = progress.position;
  if (reader.chainAt(from) !== progress.chain) {
    file.clear();
    from = 0;
  }
  const tail = reader.tail();
  let names: StreamName[] = [];
  for (const name of reader.streamsAfter(from)) {
    names.push(name);
    if (names.length < CATCH_UP_NAMES) continue;
    file.add(names, { position: name.number, chain: must(reader.chainAt(name.number)) });
    names = [];
  }
  if (tail.position > from) file.add(names, tail);
}
