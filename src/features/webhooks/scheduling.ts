import type { NotificationId } from '../../domain/ids.ts';
import { deliveryStream } from '../../domain/streams.ts';
import type { Position } from '../../ports/event-store.ts';
import type { Log } from '../../ports/log.ts';
import type { Timers } from '../../ports/timers.ts';
import { deliveryTable, type DeliveryHandler } from '../shared/handlers/delivery-handler.ts';
import type {
  DeliveryState,
  RecordAttempt,
  ScheduleDelivery,
} from '../../../state-machines/webhook-delivery/delivery.decider.ts';
import { insistently } from './attempts.ts';
import type { PendingNotification } from './pending-notification.ts';
import { Settlements, type Batch } from './settlements.ts';

/** A notification that is being told and is not in the log yet. */
interface Unsettled extends PendingNotification {
  readonly batch: Batch;
  /** What was told before of the same session goes into the log first; null when there is nothing. */
  readonly before: Promise<void> | null;
  /** Called when it is in the log. */
  readonly followers: (() => void)[];
  /** When its schedule goes into the log without an outcome; infinite once that is under way. */
  writeDownAtMs: number;
  /** Its outcome is on its way into the log. */
  isAnswered: boolean;
}

export interface SchedulingDeps {
  readonly handler: DeliveryHandler;
  readonly timers: Timers;
  readonly log: Log;
  readonly isStopping: () => boolean;
  /** Whether an attempt would begin at once or soon. */
  readonly isPrompt: (notification: PendingNotification) => boolean;
  /** Hands a delivery over for its attempts. */
  readonly admit: (notifications: PendingNotification, state: DeliveryState) => void;
  readonly onMoved: () => void;
}

/** A first attempt that is answered within this time is recorded together with its schedule, in one append. */
const WRITE_DOWN_AFTER_MS = 300;
/**
 * First attempts that wait for their schedule and outcome to be written together; few, since all of it is held in
 * memory.
 */
const MAX_PROMPT = 128;
/** How long new events wait for a place among those, before it is asked whether endpoints are what they wait for. */
const PATIENCE_MS = 100;
/**
 * So many of them without an answer hold up the others. Where it is the store that is behind, writing more would not
 * help.
 */
const MANY_UNANSWERED = MAX_PROMPT / 2;
/** The store is behind: no new events until it has caught up. */
const MAX_UNSETTLED = 2_000;

/**
 * Brings notifications into the log. An event that was in the log before this process may have been told already, so its
 * `DeliveryScheduled` (expecting no stream) goes first. A new one is attempted at once: when the answer comes soon,
 * schedule and outcome are one append; else the schedule is written alone. Until then the checkpoint stays before the
 * event.
 */
export class Scheduling {
  readonly #deps: SchedulingDeps;
  readonly #settlements: Settlements;
  readonly #unsettled = new Map<NotificationId, Unsettled>();
  readonly #lastOfSession = new Map<string, Unsettled>();
  #isWatching = false;
  /** Of those that are not in the log, how many were answered. */
  #answered = 0;
  /**
   * Endpoints answer slowly: waiting for them would hold up new events, so these are recorded ahead of their
   * attempts.
   */
  #isSlow = false;

  constructor(deps: SchedulingDeps, handled: Position | null) {
    this.#deps = deps;
    this.#settlements = new Settlements(handled, deps.onMoved);
  }

  /** Position up to which everything is in the log that follows from it. */
  get handled(): Position | null {
    return this.#settlements.position;
  }

  get unsettled(): number {
    return this.#settlements.unsettled;
  }

  /** Events that may have been told before: recorded first, those of one session one after another. */
  async catchUp(notifications: readonly PendingNotification[], position: Position): Promise<void> {
    const bySession = Map.groupBy(notifications, ({ delivery }) => delivery.sessionId);
    const inOrder = async (ofSession: readonly PendingNotification[]): Promise<void> => {
      for (const one of ofSession) await this.retell(one);
    };
    await Promise.all([...bySession.values()].map(inOrder));
    this.#settlements.begin(position, 0);
  }

  /**
   * Schedules what may have been scheduled before. What was, but was never attempted, is handed over too: its schedule
   * comes later in the log, by when later events of its session may have been attempted.
   */
  async retell(notifications: PendingNotification): Promise<void> {
    const result = await this.#schedule(notifications);
    if (result.ok && (result.events.length > 0 || isUnattempted(result.state)))
      this.#deps.admit(notifications, result.state);
  }

  /** New events. Resolves when there is room for more. */
  async tell(notifications: readonly PendingNotification[], position: Position): Promise<void> {
    const isRoomy = this.#settlements.unsettled < MAX_PROMPT;
    const batch = this.#settlements.begin(position, notifications.length);
    const { timers, isPrompt, admit } = this.#deps;
    const writeDownAtMs = timers.nowMs() + WRITE_DOWN_AFTER_MS;
    const tardy: Unsettled[] = [];
    for (const one of notifications) {
      const isTardy = !isRoomy || !isPrompt(one);
      const entry = this.#open(one, batch, isTardy ? Infinity : writeDownAtMs);
      if (isTardy) tardy.push(entry);
      admit(one, scheduledState(one));
    }
    if (tardy.length < notifications.length) this.#watch(writeDownAtMs);
    // An endpoint that is behind must not make the events of others wait for it.
    if (tardy.length > 0) void this.#writeDown(tardy);
    await this.#room();
  }

  /**
   * One timer that holds no notification: most are settled long before it, and what is held for longer than a moment is
   * dear to collect.
   */
  #watch(untilMs: number): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    this.#deps.timers.at(untilMs, () => {
      this.#isWatching = false;
      this.#writeDownLate();
    });
  }

  #writeDownLate(): void {
    const nowMs = this.#deps.timers.nowMs();
    const late: Unsettled[] = [];
    let nextMs = Infinity;
    for (const entry of this.#unsettled.values()) {
      if (entry.writeDownAtMs > nowMs) {
        nextMs = Math.min(nextMs, entry.writeDownAtMs);
      } else if (!entry.isAnswered) {
        entry.writeDownAtMs = Infinity;
        late.push(entry);
      }
    }
    if (late.length > 0) void this.#writeDown(late);
    if (nextMs < Infinity) this.#watch(nextMs);
  }

  async #room(): Promise<void> {
    if (this.#settlements.unsettled < MAX_PROMPT) {
      this.#isSlow = false;
      return;
    }
    const isRoomAgain = this.#settlements.below(MAX_PROMPT).then(() => true as const);
    while (!this.#isSlow && !this.#deps.isStopping() && !(await this.#soon(isRoomAgain))) {
      this.#isSlow = this.#settlements.unsettled - this.#answered >= MANY_UNANSWERED;
    }
    if (this.#settlements.unsettled < MAX_UNSETTLED) return;
    const hasCaughtUp = this.#settlements.below(MAX_UNSETTLED).then(() => true as const);
    // What the store does not take is left to the next start: nobody may wait for it any more when the process is to
    // end.
    while (!this.#deps.isStopping() && !(await this.#soon(hasCaughtUp)));
  }

  /** False when it takes longer than new events have patience. */
  async #soon(isRoomAgain: Promise<true>): Promise<boolean> {
    const { timers } = this.#deps;
    let cancel = (): void => {};
    const patience = new Promise<false>(
      (resolve) => (cancel = timers.at(timers.nowMs() + PATIENCE_MS, () => resolve(false))),
    );
    const isSoon = await Promise.race([isRoomAgain, patience]);
    cancel();
    return isSoon;
  }

  /** How an unsettled delivery stands; null for any other, which the log knows. */
  stateOf(id: NotificationId): DeliveryState | null {
    const entry = this.#unsettled.get(id);
    return entry ? scheduledState(entry) : null;
  }

  /** Records an attempt, together with its schedule when that is not in the log yet. */
  async record(id: NotificationId, command: RecordAttempt): Promise<DeliveryState> {
    const entry = this.#unsettled.get(id);
    if (entry && !entry.isAnswered) {
      entry.isAnswered = true;
      this.#answered += 1;
    }
    if (entry && entry.before !== null) await entry.before;
    const context = entry?.context ?? { correlationId: id, actor: 'process:deliver-webhooks' };
    const stream = deliveryStream(id);
    const expectNew = entry !== undefined;
    const { state } = await insistently(this.#deps, () =>
      this.#deps.handler.execute(stream, command, context, { expectNew }),
    );
    if (entry) this.#settle(entry);
    return state;
  }

  #open(notifications: PendingNotification, batch: Batch, writeDownAtMs: number): Unsettled {
    const { sessionId, notificationId } = notifications.delivery;
    const last = this.#lastOfSession.get(sessionId);
    const before = last ? new Promise<void>((resolve) => last.followers.push(resolve)) : null;
    const entry: Unsettled = { ...notifications, batch, before, followers: [], writeDownAtMs, isAnswered: false };
    this.#lastOfSession.set(sessionId, entry);
    this.#unsettled.set(notificationId, entry);
    return entry;
  }

  #settle(entry: Unsettled): void {
    const { sessionId, notificationId } = entry.delivery;
    if (!this.#unsettled.delete(notificationId)) return;
    if (entry.isAnswered) this.#answered -= 1;
    if (this.#lastOfSession.get(sessionId) === entry) this.#lastOfSession.delete(sessionId);
    this.#settlements.settle(entry.batch);
    for (const follow of entry.followers) follow();
  }

  /** The answer takes its time: the schedule goes into the log without it. */
  async #writeDown(entries: readonly Unsettled[]): Promise<void> {
    const late = entries.filter((entry) => this.#unsettled.get(entry.delivery.notificationId) === entry);
    const writeOne = async (entry: Unsettled): Promise<void> => {
      if (entry.before !== null) await entry.before;
      await insistently(this.#deps, () => this.#schedule(entry));
      this.#settle(entry);
    };
    const results = await Promise.allSettled(late.map(writeOne));
    for (const result of results) {
      if (result.status === 'rejected' && !this.#deps.isStopping())
        this.#deps.log.error({ err: result.reason as unknown }, 'a webhook delivery could not be scheduled');
    }
  }

  #schedule({ delivery, context }: PendingNotification): ReturnType<DeliveryHandler['execute']> {
    const command: ScheduleDelivery = { type: 'ScheduleDelivery', delivery };
    return this.#deps.handler.execute(deliveryStream(delivery.notificationId), command, context, { expectNew: true });
  }
}

function scheduledState({ delivery }: PendingNotification): DeliveryState {
  return deliveryTable.replay([{ type: 'DeliveryScheduled', data: delivery }]);
}

const isUnattempted = ({ value, context }: DeliveryState): boolean => value === 'pending' && context.attempts === 0;
