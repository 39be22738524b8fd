import { expect } from 'vitest';
import type { DeliveryEvent } from '../../src/domain/events/delivery-events.ts';
import type { MerchantId, NotificationId } from '../../src/domain/values/ids.ts';
import { deliveryTable } from '../../src/features/shared/handlers/delivery-handler.ts';
import {
  decideDelivery,
  RETRY_SCHEDULE,
  type DeliveryCommand,
  type DeliveryState,
  type RecordAttempt,
} from '../../state-machines/webhook-delivery/delivery.decider.ts';

export const NOTIFICATION_ID = 'evt_1800000000000000000' as NotificationId;
export const STARTED_AT_MS = 1_800_000_000_000;

export const scheduled: DeliveryEvent = {
  type: 'DeliveryScheduled',
  data: {
    notificationId: NOTIFICATION_ID,
    merchantId: 'mer_aaaaaaaaaaaaaaaaaaaa' as MerchantId,
    mode: 'test',
    endpointId: 'we_1',
    eventType: 'payment.completed',
    sessionId: 'cs_1',
    body: '{}',
    scheduledAtMs: STARTED_AT_MS,
  },
};

let nonces = 0;

/** An attempt that took 100 ms and was answered with 200; anything can be replaced. */
export const attempt = (change: Partial<RecordAttempt> = {}): RecordAttempt => ({
  type: 'RecordAttempt',
  delivery: null,
  trigger: 'automatic',
  endpointId: 'we_1',
  nonce: `nonce-${++nonces}`,
  startedAtMs: STARTED_AT_MS,
  durationMs: 100,
  address: '203.0.113.7',
  status: 200,
  fault: null,
  detail: null,
  answerHash: null,
  answerIncomplete: false,
  retryAfterMs: 0,
  jitter: 0,
  durableRedelivery: false,
  schedule: RETRY_SCHEDULE,
  ...change,
});

/** A delivery after commands, each held to the machine. */
export class Delivery {
  state: DeliveryState = deliveryTable.initial;
  readonly history: DeliveryEvent[] = [];

  static scheduled(): Delivery {
    const delivery = new Delivery();
    delivery.take([scheduled]);
    return delivery;
  }

  take(events: readonly DeliveryEvent[]): void {
    this.state = deliveryTable.replay(events, this.state);
    this.history.push(...events);
  }

  /** Decides and moves on; gives the types of the events. */
  do(command: DeliveryCommand): string[] {
    const decision = decideDelivery(command, this.state);
    if (!decision.ok) throw new Error(`refused: ${decision.refusal.code}`);
    this.take(decision.events);
    const again = decideDelivery(command, this.state);
    expect(again.ok && again.events).toEqual([]);
    return decision.events.map((event) => event.type);
  }

  /** Milliseconds from the end of the last attempt to the next one. */
  get waitMs(): number | null {
    const { last, nextAttemptAtMs } = this.state.context;
    return last && nextAttemptAtMs !== null ? nextAttemptAtMs - last.startedAtMs - last.durationMs : null;
  }
}
