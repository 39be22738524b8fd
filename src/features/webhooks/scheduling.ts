import type { NotificationId } from '../../domain/values/ids.ts';
import { deliveryStream } from '../../domain/values/streams.ts';
import type { Position } from '../../ports/event-log/event-store.ts';
import type { Log } from '../../ports/log.ts';
import type { Timers } from '../../ports/timers.ts';
import { withLogContext } from '../../runtime/util/log-context.ts';
import { deliveryTable, type DeliveryHandler } from '../shared/handlers/delivery-handler.ts';
import type {
  DeliveryState,
  RecordAttempt,
  ScheduleDelivery,
} from '../../../state-machines/webhook-delivery/delivery.decider.ts';
import { insistently } from './attempts.ts';
import type { PendingNotification } from './pending-notification.ts';
import { Settlements, type Batch } from './settlements.ts';

/** A notification that is being sent and is not in the event log yet. */
interface Unsettled extends PendingNotification {
  readonly batch: Batch;
  /** Earlier notifications of the session are recorded first; null if there are none. */
  readonly before: Promise<void> | null;
  /** Called once it is recorded. */
  readonly followers: (() => void)[];
  /** When its schedule is recorded without an outcome; infinite once that is in progress. */
  writeDownAtMs: number;
  /** Its outcome is being recorded. */
  isAnswered: boolean;
}

export interface SchedulingDeps {
  readonly handler: DeliveryHandler;
  readonly timers: Timers;
  readonly log: Log;
  readonly isStopping: () => boolean;
  /** Whether an attempt would begin at once or soon. */
  readonly isPrompt: (notification: PendingNotification) => boolean;
  /** Starts the attempts of a delivery. */
  readonly admit: (notifications: PendingNotification, state: DeliveryState) => void;
  readonly onMoved: () => void;
}

/** A first attempt answered within this time is recorded together with its schedule, in one append. */
const WRITE_DOWN_AFTER_MS = 300;
/** First attempts that wait to be recorded together with their schedule. Few, because they are held in memory. */
const MAX_PROMPT = 128;
/** How long new events wait for a place among those before slow endpoints are considered as the cause. */
const PATIENCE_MS = 100;
/**
 * From this many unanswered attempts on, endpoints are the cause. If the store is behind, writing more would not help.
 */
const MANY_UNANSWERED = MAX_PROMPT / 2;
/** The store is behind: no new events until it has caught up. */
const MAX_UNSETTLED = 2_000;

/**
 * Records notifications in the event log. An event older than this process may have been sent already, so its
 * `DeliveryScheduled` (expecting no stream) is recorded first. A new one is attempted at once: if the answer comes
 * soon, schedule and outcome are one append; otherwise the schedule is recorded alone. Until then the checkpoint stays
 * before the event.
 */
export class Scheduling {
  readonly #deps: SchedulingDeps;
  readonly #settlements: Settlements;
  readonly #unsettled = new Map<NotificationId, Unsettled>();
  readonly #lastOfSession = new Map<string, Unsettled>();
  #isWatching = false;
  /** Number of answered attempts that are not recorded yet. */
  #answered = 0;
  /** Endpoints answer slowly. Waiting for them would delay new events, so these are recorded before their attempts. */
  #isSlow = false;

  constructor(deps: SchedulingDeps, handled: Position | null) {
    this.#deps = deps;
    this.#settlements = new Settlements(handled, deps.onMoved);
  }

  /** Position up to which all consequences of the event log are recorded. */
  get handled(): Position | null {
    return this.#settlements.position;
  }

  get unsettled(): number {
    return this.#settlements.unsettled;
  }

  /** Handles events that may have been sent before: records them first, in order within a session. */
  async catchUp(notifications: readonly PendingNotification[], position: Position): Promise<void> {
    const bySession = Map.groupBy(notifications, ({ delivery }) => delivery.sessionId);
    const inOrder = async (ofSession: readonly PendingNotification[]): Promise<void> => {
      for (const one of ofSession) await this.retell(one);
    };
    await Promise.all([...bySession.values()].map(inOrder));
    this.#settlements.begin(position, 0);
  }

  /**
   * Schedules what may have been scheduled before. A schedule without an attempt is handed over too: it comes later in
   * the event log, when later events of its session may already have been attempted.
   */
  async retell(notifications: PendingNotification): Promise<void> {
    const result = await this.#schedule(notifications);
    if (result.ok && (result.events.length > 0 || isUnattempted(result.state)))
      this.#deps.admit(notifications, result.state);
  }

  /** Handles new events. Resolves when there is room for more. */
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
    // A slow endpoint must not delay the events of others.
    if (tardy.length > 0) void this.#writeDown(tardy);
    await this.#room();
  }

  /**
   * One shared timer that references no notification: most are settled long before it fires, and long-lived references
   * are costly to collect.
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
    // What the store does not accept is left to the next start: nothing may wait for it during a shutdown.
    while (!this.#deps.isStopping() && !(await this.#soon(hasCaughtUp)));
  }

  /** False if it takes longer than new events wait. */
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

  /** The state of an unsettled delivery; null for any other, which is in the event log. */
  stateOf(id: NotificationId): DeliveryState | null {
    const entry = this.#unsettled.get(id);
    return entry ? scheduledState(entry) : null;
  }

  /** Records an attempt, together with its schedule if that is not recorded yet. */
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

  /** The answer takes long: records the schedule without it. */
  async #writeDown(entries: readonly Unsettled[]): Promise<void> {
    const late = entries.filter((entry) => this.#unsettled.get(entry.delivery.notificationId) === entry);
    const writeOne = async (entry: Unsettled): Promise<void> => {
      if (entry.before !== null) await entry.before;
      try {
        await insistently(this.#deps, () => this.#schedule(entry));
        this.#settle(entry);
      } catch (error) {
        const { sessionId: session, notificationId: notification } = entry.delivery;
        if (!this.#deps.isStopping())
          this.#deps.log.error({ err: error, session, notification }, 'a webhook delivery could not be scheduled');
      }
    };
    await Promise.all(late.map(writeOne));
  }

  #schedule({ delivery, context }: PendingNotification): ReturnType<DeliveryHandler['execute']> {
    const command: ScheduleDelivery = { type: 'ScheduleDelivery', delivery };
    const { sessionId: session, notificationId: notification } = delivery;
    return withLogContext({ session, notification }, () =>
      this.#deps.handler.execute(deliveryStream(notification), command, context, { expectNew: true }),
    );
  }
}

function scheduledState({ delivery }: PendingNotification): DeliveryState {
  return deliveryTable.replay([{ type: 'DeliveryScheduled', data: delivery }]);
}

const isUnattempted = ({ value, context }: DeliveryState): boolean => value === 'pending' && context.attempts === 0;
