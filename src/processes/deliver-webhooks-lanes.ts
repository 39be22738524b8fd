import type { MerchantId, NotificationId } from '../domain/ids.ts';
import type { DeliveryState } from '../../state-machines/webhook-delivery.decider.ts';

/** One delivery that needs an attempt, now or later. */
export interface Job {
  readonly id: NotificationId;
  readonly merchantId: MerchantId;
  readonly sessionId: string;
  /** Rises with the log: the order of first attempts. */
  readonly seq: number;
  /** Waits its turn within its session: first attempts and redeliveries, not retries. */
  ordered: boolean;
  /** Runs at the pace of a recovering endpoint. */
  paced: boolean;
  /** The delivery as it was last known; null when it must be read before the attempt. */
  state: DeliveryState | null;
  /** Row of the backlog that brings the job back after a crash. */
  row: { readonly table: string; readonly key: string };
  /** From the start of an attempt until its outcome is recorded. */
  running: boolean;
  /** Somebody asked for the delivery while it ran: its stream is read once more afterwards. */
  recheck: boolean;
}

export interface LaneLimits {
  readonly inFlightPerMerchant: number;
  readonly inFlight: number;
  /** Attempts of one merchant that were answered and are not recorded yet: what a crash may repeat. */
  readonly unrecordedPerMerchant: number;
  /** Attempts per second of work that queued while an endpoint was away. */
  readonly pacePerSec: number;
}

/** First in, first out, without moving what waits. */
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
interface Lane {
  readonly merchantId: MerchantId;
  readonly fresh: Queue<Job>;
  readonly retries: Queue<Job>;
  readonly paced: Queue<Job>;
  /** Sessions with an ordered job under way, and the jobs behind it. */
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
 * Who may go next: lanes take turns, each bounded, so that no endpoint holds up another; within a lane, ordered jobs of
 * one session follow each other.
 */
export class Lanes {
  readonly #limits: LaneLimits;
  readonly #isOpen: (merchantId: MerchantId) => boolean;
  readonly #wakeAt: (merchantId: MerchantId, atMs: number) => void;
  readonly #lanes = new Map<MerchantId, Lane>();
  readonly #ring = new Queue<Lane>();
  #inFlight = 0;

  /** `isOpen` is false while an endpoint is suspended; `wakeAt` asks for `wake` at a time. */
  constructor(limits: LaneLimits, isOpen: (merchantId: MerchantId) => boolean, wakeAt: (merchantId: MerchantId, atMs: number) => void) {
    this.#limits = limits;
    this.#isOpen = isOpen;
    this.#wakeAt = wakeAt;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Jobs of the merchant that wait for a slot or for their session. */
  waiting(merchantId: MerchantId): number {
    return this.#lanes.get(merchantId)?.waiting ?? 0;
  }

  add(job: Job): void {
    const lane = this.#lane(job.merchantId);
    lane.waiting += 1;
    if (job.ordered) {
      const behind = lane.sessions.get(job.sessionId);
      if (behind) {
        behind.push(job);
        return;
      }
      lane.sessions.set(job.sessionId, []);
    }
    this.#queue(lane, job);
  }

  /** The next job that may run, already counted as in flight; null when none may. */
  take(nowMs: number): Job | null {
    while (this.#inFlight < this.#limits.inFlight) {
      const lane = this.#ring.shift();
      if (!lane) return null;
      lane.inRing = false;
      const job = this.#pick(lane, nowMs);
      if (!job) continue;
      lane.waiting -= 1;
      lane.inFlight += 1;
      this.#inFlight += 1;
      job.running = true;
      this.#enter(lane);
      return job;
    }
    return null;
  }

  /** The job's attempt was answered: frees its slot, and its session for the next ordered job. */
  answered(job: Job): void {
    const lane = this.#lane(job.merchantId);
    lane.inFlight -= 1;
    lane.unrecorded += 1;
    this.#inFlight -= 1;
    if (job.ordered) {
      job.ordered = false;
      const next = lane.sessions.get(job.sessionId)?.shift();
      if (next) this.#queue(lane, next);
      else lane.sessions.delete(job.sessionId);
    }
    this.#enter(lane);
  }

  /** The outcome of the job's attempt is recorded. */
  recorded(job: Job): void {
    const lane = this.#lane(job.merchantId);
    lane.unrecorded -= 1;
    job.running = false;
    this.#enter(lane);
    // A lane that was paced is kept, so that its pace outlasts a moment without work.
    if (lane.waiting + lane.inFlight + lane.unrecorded === 0 && lane.nextPacedAtMs === 0) this.#lanes.delete(lane.merchantId);
  }

  /** Looks at the merchant's lane again: it was resumed, or its next paced job may go. */
  wake(merchantId: MerchantId): void {
    const lane = this.#lanes.get(merchantId);
    if (lane) this.#enter(lane);
  }

  /** What waits now goes at the pace of a recovering endpoint. */
  pace(merchantId: MerchantId): void {
    const lane = this.#lanes.get(merchantId);
    if (!lane) return;
    for (const jobs of lane.sessions.values()) for (const job of jobs) job.paced = true;
    for (const queue of [lane.retries, lane.fresh]) {
      for (let job = queue.shift(); job; job = queue.shift()) {
        job.paced = true;
        lane.paced.push(job);
      }
    }
  }

  #lane(merchantId: MerchantId): Lane {
    const known = this.#lanes.get(merchantId);
    if (known) return known;
    const lane: Lane = {
      merchantId,
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
    this.#lanes.set(merchantId, lane);
    return lane;
  }

  #queue(lane: Lane, job: Job): void {
    (job.paced ? lane.paced : job.ordered ? lane.fresh : lane.retries).push(job);
    this.#enter(lane);
  }

  #enter(lane: Lane): void {
    const hasWork = lane.fresh.length + lane.retries.length + lane.paced.length > 0;
    const isFull = lane.inFlight >= this.#limits.inFlightPerMerchant || lane.unrecorded >= this.#limits.unrecordedPerMerchant;
    if (lane.inRing || !hasWork || isFull || !this.#isOpen(lane.merchantId)) return;
    lane.inRing = true;
    this.#ring.push(lane);
  }

  /** Fresh work, retries and paced work take turns too. */
  #pick(lane: Lane, nowMs: number): Job | null {
    if (!this.#isOpen(lane.merchantId)) return null;
    lane.turn = (lane.turn + 1) % 3;
    for (let offset = 0; offset < 3; offset++) {
      const kind = (lane.turn + offset) % 3;
      const job = kind === 0 ? lane.fresh.shift() : kind === 1 ? lane.retries.shift() : this.#pickPaced(lane, nowMs);
      if (job) return job;
    }
    return null;
  }

  #pickPaced(lane: Lane, nowMs: number): Job | undefined {
    if (lane.paced.length === 0) return undefined;
    if (nowMs < lane.nextPacedAtMs) {
      this.#wakeAt(lane.merchantId, lane.nextPacedAtMs);
      return undefined;
    }
    lane.nextPacedAtMs = Math.max(nowMs, lane.nextPacedAtMs) + 1_000 / this.#limits.pacePerSec;
    return lane.paced.shift();
  }
}
