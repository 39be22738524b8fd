import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type Position,
  type RecordedEvent,
  StoreUnavailable,
  type SubscribeOptions,
  type Subscription,
} from '../../../ports/event-log/event-store.ts';
import { parsePosition } from './position.ts';
import { must } from '../../../domain/values/must.ts';

const DEFAULT_BATCH = 256;
const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 10_000;

export interface SourcePage {
  readonly events: readonly RecordedEvent[];
  /** Position up to which the log was examined. */
  readonly through: number;
  /** True if the file had to be read. */
  readonly fromFile: boolean;
}

/** The source of a subscription: recent events in memory, otherwise the file. */
export interface LogSource {
  /** Position of the newest committed event, 0 when there is none. */
  readonly end: number;
  /** Examines at most `window` positions. */
  pageAfter(after: number, window: number, prefixes: readonly string[] | undefined): SourcePage;
}

export interface CatchUpHooks {
  /** Called with every failed attempt of a handler, and with failed reads. */
  readonly onError: (name: string, error: unknown, attempt: number) => void;
  readonly onAdvanced: () => void;
  readonly onClosed: (subscription: CatchUpSubscription) => void;
}

interface HandledBatch {
  /** Position of its last event; null if it had none. */
  last: Position | null;
  through: number;
  fromFile: boolean;
}

/** The sections of the log up to `end` that contain events, read one after another; `batch` tells how far. */
function* partsOf(
  batch: HandledBatch,
  source: LogSource,
  { end, size, streamPrefixes }: { end: number; size: number; streamPrefixes: readonly string[] | undefined },
): Generator<readonly RecordedEvent[], void> {
  while (batch.through < end) {
    const { events, through, fromFile } = source.pageAfter(
      batch.through,
      Math.min(size, end - batch.through),
      streamPrefixes,
    );
    batch.through = through;
    batch.fromFile ||= fromFile;
    if (events.length === 0) continue;
    batch.last = must(events.at(-1)).position;
    yield events;
  }
}

interface Waiter {
  readonly position: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** One reader of the log, from its beginning or any position, then live. Holds at most one batch in memory. */
export class CatchUpSubscription implements Subscription {
  readonly #options: SubscribeOptions;
  readonly #source: LogSource;
  readonly #hooks: CatchUpHooks;
  readonly #finished: Promise<void>;
  #through: number;
  #position: Position | null;
  #closed = false;
  #wake: (() => void) | null = null;
  #waiters: Waiter[] = [];

  constructor(options: SubscribeOptions, source: LogSource, hooks: CatchUpHooks) {
    this.#options = options;
    this.#source = source;
    this.#hooks = hooks;
    this.#position = options.after;
    this.#through = parsePosition(options.after);
    if (this.#through > source.end) {
      throw new RangeError(
        `subscription ${options.name} begins at ${options.after}, beyond the log's end at ${source.end}: rebuild what it feeds`,
      );
    }
    this.#finished = this.#run();
  }

  get position(): Position | null {
    return this.#position;
  }

  /** Everything up to this position was handled or is irrelevant. */
  get through(): number {
    return this.#through;
  }

  get lag(): number {
    return this.#source.end - this.#through;
  }

  reached(position: Position): Promise<void> {
    const target = parsePosition(position);
    if (target <= this.#through) return Promise.resolve();
    if (this.#closed) return Promise.reject(this.#closedError());
    return new Promise((resolve, reject) => {
      const waiter = { position: target, resolve, reject };
      const index = this.#waiters.findLastIndex((other) => other.position <= target);
      this.#waiters.splice(index + 1, 0, waiter);
    });
  }

  /** Resolves once the running handler has settled; must not be awaited inside that handler. */
  async close(): Promise<void> {
    this.#closed = true;
    this.notify();
    await this.#finished;
  }

  /** Checks for new events. */
  notify(): void {
    this.#wake?.();
  }

  async #run(): Promise<void> {
    await nextTurn();
    let hasReported = false;
    while (!this.#closed) {
      if (this.#through < this.#source.end) {
        hasReported = false;
        await this.#advance();
      } else if (!hasReported) {
        hasReported = true;
        await this.#insist(() => this.#options.onCaughtUp?.());
      } else {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        this.#wake = null;
      }
    }
    for (const { reject } of this.#waiters.splice(0)) reject(this.#closedError());
    this.#hooks.onClosed(this);
  }

  async #advance(): Promise<void> {
    const batch = this.#options.inParts ? await this.#handleParts(this.#options.inParts) : await this.#handlePage();
    if (batch === null) return;
    const { last, through, fromFile } = batch;
    if (last !== null) this.#position = last;
    this.#through = through;
    this.#hooks.onAdvanced();
    while (this.#waiters.length > 0 && must(this.#waiters[0]).position <= through)
      must(this.#waiters.shift()).resolve();
    // Handlers may be synchronous; this gives the rest of the service a turn between pages.
    if (fromFile) await nextTurn();
  }

  async #handlePage(): Promise<HandledBatch | null> {
    const { maxBatch = DEFAULT_BATCH, streamPrefixes, onEvents } = this.#options;
    const page = await this.#insist(() => this.#source.pageAfter(this.#through, maxBatch, streamPrefixes));
    if (page === null) return null;
    const { events, through, fromFile } = page;
    if (events.length > 0 && (await this.#insist(async () => (await onEvents(events), true))) === null) return null;
    return { last: events.at(-1)?.position ?? null, through, fromFile };
  }

  #handleParts({ size, onParts }: NonNullable<SubscribeOptions['inParts']>): Promise<HandledBatch | null> {
    const { maxBatch = DEFAULT_BATCH, streamPrefixes } = this.#options;
    return this.#insist(async () => {
      const batch: HandledBatch = { last: null, through: this.#through, fromFile: false };
      await onParts(
        partsOf(batch, this.#source, {
          end: Math.min(this.#through + maxBatch, this.#source.end),
          size,
          streamPrefixes,
        }),
      );
      return batch;
    });
  }

  /** Repeats the step until it succeeds; null if the subscription was closed first. */
  async #insist<Result>(step: () => Promise<Result> | Result): Promise<Result | null> {
    for (let attempt = 1; !this.#closed; attempt += 1) {
      try {
        return await step();
      } catch (error) {
        this.#hooks.onError(this.#options.name, error, attempt);
        await this.#pause(Math.min(FIRST_RETRY_MS * 2 ** Math.min(attempt - 1, 20), LONGEST_RETRY_MS));
      }
    }
    return null;
  }

  async #pause(delayMs: number): Promise<void> {
    if (this.#closed) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, delayMs);
      this.#wake = () => {
        if (!this.#closed) return;
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = null;
  }

  #closedError(): StoreUnavailable {
    return new StoreUnavailable(`subscription ${this.#options.name} was closed`);
  }
}
