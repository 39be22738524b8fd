import { randomUUID } from 'node:crypto';
import type { ServerWritableStream } from '@grpc/grpc-js';
import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { DoubleLog, LoggedEvent } from './double-log.ts';
import { caughtUp, checkpoint, confirmation, eventMessage, fellBehind } from './double-messages.ts';

/**
 * 32 events of search window times the multiplier (developers.eventstore.com, "Server-side filtering", checkpoints).
 */
const SEARCH_WINDOW = 32;

/**
 * One `$all` subscription. Confirmation first, then the past after the given position (exclusive: "Catch-up
 * subscriptions" of the client documentation), then `CaughtUp` once (server 23.10), then live events.
 */
export class DoubleSubscription {
  readonly #call: ServerWritableStream<ReadReq, ReadResp>;
  readonly #log: DoubleLog;
  readonly #matches: (stream: string) => boolean;
  readonly #filtered: boolean;
  readonly #checkpointEvery: number;
  readonly #stopListening: () => void;
  #next: number;
  #live = false;
  #sinceCheckpoint = 0;
  #repeats = 0;
  #stalled = false;

  constructor(call: ServerWritableStream<ReadReq, ReadResp>, log: DoubleLog) {
    this.#call = call;
    this.#log = log;
    const options = call.request.getOptions()!;
    const all = options.getAll()!;
    const after = all.hasPosition() ? BigInt(all.getPosition()!.getCommitPosition()) : null;
    this.#next = all.hasEnd() ? log.events.length : after === null ? 0 : log.indexAfter(after);
    const filter = options.getFilter();
    this.#filtered = filter !== undefined;
    const expression = filter?.getStreamIdentifier();
    const prefixes = expression?.getPrefixList() ?? [];
    const pattern = new RegExp(expression?.getRegex() ?? '');
    this.#matches =
      prefixes.length > 0
        ? (stream) => prefixes.some((prefix) => stream.startsWith(prefix))
        : (stream) => pattern.test(stream);
    this.#checkpointEvery = SEARCH_WINDOW * Math.max(1, filter?.getCheckpointintervalmultiplier() ?? 1);
    this.#stopListening = log.onAppend(() => this.#pump());
    call.write(confirmation(randomUUID()));
    this.#pump();
  }

  /** The next event goes out this many times more. */
  repeatNext(times: number): void {
    this.#repeats = times;
  }

  /**
   * Hands over nothing until `resume`. The protocol has a word for falling behind, which no server up to 25.1 sends
   * (`Streams.Read`).
   */
  stall({ isTold = true } = {}): void {
    this.#stalled = true;
    this.#live = false;
    if (isTold) this.#call.write(fellBehind());
  }

  resume(): void {
    this.#stalled = false;
    this.#pump();
  }

  stop(): void {
    this.#stopListening();
  }

  #pump(): void {
    if (this.#stalled) return;
    for (; this.#next < this.#log.events.length; this.#next += 1) this.#hand(this.#log.events[this.#next]!);
    if (this.#live) return;
    this.#live = true;
    this.#call.write(caughtUp());
  }

  #hand(event: LoggedEvent): void {
    if (this.#matches(event.stream)) {
      for (let times = 0; times <= this.#repeats; times += 1) this.#call.write(eventMessage(event));
      this.#repeats = 0;
    }
    this.#sinceCheckpoint += 1;
    if (!this.#filtered || this.#sinceCheckpoint < this.#checkpointEvery) return;
    this.#sinceCheckpoint = 0;
    this.#call.write(checkpoint(event.position));
  }
}
