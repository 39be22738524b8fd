import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type AppendRequest, type AppendResult, StoreUnavailable } from '../../../ports/event-log/event-store.ts';
import { CLOSE, packOrder, unpackCommit } from './append-parcel.ts';
import type { AppendReply, AppendWorkerData } from './append-worker.ts';
import type { Committer } from './committer.ts';
import type { Commit, JobOutcome, AppendJob, Tail } from './append-job.ts';
import { faultOf, type SqliteFault } from '../fault.ts';
import { StreamHeads } from './stream-heads.ts';
import type { StreamNames } from './stream-names.ts';
import type { StreamName } from './stream-names-file.ts';
import { must } from '../../../domain/values/must.ts';
import type { KeyList } from '../../../runtime/cryptography/sealing.ts';
import { threadEnvironment } from '../../../runtime/util/thread-environment.ts';

/** One batch being committed, and one queued at the worker. */
const MAX_IN_FLIGHT = 2;
const MAX_QUEUED_APPENDS = 16_384;
const MAX_QUEUED_CHARACTERS = 64 * 1024 * 1024;
const MAX_BATCH_APPENDS = 512;
/** Smaller batches are not divided. */
const SMALLEST_HALF = 16;
const MAX_BATCH_CHARACTERS = 4 * 1024 * 1024;
const REMEMBERED_STREAMS = 4_096;
/** After this many consecutive batches with one append, there is only one caller. */
const BATCHES_UNTIL_ALONE = 16;
/** If a sync takes longer, this thread should not wait for it. */
const LONGEST_WAIT_HERE_MS = 1;

/** Newly durable appends in the order of positions. */
export interface Committed {
  readonly jobs: readonly AppendJob[];
  readonly outcomes: readonly JobOutcome[];
  /** Position before the first of them. */
  readonly after: number;
  readonly tail: Tail;
  /** Length of the event texts. */
  readonly characters: number;
}

export interface GroupWriterOptions {
  readonly dataDir: string;
  readonly committer: Committer;
  /** For the committer of the worker thread. */
  readonly sealKeys: KeyList | null;
  readonly tail: Tail;
  readonly names: StreamNames;
  /** Called after each commit, before its callers are answered. */
  readonly onCommitted: (committed: Committed) => void;
  /** Called once, when nothing more can be appended. */
  readonly onFatal: (fault: SqliteFault) => void;
}

interface Waiting {
  readonly request: AppendRequest;
  readonly characters: number;
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Groups concurrent appends into commits: during one commit the next batch queues up. Large batches are committed in a
 * worker thread, with a second batch queued there if that is worthwhile; a single caller is served in this thread,
 * which saves the round trip.
 */
export class GroupWriter {
  readonly #options: GroupWriterOptions;
  readonly #heads = new StreamHeads(REMEMBERED_STREAMS);
  #tail: Tail;
  #queue: Waiting[] = [];
  #queuedCharacters = 0;
  /** Sent and not answered yet, in order. */
  #inFlight: Batch[] = [];
  #workerKnowsTail = false;
  #flushPlanned = false;
  #worker: Worker | null = null;
  #loneBatches = BATCHES_UNTIL_ALONE;
  /** Moving average of the commit duration. */
  #commitMs = 0;
  /** Lengths of the last two batches, whose callers alternate. */
  #lastLengths: readonly [number, number] = [0, 1];
  #fault: SqliteFault | null = null;
  #closing = false;
  #whenIdle: (() => void)[] = [];

  constructor(options: GroupWriterOptions) {
    this.#options = options;
    this.#tail = options.tail;
  }

  get tail(): Tail {
    return this.#tail;
  }

  append(request: AppendRequest): Promise<AppendResult> {
    return new Promise((resolve, reject) => {
      const characters = charactersOf(request);
      const refusal = this.#refusal(characters);
      if (refusal) {
        reject(new StoreUnavailable(refusal));
        return;
      }
      this.#queue.push({ request, characters, resolve, reject });
      this.#queuedCharacters += characters;
      this.#planFlush();
    });
  }

  /** Waits for everything that was accepted, then ends the worker. */
  async close(): Promise<void> {
    this.#closing = true;
    if (this.#inFlight.length > 0 || this.#queue.length > 0)
      await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
    const worker = this.#worker;
    if (worker === null) return;
    this.#worker = null;
    const ended = once(worker, 'exit');
    worker.postMessage(CLOSE);
    await ended;
  }

  #refusal(characters: number): string | null {
    if (this.#fault) return `the event store failed and must be reopened: ${this.#fault.message}`;
    if (this.#closing) return 'the event store is closed';
    const tooMuch = this.#queuedCharacters + characters > MAX_QUEUED_CHARACTERS || this.#options.names.isFull;
    const full = this.#queue.length >= MAX_QUEUED_APPENDS || tooMuch;
    return full ? 'too many appends are waiting' : null;
  }

  /** Waits for the end of the event loop's turn to collect further appends. */
  #planFlush(): void {
    if (this.#inFlight.length === 0 && !this.#isAlone() && this.#isWorthwhile()) {
      this.#flush();
    } else if (!this.#flushPlanned && this.#inFlight.length < MAX_IN_FLIGHT) {
      this.#flushPlanned = true;
      setImmediate(() => {
        this.#flushPlanned = false;
        if (this.#inFlight.length === 0 || this.#isWorthwhile()) this.#flush();
      });
    }
  }

  /**
   * With many callers the worker need not wait for all of them: half of them are sent at once, so that this thread
   * prepares the other half during their commit and queues it at the worker. Less than half is left to grow, because a
   * commit itself costs more than its first ten events.
   */
  #isWorthwhile(): boolean {
    const [one, other] = this.#lastLengths;
    return this.#inFlight.length < MAX_IN_FLIGHT && this.#queue.length * 2 >= one + other;
  }

  #isAlone(): boolean {
    return (
      this.#loneBatches >= BATCHES_UNTIL_ALONE && this.#commitMs < LONGEST_WAIT_HERE_MS && this.#inFlight.length === 0
    );
  }

  /**
   * `mayBeHere`: false while an earlier commit is unpublished, because a commit in this thread is published at once.
   */
  #flush(mayBeHere = true): void {
    if (this.#inFlight.length === MAX_IN_FLIGHT || this.#queue.length === 0) return;
    const batch = this.#takeBatch();
    const isLone = batch.waiting.length === 1 && this.#queue.length === 0 && this.#inFlight.length === 0;
    this.#loneBatches = isLone ? this.#loneBatches + 1 : 0;
    this.#lastLengths = [this.#lastLengths[1], batch.waiting.length];
    const here = mayBeHere && this.#isAlone();
    this.#inFlight.push(batch);
    if (here) {
      this.#workerKnowsTail = false;
      this.#settle(this.#commitHere(batch));
    } else {
      this.#worker ??= this.#startWorker();
      this.#worker.postMessage(packOrder({ jobs: batch.jobs, tail: this.#workerKnowsTail ? null : this.#tail }));
      this.#workerKnowsTail = true;
    }
  }

  /** Two alternating halves must remain halves, or one thread waits for the other again. */
  #fairShare(): number {
    const underWay = this.#inFlight[0]?.waiting.length ?? 0;
    const half = Math.ceil((this.#queue.length + underWay) / 2);
    return underWay === 0 || half < SMALLEST_HALF ? MAX_BATCH_APPENDS : Math.min(half, MAX_BATCH_APPENDS);
  }

  #takeBatch(): Batch {
    const most = this.#fairShare();
    let length = 0;
    let characters = 0;
    for (const { characters: more } of this.#queue) {
      if (length === most || (length > 0 && characters + more > MAX_BATCH_CHARACTERS)) break;
      length += 1;
      characters += more;
    }
    const waiting = length === this.#queue.length ? this.#queue : this.#queue.slice(0, length);
    this.#queue = length === this.#queue.length ? [] : this.#queue.slice(length);
    this.#queuedCharacters -= characters;
    return {
      waiting,
      characters,
      jobs: waiting.map(({ request }) => this.#jobOf(request)),
      startedMs: performance.now(),
    };
  }

  #jobOf({ stream, expected, events, coCommits }: AppendRequest): AppendJob {
    const head = this.#heads.get(stream);
    const number = head ? head.number : this.#options.names.recent(stream);
    return { stream, expected: expected === 'no-stream' ? -1 : expected, events, coCommits, head, number };
  }

  #commitHere(batch: Batch): BatchResult {
    try {
      return { commit: this.#options.committer.commit(batch.jobs, this.#tail) };
    } catch (error) {
      return { fault: faultOf(error) };
    }
  }

  #startWorker(): Worker {
    const worker = new Worker(new URL('./append-worker.ts', import.meta.url), {
      name: 'commits',
      workerData: {
        dataDir: this.#options.dataDir,
        sealKeys: this.#options.sealKeys,
      } satisfies AppendWorkerData,
      execArgv: [],
      env: threadEnvironment(),
    });
    worker.on('message', (reply: AppendReply) => this.#receive(reply));
    worker.on('error', (error) => this.#lose(worker, error));
    worker.on('exit', () => this.#lose(worker, new Error('the thread that commits has ended')));
    return worker;
  }

  /** It is unknown whether the batch was stored. */
  #lose(worker: Worker, error: unknown): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    const fault: SqliteFault = { ...faultOf(error), kind: 'fatal' };
    if (this.#inFlight.length === 0) this.#end(fault);
    while (this.#inFlight.length > 0) this.#settle({ fault });
  }

  #receive(reply: AppendReply): void {
    const batch = this.#inFlight[0];
    if (batch === undefined) return;
    const failed = typeof reply === 'object' && 'fault' in reply;
    this.#settle(failed ? reply : { commit: unpackCommit(reply, batch.jobs, this.#tail.position) });
  }

  #settle(result: BatchResult): void {
    const batch = this.#inFlight.shift();
    if (batch === undefined) return;
    this.#commitMs += (performance.now() - batch.startedMs - this.#commitMs) / 8;
    if ('fault' in result) this.#fail(batch, result.fault);
    else this.#complete(batch, result.commit);
    if (this.#inFlight.length === 0 && this.#queue.length === 0)
      for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  #complete(batch: Batch, { outcomes, tail }: Commit): void {
    const after = this.#tail.position;
    this.#tail = tail;
    this.#remember(batch.jobs, outcomes);
    // The worker gets the queued appends before anything else happens here.
    if (this.#queue.length > 0 && (this.#inFlight.length === 0 || this.#isWorthwhile())) this.#flush(false);
    this.#options.onCommitted({ jobs: batch.jobs, outcomes, after, tail, characters: batch.characters });
    outcomes.forEach((outcome, index) => answer(must(batch.waiting[index]), outcome));
  }

  #remember(jobs: readonly AppendJob[], outcomes: readonly JobOutcome[]): void {
    const created: StreamName[] = [];
    outcomes.forEach((outcome, index) => {
      if (outcome.kind === 'faulty' || !outcome.head) return;
      const { stream, expected } = must(jobs[index]);
      this.#heads.set(stream, outcome.head);
      if (outcome.kind === 'appended' && expected < 0) created.push({ name: stream, number: outcome.head.number });
    });
    this.#options.names.add(created, this.#tail);
  }

  #fail(batch: Batch, fault: SqliteFault): void {
    for (const { reject } of batch.waiting) reject(new StoreUnavailable(fault.message));
    if (fault.kind !== 'fatal') {
      if (this.#queue.length > 0) this.#planFlush();
      return;
    }
    this.#end(fault);
  }

  #end(fault: SqliteFault): void {
    if (this.#fault) return;
    this.#fault = fault;
    for (const { reject } of this.#queue.splice(0)) reject(new StoreUnavailable(fault.message));
    this.#queuedCharacters = 0;
    this.#options.onFatal(fault);
  }
}

interface Batch {
  readonly waiting: readonly Waiting[];
  readonly jobs: readonly AppendJob[];
  readonly characters: number;
  readonly startedMs: number;
}

type BatchResult = { readonly commit: Commit } | { readonly fault: SqliteFault };

function charactersOf({ events }: AppendRequest): number {
  let characters = 0;
  for (const { data, metadata } of events) characters += data.length + metadata.length;
  return characters;
}

function answer({ resolve, reject }: Waiting, outcome: JobOutcome): void {
  switch (outcome.kind) {
    case 'appended':
      return resolve({ ok: true, revision: outcome.head.revision, position: String(outcome.position) });
    case 'repeated':
      return resolve({ ok: true, revision: outcome.revision, position: String(outcome.position) });
    case 'refused':
      return resolve({ ok: false, actual: outcome.head?.revision ?? -1 });
    case 'faulty':
      return reject(new Error(outcome.message));
  }
}
