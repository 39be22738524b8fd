import type { QueueId } from '../../domain/notifications/delivery-ids.ts';
import type { NotificationId } from '../../domain/values/ids.ts';
import { deliveryStream } from '../../domain/values/streams.ts';
import type { EndpointDirectory } from '../../ports/webhooks/endpoint-directory.ts';
import type { Log } from '../../ports/log.ts';
import type { Timers } from '../../ports/timers.ts';
import type { DeliveryHandler } from '../shared/handlers/delivery-handler.ts';
import {
  dueAttempt,
  type DeliveryState,
  type RecordAttempt,
} from '../../../state-machines/webhook-delivery/delivery.decider.ts';
import { withLogContext } from '../../runtime/util/log-context.ts';
import { insistently } from './attempts.ts';
import type { Backlog, BacklogEntry } from './backlog.ts';
import { isReachable } from './endpoints.ts';
import { PostponedWork } from './postponed.ts';
import type { DispatchLimits } from './dispatch-limits.ts';
import type { DispatchStats } from './dispatch-stats.ts';
import { MerchantQueues, type Job } from './merchant-queues.ts';

export interface DispatcherDeps {
  readonly backlog: Backlog;
  readonly handler: DeliveryHandler;
  readonly directory: EndpointDirectory;
  readonly timers: Timers;
  readonly log: Log;
  readonly limits: DispatchLimits;
  readonly attempt: (state: DeliveryState, trigger: RecordAttempt['trigger']) => Promise<RecordAttempt>;
  readonly record: (before: DeliveryState, attempt: RecordAttempt) => Promise<DeliveryState>;
  /** The state of a delivery that is not in the event log yet. */
  readonly stateOf: (id: NotificationId) => DeliveryState | null;
  /** Position up to which the event log was handled. */
  readonly handled: () => string | null;
}

/** Retries due within this time wait in memory, later ones in the backlog. */
const SOON_MS = 60_000;
const AGAIN_MS = 1_000;
const PROMPT_WAITING = 50;
/** A merchant whose memory window is full: entries after `afterSeq`, up to `lastSeq`, are only in the backlog. */
interface Overflow {
  afterSeq: number;
  lastSeq: number;
  loading: boolean;
}

/** Runs delivery attempts when they are due, within all limits. */
export class Dispatcher {
  readonly #deps: DispatcherDeps;
  readonly #merchantQueues: MerchantQueues;
  readonly #jobs = new Map<NotificationId, Job>();
  readonly #retryTimers = new Map<NotificationId, () => void>();
  readonly #wakeTimers = new Map<QueueId, () => void>();
  readonly #overflow = new Map<QueueId, Overflow>();
  readonly #pacedThrough = new Map<QueueId, number>();
  #running = 0;
  #onIdle: () => void = () => {};
  readonly #postponed: PostponedWork;
  #reads = 0;
  #started = false;
  #stopped = false;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    const isOpen = (queue: QueueId): boolean => isReachable(deps.directory, queue);
    this.#merchantQueues = new MerchantQueues(deps.limits, isOpen, (queue, atMs) => this.#wakeAt(queue, atMs));
    this.#postponed = new PostponedWork({
      ...deps,
      mayGo: ({ id, queue }) => this.#jobs.has(id) || (isOpen(queue) && this.#hasRoom(queue)),
      takeUp: (entry) => {
        this.#takeUp(entry, false);
        this.pump();
      },
    });
  }

  get stats(): DispatchStats {
    return {
      inFlight: this.#merchantQueues.inFlight,
      working: this.#running + this.#reads + this.#postponed.reading,
      inMemory: this.#jobs.size,
      retrying: this.#retryTimers.size,
      overflowing: this.#overflow.size,
    };
  }

  /** Loads the backlog of the last checkpoint before newer events arrive. */
  async restore(queues: readonly QueueId[]): Promise<void> {
    for (const [queue, throughSeq] of await this.#deps.backlog.paces()) {
      if (queues.includes(queue)) this.#pacedThrough.set(queue, throughSeq);
      else this.#deps.backlog.putPace(queue, null);
    }
    for (const queue of queues) {
      this.#overflow.set(queue, { afterSeq: 0, lastSeq: this.#deps.backlog.lastSeq, loading: false });
      await this.#load(queue);
    }
  }

  /** Starts attempting. */
  start(): void {
    this.#started = true;
    this.#postponed.start();
    this.pump();
  }

  /** Adds a delivery that was scheduled or requested again. */
  admit(
    delivery: { readonly id: NotificationId; readonly queue: QueueId; readonly sessionId: string },
    state: DeliveryState | null,
    paced: boolean,
  ): void {
    const known = this.#jobs.get(delivery.id);
    if (known) {
      this.#hasten(known, paced);
      return;
    }
    const entry = this.#deps.backlog.enqueue(delivery.id, delivery.queue, delivery.sessionId);
    const overflow = this.#overflow.get(delivery.queue);
    if (overflow) overflow.lastSeq = entry.seq;
    else if (this.#hasRoom(delivery.queue)) this.#add(entry, { ordered: true, paced, state });
    else this.#overflow.set(delivery.queue, { afterSeq: entry.seq - 1, lastSeq: entry.seq, loading: false });
  }

  /** Whether a delivery admitted now is attempted at once or soon. */
  isPrompt(queue: QueueId): boolean {
    return this.#merchantQueues.waiting(queue) < PROMPT_WAITING && isReachable(this.#deps.directory, queue);
  }

  /** Another writer changed the delivery, so the known state may be stale. */
  touch(id: NotificationId): void {
    const job = this.#jobs.get(id);
    if (job && !job.running) job.state = null;
  }

  /** Sends slowly what queued while the endpoint was unavailable. */
  resume(queue: QueueId): void {
    const { backlog } = this.#deps;
    this.#pacedThrough.set(queue, backlog.lastSeq);
    backlog.putPace(queue, backlog.lastSeq);
    this.#merchantQueues.pace(queue);
    this.#merchantQueues.wake(queue);
    this.pump();
  }

  wake(queue: QueueId): void {
    this.#merchantQueues.wake(queue);
    this.pump();
  }

  pump(): void {
    if (!this.#started || this.#stopped) return;
    for (
      let job = this.#merchantQueues.take(this.#deps.timers.nowMs());
      job;
      job = this.#merchantQueues.take(this.#deps.timers.nowMs())
    ) {
      this.#running += 1;
      void this.#run(job);
    }
  }

  /** Starts nothing new; resolves once running work has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const cancel of [...this.#retryTimers.values(), ...this.#wakeTimers.values()]) cancel();
    this.#postponed.stop();
    if (this.#running > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
  }

  async #run(job: Job): Promise<void> {
    const { timers, log } = this.#deps;
    const about = { session: job.sessionId, notification: job.id };
    let dueAtMs: number | null;
    let isAnswered = false;
    const answered = (): void => {
      if (!isAnswered) this.#merchantQueues.answered(job);
      isAnswered = true;
    };
    try {
      let state = job.state ?? this.#deps.stateOf(job.id) ?? (await this.#read(job.id));
      const due = state && dueAttempt(state);
      if (state && due && due.dueAtMs <= timers.nowMs()) {
        const before = state;
        const attempt = await withLogContext(about, () => this.#deps.attempt(before, due.trigger));
        answered();
        this.pump();
        state = await withLogContext(about, () => this.#deps.record(before, attempt));
      }
      job.state = state;
      dueAtMs = state ? (dueAttempt(state)?.dueAtMs ?? null) : null;
    } catch (error) {
      log.error({ err: error, ...about }, 'a webhook attempt could not be made or recorded');
      job.state = null;
      dueAtMs = timers.nowMs() + AGAIN_MS;
    }
    answered();
    this.#running -= 1;
    this.#merchantQueues.recorded(job);
    if (!this.#stopped) this.#plan(job, dueAtMs);
    else if (this.#running === 0) this.#onIdle();
    this.#refillIfLow(job.queue);
    this.pump();
  }

  /**
   * Retries until it succeeds, because a job that gave way to an unavailable store would let the next one of its
   * session pass.
   */
  #read(id: NotificationId): Promise<DeliveryState | null> {
    return insistently({ ...this.#deps, isStopping: () => this.#stopped }, () =>
      this.#deps.handler.read(deliveryStream(id)),
    );
  }

  #plan(job: Job, dueAtMs: number | null): void {
    const { backlog, timers } = this.#deps;
    const nowMs = timers.nowMs();
    if (job.recheck) {
      job.recheck = false;
      job.state = null;
      job.ordered = true;
      this.#merchantQueues.add(job);
    } else if (dueAtMs === null) {
      this.#jobs.delete(job.id);
      backlog.remove(job.row);
    } else if (dueAtMs <= nowMs) {
      job.ordered = true;
      this.#merchantQueues.add(job);
    } else if (dueAtMs - nowMs <= SOON_MS && this.#jobs.size < this.#deps.limits.jobs) {
      this.#retryTimers.set(
        job.id,
        timers.at(dueAtMs, () => this.#retry(job)),
      );
    } else {
      this.#jobs.delete(job.id);
      this.#postponed.postpone(job, job.row, dueAtMs);
    }
  }

  #retry(job: Job): void {
    this.#retryTimers.delete(job.id);
    this.#merchantQueues.add(job);
    this.pump();
  }

  /**
   * A redelivery was requested: a waiting retry becomes due, and a running or queued job is checked again afterwards.
   */
  #hasten(job: Job, paced: boolean): void {
    if (job.running) job.recheck = true;
    else job.state = null;
    const cancel = this.#retryTimers.get(job.id);
    if (!cancel) return;
    cancel();
    this.#retryTimers.delete(job.id);
    job.ordered = true;
    job.paced = paced;
    this.#merchantQueues.add(job);
    this.pump();
  }

  #add(entry: BacklogEntry, options: { ordered: boolean; paced: boolean; state: DeliveryState | null }): void {
    const { id, queue, sessionId, seq, ref } = entry;
    const paced = options.paced || seq <= (this.#pacedThrough.get(queue) ?? 0);
    const job: Job = {
      id,
      queue,
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
    this.#merchantQueues.add(job);
  }

  #hasRoom(queue: QueueId): boolean {
    return this.#merchantQueues.waiting(queue) < this.#window();
  }

  #window(): number {
    const { limits } = this.#deps;
    return this.#jobs.size < limits.jobs ? limits.windowPerMerchant : limits.crowdedWindow;
  }

  #refillIfLow(queue: QueueId): void {
    const overflow = this.#overflow.get(queue);
    if (!overflow || overflow.loading || this.#stopped || this.#merchantQueues.waiting(queue) > this.#window() / 2)
      return;
    this.#load(queue).catch((error: unknown) => {
      this.#deps.log.error({ err: error, queue }, 'the webhook backlog could not be read');
      this.#loadAgain(queue);
    });
  }

  #loadAgain(queue: QueueId): void {
    this.#deps.timers.at(this.#deps.timers.nowMs() + AGAIN_MS, () => this.#refillIfLow(queue));
  }

  /** Loads the next entries of a merchant from the backlog into memory, in log order. */
  async #load(queue: QueueId): Promise<void> {
    const overflow = this.#overflow.get(queue);
    if (!overflow) return;
    overflow.loading = true;
    this.#reads += 1;
    try {
      const until = overflow.lastSeq;
      if (!(await this.#deps.backlog.flush(this.#deps.handled()))) {
        this.#loadAgain(queue);
        return;
      }
      const limit = Math.max(1, this.#window() - this.#merchantQueues.waiting(queue));
      const entries = await this.#deps.backlog.of(queue, overflow.afterSeq, limit);
      for (const entry of entries) this.#takeUp(entry, true);
      overflow.afterSeq = entries.at(-1)?.seq ?? until;
      if (entries.length < limit) overflow.afterSeq = Math.max(overflow.afterSeq, until);
      if (overflow.afterSeq >= overflow.lastSeq) this.#overflow.delete(queue);
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

  #wakeAt(queue: QueueId, atMs: number): void {
    if (this.#wakeTimers.has(queue) || this.#stopped) return;
    const wake = (): void => {
      this.#wakeTimers.delete(queue);
      this.wake(queue);
    };
    this.#wakeTimers.set(queue, this.#deps.timers.at(atMs, wake));
  }
}
