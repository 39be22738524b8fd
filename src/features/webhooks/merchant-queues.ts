import type { QueueId } from '../../domain/notifications/delivery-ids.ts';
import type { NotificationId } from '../../domain/values/ids.ts';
import type { DeliveryState } from '../../../state-machines/webhook-delivery/delivery.decider.ts';

/** One delivery that needs an attempt, now or later. */
export interface Job {
  readonly id: NotificationId;
  readonly queue: QueueId;
  readonly sessionId: string;
  /** Increases with the event log; the order of first attempts. */
  readonly seq: number;
  /** Waits for its turn within its session: true for first attempts and redeliveries, false for retries. */
  ordered: boolean;
  /** Runs at the pace of a recovering endpoint. */
  paced: boolean;
  /** The last known state of the delivery; null if it must be read before the attempt. */
  state: DeliveryState | null;
  /** The backlog row that restores the job after a crash. */
  row: { readonly table: string; readonly key: string };
  /** From the start of an attempt until its outcome is recorded. */
  running: boolean;
  /** The delivery was requested while it ran, so its stream is read again afterwards. */
  recheck: boolean;
}

export interface QueueLimits {
  readonly inFlightPerMerchant: number;
  readonly inFlight: number;
  /** Answered attempts of one merchant that are not recorded yet, which a crash may repeat. */
  readonly unrecordedPerMerchant: number;
  /** Attempts per second for work that queued while an endpoint was unavailable. */
  readonly pacePerSec: number;
}

/** First in, first out, without moving waiting items. */
class Queue<Item> {
  #items: (Item | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  shift(): Item | undefined {
    const item = this.#items[this.#head];
    if (this.#head < this.#items.length) this.#items[this.#head++] = undefined;
    if (this.#head > 1_000 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}

/** The work of one merchant's endpoint. */
interface MerchantQueue {
  readonly queue: QueueId;
  readonly fresh: Queue<Job>;
  readonly retries: Queue<Job>;
  readonly paced: Queue<Job>;
  /** Sessions with an ordered job in progress, and the jobs behind it. */
  readonly sessions: Map<string, Job[]>;
  /** Jobs that wait for a slot or for their session. */
  waiting: number;
  inFlight: number;
  unrecorded: number;
  inRing: boolean;
  turn: number;
  nextPacedAtMs: number;
}

/**
 * Decides which job runs next. Queues of merchants take turns, each bounded, so that no endpoint delays another; within
 * a queue, ordered jobs of one session follow each other.
 */
export class MerchantQueues {
  readonly #limits: QueueLimits;
  readonly #isOpen: (queue: QueueId) => boolean;
  readonly #wakeAt: (queue: QueueId, atMs: number) => void;
  readonly #merchantQueues = new Map<QueueId, MerchantQueue>();
  readonly #ring = new Queue<MerchantQueue>();
  #inFlight = 0;

  /** `isOpen` is false while an endpoint is suspended; `wakeAt` schedules a call of `wake`. */
  constructor(
    limits: QueueLimits,
    isOpen: (queue: QueueId) => boolean,
    wakeAt: (queue: QueueId, atMs: number) => void,
  ) {
    this.#limits = limits;
    this.#isOpen = isOpen;
    this.#wakeAt = wakeAt;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Jobs of the merchant that wait for a slot or for their session. */
  waiting(queue: QueueId): number {
    return this.#merchantQueues.get(queue)?.waiting ?? 0;
  }

  add(job: Job): void {
    const merchantQueue = this.#merchantQueue(job.queue);
    merchantQueue.waiting += 1;
    if (job.ordered) {
      const behind = merchantQueue.sessions.get(job.sessionId);
      if (behind) {
        behind.push(job);
        return;
      }
      merchantQueue.sessions.set(job.sessionId, []);
    }
    this.#queue(merchantQueue, job);
  }

  /** The next job that may run, already counted as in flight; null if none may. */
  take(nowMs: number): Job | null {
    while (this.#inFlight < this.#limits.inFlight) {
      const merchantQueue = this.#ring.shift();
      if (!merchantQueue) return null;
      merchantQueue.inRing = false;
      const job = this.#pick(merchantQueue, nowMs);
      if (!job) continue;
      merchantQueue.waiting -= 1;
      merchantQueue.inFlight += 1;
      this.#inFlight += 1;
      job.running = true;
      this.#enter(merchantQueue);
      return job;
    }
    return null;
  }

  /** The job's attempt was answered: frees its slot, and its session for the next ordered job. */
  answered(job: Job): void {
    const merchantQueue = this.#merchantQueue(job.queue);
    merchantQueue.inFlight -= 1;
    merchantQueue.unrecorded += 1;
    this.#inFlight -= 1;
    if (job.ordered) {
      job.ordered = false;
      const next = merchantQueue.sessions.get(job.sessionId)?.shift();
      if (next) this.#queue(merchantQueue, next);
      else merchantQueue.sessions.delete(job.sessionId);
    }
    this.#enter(merchantQueue);
  }

  /** The outcome of the job's attempt is recorded. */
  recorded(job: Job): void {
    const merchantQueue = this.#merchantQueue(job.queue);
    merchantQueue.unrecorded -= 1;
    job.running = false;
    this.#enter(merchantQueue);
    // A paced queue is kept, so that its pace outlasts a moment without work.
    if (
      merchantQueue.waiting + merchantQueue.inFlight + merchantQueue.unrecorded === 0 &&
      merchantQueue.nextPacedAtMs === 0
    )
      this.#merchantQueues.delete(merchantQueue.queue);
  }

  /** Checks the merchant's queue again: it was resumed, or its next paced job may run. */
  wake(queue: QueueId): void {
    const merchantQueue = this.#merchantQueues.get(queue);
    if (merchantQueue) this.#enter(merchantQueue);
  }

  /** Sends what waits now at the pace of a recovering endpoint. */
  pace(queue: QueueId): void {
    const merchantQueue = this.#merchantQueues.get(queue);
    if (!merchantQueue) return;
    for (const jobs of merchantQueue.sessions.values()) for (const job of jobs) job.paced = true;
    for (const queue of [merchantQueue.retries, merchantQueue.fresh]) {
      for (let job = queue.shift(); job; job = queue.shift()) {
        job.paced = true;
        merchantQueue.paced.push(job);
      }
    }
  }

  #merchantQueue(queue: QueueId): MerchantQueue {
    const known = this.#merchantQueues.get(queue);
    if (known) return known;
    const merchantQueue: MerchantQueue = {
      queue,
      fresh: new Queue(),
      retries: new Queue(),
      paced: new Queue(),
      sessions: new Map(),
      waiting: 0,
      inFlight: 0,
      unrecorded: 0,
      inRing: false,
      turn: 0,
      nextPacedAtMs: 0,
    };
    this.#merchantQueues.set(queue, merchantQueue);
    return merchantQueue;
  }

  #queue(merchantQueue: MerchantQueue, job: Job): void {
    (job.paced ? merchantQueue.paced : job.ordered ? merchantQueue.fresh : merchantQueue.retries).push(job);
    this.#enter(merchantQueue);
  }

  #enter(merchantQueue: MerchantQueue): void {
    const hasWork = merchantQueue.fresh.length + merchantQueue.retries.length + merchantQueue.paced.length > 0;
    const isFull =
      merchantQueue.inFlight >= this.#limits.inFlightPerMerchant ||
      merchantQueue.unrecorded >= this.#limits.unrecordedPerMerchant;
    if (merchantQueue.inRing || !hasWork || isFull || !this.#isOpen(merchantQueue.queue)) return;
    merchantQueue.inRing = true;
    this.#ring.push(merchantQueue);
  }

  /** Fresh work, retries and paced work also take turns. */
  #pick(merchantQueue: MerchantQueue, nowMs: number): Job | null {
    if (!this.#isOpen(merchantQueue.queue)) return null;
    merchantQueue.turn = (merchantQueue.turn + 1) % 3;
    for (let offset = 0; offset < 3; offset++) {
      const kind = (merchantQueue.turn + offset) % 3;
      const job =
        kind === 0
          ? merchantQueue.fresh.shift()
          : kind === 1
            ? merchantQueue.retries.shift()
            : this.#pickPaced(merchantQueue, nowMs);
      if (job) return job;
    }
    return null;
  }

  #pickPaced(merchantQueue: MerchantQueue, nowMs: number): Job | undefined {
    if (merchantQueue.paced.length === 0) return undefined;
    if (nowMs < merchantQueue.nextPacedAtMs) {
      this.#wakeAt(merchantQueue.queue, merchantQueue.nextPacedAtMs);
      return undefined;
    }
    merchantQueue.nextPacedAtMs = Math.max(nowMs, merchantQueue.nextPacedAtMs) + 1_000 / this.#limits.pacePerSec;
    return merchantQueue.paced.shift();
  }
}
