import type { MerchantId, NotificationId } from '../domain/ids.ts';
import { deliveryStream } from '../domain/streams.ts';
import type { EndpointDirectory } from '../ports/endpoint-directory.ts';
import type { Log } from '../ports/log.ts';
import type { Timers } from '../ports/timers.ts';
import type { DeliveryHandler } from '../use-cases/webhook-delivery-handler.ts';
import { dueAttempt, type DeliveryState, type RecordAttempt } from '../../state-machines/webhook-delivery.decider.ts';
import type { Backlog, BacklogEntry } from './deliver-webhooks-backlog.ts';
import { Lanes, type Job, type LaneLimits } from './deliver-webhooks-lanes.ts';

export interface DispatchLimits extends LaneLimits {
  /** Jobs of one merchant that wait in memory; the rest stays in the backlog until there is room. */
  readonly windowPerMerchant: number;
  /** Jobs in memory over all merchants, beyond which windows shrink to `crowdedWindow`. */
  readonly jobs: number;
  readonly crowdedWindow: number;
}

export const DISPATCH_LIMITS: DispatchLimits = {
  inFlightPerMerchant: 5,
  inFlight: 1_024,
  unrecordedPerMerchant: 40,
  pacePerSec: 10,
  windowPerMerchant: 1_000,
  jobs: 50_000,
  crowdedWindow: 20,
};

export interface DispatcherDeps {
  readonly backlog: Backlog;
  readonly handler: DeliveryHandler;
  readonly directory: EndpointDirectory;
  readonly timers: Timers;
  readonly log: Log;
  readonly limits: DispatchLimits;
  readonly attempt: (state: DeliveryState, trigger: RecordAttempt['trigger']) => Promise<RecordAttempt>;
  readonly record: (before: DeliveryState, attempt: RecordAttempt) => Promise<DeliveryState>;
  /** Position up to which the log was handled. */
  readonly handled: () => string | null;
}

/** Retries due within this wait in memory, later ones in the backlog. */
const SOON_MS = 60_000;
const LATER_PAGE = 200;
/** How long postponed work stands back while its endpoint is suspended or busy. */
const STAND_BACK_MS = 5 * 60_000;
const AFTER_ERROR_MS = 1_000;
/** A merchant whose memory window is full: entries after `afterSeq`, up to `lastSeq`, are in the backlog only. */
interface Overflow {
  afterSeq: number;
  lastSeq: number;
  loading: boolean;
}

export interface DispatchStats {
  /** Attempts that wait for an answer. */
  readonly inFlight: number;
  /** Attempts that are being read, made or recorded, and reads of the backlog. */
  readonly working: number;
  readonly inMemory: number;
  /** Deliveries whose next attempt is due soon. */
  readonly retrying: number;
  /** Merchants with more deliveries than memory holds. */
  readonly overflowing: number;
}

/** Runs the attempts that deliveries need, when they are due, within every bound. */
export class Dispatcher {
  readonly #deps: DispatcherDeps;
  readonly #lanes: Lanes;
  readonly #jobs = new Map<NotificationId, Job>();
  readonly #retryTimers = new Map<NotificationId, () => void>();
  readonly #wakeTimers = new Map<MerchantId, () => void>();
  readonly #overflow = new Map<MerchantId, Overflow>();
  readonly #pacedThrough = new Map<MerchantId, number>();
  readonly #running = new Set<Promise<void>>();
  #laterTimer: { atMs: number; cancel: () => void } | null = null;
  #reads = 0;
  #started = false;
  #stopped = false;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    const isOpen = (merchantId: MerchantId): boolean => deps.directory.endpointOf(merchantId)?.suspended !== true;
    this.#lanes = new Lanes(deps.limits, isOpen, (merchantId, atMs) => this.#wakeAt(merchantId, atMs));
  }

  get stats(): DispatchStats {
    return {
      inFlight: this.#lanes.inFlight,
      working: this.#running.size + this.#reads,
      inMemory: this.#jobs.size,
      retrying: this.#retryTimers.size,
      overflowing: this.#overflow.size,
    };
  }

  /** Takes up what the backlog held at the last checkpoint, before newer events arrive. */
  async restore(): Promise<void> {
    for (const merchantId of await this.#deps.backlog.merchants()) {
      this.#overflow.set(merchantId, { afterSeq: 0, lastSeq: this.#deps.backlog.lastSeq, loading: false });
      await this.#load(merchantId);
    }
  }

  /** Starts attempting. */
  start(): void {
    this.#started = true;
    this.#armLater(0);
    this.pump();
  }

  /** A delivery was scheduled or asked for again. */
  admit(
    delivery: { readonly id: NotificationId; readonly merchantId: MerchantId; readonly sessionId: string },
    state: DeliveryState | null,
    paced: boolean,
  ): void {
    const known = this.#jobs.get(delivery.id);
    if (known) {
      this.#hasten(known, paced);
      return;
    }
    const entry = this.#deps.backlog.enqueue(delivery.id, delivery.merchantId, delivery.sessionId);
    const overflow = this.#overflow.get(delivery.merchantId);
    if (overflow) overflow.lastSeq = entry.seq;
    else if (this.#hasRoom(delivery.merchantId)) this.#add(entry, { ordered: true, paced, state });
    else this.#overflow.set(delivery.merchantId, { afterSeq: entry.seq - 1, lastSeq: entry.seq, loading: false });
  }

  /** Another writer moved the delivery on: what is known of it may be old. */
  touch(id: NotificationId): void {
    const job = this.#jobs.get(id);
    if (job && !job.running) job.state = null;
  }

  /** What queued while the endpoint was away goes out slowly. */
  resume(merchantId: MerchantId): void {
    this.#pacedThrough.set(merchantId, this.#deps.backlog.lastSeq);
    this.#lanes.pace(merchantId);
    this.#lanes.wake(merchantId);
    this.pump();
  }

  wake(merchantId: MerchantId): void {
    this.#lanes.wake(merchantId);
    this.pump();
  }

  pump(): void {
    if (!this.#started || this.#stopped) return;
    for (let job = this.#lanes.take(this.#deps.timers.nowMs()); job; job = this.#lanes.take(this.#deps.timers.nowMs())) {
      const running = this.#run(job);
      this.#running.add(running);
      void running.finally(() => this.#running.delete(running));
    }
  }

  /** Starts nothing new; resolves when what is under way is over. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const cancel of [...this.#retryTimers.values(), ...this.#wakeTimers.values()]) cancel();
    this.#laterTimer?.cancel();
    await Promise.allSettled(this.#running);
  }

  async #run(job: Job): Promise<void> {
    const { handler, timers, log } = this.#deps;
    let dueAtMs: number | null;
    let isAnswered = false;
    const answered = (): void => {
      if (!isAnswered) this.#lanes.answered(job);
      isAnswered = true;
    };
    try {
      let state = job.state ?? (await handler.read(deliveryStream(job.id)));
      const due = state && dueAttempt(state);
      if (state && due && due.dueAtMs <= timers.nowMs()) {
        const attempt = await this.#deps.attempt(state, due.trigger);
        answered();
        this.pump();
        state = await this.#deps.record(state, attempt);
      }
      job.state = state;
      dueAtMs = state ? (dueAttempt(state)?.dueAtMs ?? null) : null;
    } catch (error) {
      log.error({ err: error, notificationId: job.id }, 'a webhook attempt could not be made or recorded');
      job.state = null;
      dueAtMs = timers.nowMs() + AFTER_ERROR_MS;
    }
    answered();
    this.#lanes.recorded(job);
    if (!this.#stopped) this.#plan(job, dueAtMs);
    this.#refillIfLow(job.merchantId);
    this.pump();
  }

  #plan(job: Job, dueAtMs: number | null): void {
    const { backlog, timers } = this.#deps;
    const nowMs = timers.nowMs();
    if (job.recheck) {
      job.recheck = false;
      job.state = null;
      job.ordered = true;
      this.#lanes.add(job);
    } else if (dueAtMs === null) {
      this.#jobs.delete(job.id);
      backlog.remove(job.row);
    } else if (dueAtMs <= nowMs) {
      job.ordered = true;
      this.#lanes.add(job);
    } else if (dueAtMs - nowMs <= SOON_MS && this.#jobs.size < this.#deps.limits.jobs) {
      this.#retryTimers.set(
        job.id,
        timers.at(dueAtMs, () => this.#retry(job)),
      );
    } else {
      this.#jobs.delete(job.id);
      this.#postpone(job, dueAtMs);
    }
  }

  #retry(job: Job): void {
    this.#retryTimers.delete(job.id);
    this.#lanes.add(job);
    this.pump();
  }

  /** A redelivery was asked for: a waiting retry need not wait any longer, and what runs or queues is looked at again afterwards. */
  #hasten(job: Job, paced: boolean): void {
    if (job.running) job.recheck = true;
    else job.state = null;
    const cancel = this.#retryTimers.get(job.id);
    if (!cancel) return;
    cancel();
    this.#retryTimers.delete(job.id);
    job.ordered = true;
    job.paced = paced;
    this.#lanes.add(job);
    this.pump();
  }

  #add(entry: BacklogEntry, options: { ordered: boolean; paced: boolean; state: DeliveryState | null }): void {
    const { id, merchantId, sessionId, seq, ref } = entry;
    const paced = options.paced || seq <= (this.#pacedThrough.get(merchantId) ?? 0);
    const job: Job = {
      id,
      merchantId,
      sessionId,
      seq,
      ordered: options.ordered,
      paced,
      state: options.state,
      row: ref,
      running: false,
      recheck: false,
    };
    this.#jobs.set(id, job);
    this.#lanes.add(job);
  }

  #hasRoom(merchantId: MerchantId): boolean {
    return this.#lanes.waiting(merchantId) < this.#window();
  }

  #window(): number {
    const { limits } = this.#deps;
    return this.#jobs.size < limits.jobs ? limits.windowPerMerchant : limits.crowdedWindow;
  }

  #refillIfLow(merchantId: MerchantId): void {
    const overflow = this.#overflow.get(merchantId);
    if (!overflow || overflow.loading || this.#stopped || this.#lanes.waiting(merchantId) > this.#window() / 2) return;
    this.#load(merchantId).catch((error: unknown) => {
      this.#deps.log.error({ err: error, merchantId }, 'the webhook backlog could not be read');
      this.#deps.timers.at(this.#deps.timers.nowMs() + AFTER_ERROR_MS, () => this.#refillIfLow(merchantId));
    });
  }

  /** Brings the next entries of a merchant from the backlog into memory, in the order of the log. */
  async #load(merchantId: MerchantId): Promise<void> {
    const overflow = this.#overflow.get(merchantId);
    if (!overflow) return;
    overflow.loading = true;
    this.#reads += 1;
    try {
      const until = overflow.lastSeq;
      await this.#deps.backlog.flush(this.#deps.handled());
      const limit = Math.max(1, this.#window() - this.#lanes.waiting(merchantId));
      const entries = await this.#deps.backlog.of(merchantId, overflow.afterSeq, limit);
      for (const entry of entries) this.#takeUp(entry, true);
      overflow.afterSeq = entries.at(-1)?.seq ?? until;
      if (entries.length < limit) overflow.afterSeq = Math.max(overflow.afterSeq, until);
      if (overflow.afterSeq >= overflow.lastSeq) this.#overflow.delete(merchantId);
    } finally {
      overflow.loading = false;
      this.#reads -= 1;
    }
    this.pump();
  }

  #takeUp(entry: BacklogEntry, ordered: boolean): void {
    const known = this.#jobs.get(entry.id);
    if (!known) this.#add(entry, { ordered, paced: !ordered, state: null });
    else if (known.row.key !== entry.ref.key) this.#deps.backlog.remove(entry.ref);
  }

  #postpone(
    entry: { id: NotificationId; merchantId: MerchantId; sessionId: string; seq: number; row: { table: string; key: string } },
    dueAtMs: number,
  ): void {
    this.#deps.backlog.postpone(entry, entry.row, dueAtMs);
    this.#armLater(dueAtMs);
  }

  #armLater(atMs: number): void {
    if (this.#stopped || (this.#laterTimer && this.#laterTimer.atMs <= atMs)) return;
    this.#laterTimer?.cancel();
    const cancel = this.#deps.timers.at(atMs, () => {
      this.#laterTimer = null;
      this.#reads += 1;
      this.#takeUpLater()
        .catch((error: unknown) => {
          this.#deps.log.error({ err: error }, 'postponed webhook deliveries could not be read');
          this.#armLater(this.#deps.timers.nowMs() + AFTER_ERROR_MS);
        })
        .finally(() => {
          this.#reads -= 1;
        });
    });
    this.#laterTimer = { atMs, cancel };
  }

  /** Takes up postponed deliveries whose time has come; those that cannot go now stand back without holding up others. */
  async #takeUpLater(): Promise<void> {
    const { backlog, timers, directory } = this.#deps;
    await backlog.flush(this.#deps.handled());
    const entries = await backlog.later(LATER_PAGE);
    const nowMs = timers.nowMs();
    for (const entry of entries) {
      if (entry.dueAtMs > nowMs) break;
      const mayGo = directory.endpointOf(entry.merchantId)?.suspended !== true && this.#lanes.waiting(entry.merchantId) < this.#window();
      if (mayGo || this.#jobs.has(entry.id)) this.#takeUp(entry, false);
      else this.#postpone({ ...entry, row: entry.ref }, nowMs + STAND_BACK_MS);
    }
    const next = entries.find((entry) => entry.dueAtMs > nowMs);
    if (next) this.#armLater(next.dueAtMs);
    else if (entries.length === LATER_PAGE) this.#armLater(nowMs + AFTER_ERROR_MS);
    this.pump();
  }

  #wakeAt(merchantId: MerchantId, atMs: number): void {
    if (this.#wakeTimers.has(merchantId) || this.#stopped) return;
    const wake = (): void => {
      this.#wakeTimers.delete(merchantId);
      this.wake(merchantId);
    };
    this.#wakeTimers.set(merchantId, this.#deps.timers.at(atMs, wake));
  }
}
