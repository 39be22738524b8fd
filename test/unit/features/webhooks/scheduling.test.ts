import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import type { MerchantId, NotificationId } from '../../../../src/domain/values/ids.ts';
import { silentLog } from '../../../../src/ports/log.ts';
import type { PendingNotification } from '../../../../src/features/webhooks/pending-notification.ts';
import { Scheduling } from '../../../../src/features/webhooks/scheduling.ts';
import { deliveryTable, type DeliveryHandler } from '../../../../src/features/shared/handlers/delivery-handler.ts';
import {
  RETRY_SCHEDULE,
  type DeliveryCommand,
  type RecordAttempt,
} from '../../../../state-machines/webhook-delivery/delivery.decider.ts';
import { VirtualTimers } from '../../../support/virtual-timers.ts';

let timers: VirtualTimers;
/** What the store was asked to write, by kind. */
let written: DeliveryCommand['type'][];
/** Lets the store answer. */
let store: { answer: () => void; isBehind: boolean };
let isStopping: boolean;
let scheduling: Scheduling;
let position: number;

beforeEach(() => {
  timers = new VirtualTimers();
  written = [];
  isStopping = false;
  position = 0;
  const waiting: (() => void)[] = [];
  store = { answer: () => waiting.splice(0).forEach((go) => go()), isBehind: false };
  const execute = async (_stream: string, command: DeliveryCommand): Promise<unknown> => {
    written.push(command.type);
    if (store.isBehind) await new Promise<void>((resolve) => waiting.push(resolve));
    return { ok: true, state: deliveryTable.initial, events: [] };
  };
  scheduling = new Scheduling(
    {
      handler: { execute } as unknown as DeliveryHandler,
      timers,
      log: silentLog,
      isStopping: () => isStopping,
      isPrompt: () => true,
      admit: () => undefined,
      onMoved: () => undefined,
    },
    null,
  );
});

const idOf = (number: number): NotificationId => `evt_${number}` as NotificationId;

/** Tells of events `from` to `from + count`, each of a session of its own; resolves when there is room for more. */
function tell(from: number, count: number): { isOver: boolean } {
  const notifications = Array.from({ length: count }, (_, index): PendingNotification => {
    const notificationId = idOf(from + index);
    const delivery = {
      notificationId,
      merchantId: 'mer_1' as MerchantId,
      mode: 'test',
      endpointId: 'we_1',
      eventType: 'payment.completed',
    } as const;
    return {
      delivery: { ...delivery, sessionId: `cs_${from + index}`, body: '{}', scheduledAtMs: 1 },
      context: { correlationId: 'c', actor: 'a' },
    };
  });
  const room = { isOver: false };
  void scheduling.tell(notifications, String((position += count))).then(() => (room.isOver = true));
  return room;
}

function answered(number: number): Promise<unknown> {
  const attempt = { type: 'RecordAttempt', nonce: `n${number}`, schedule: RETRY_SCHEDULE } as RecordAttempt;
  return scheduling.record(idOf(number), attempt);
}

const wait = (ms: number): Promise<void> => timers.pass(ms, () => true);

describe('new events, when 128 of them are being recorded as notifications', () => {
  it('wait only a moment for endpoints that do not respond, and are then recorded first', async () => {
    const room = tell(0, 128);
    await wait(99);
    expect(room.isOver).toBe(false);
    await wait(2);
    expect(room.isOver).toBe(true);
    expect(written).toEqual([]);
    tell(128, 1);
    expect(written).toEqual(['ScheduleDelivery']);
  });

  it('wait for a store that is behind, without further writes meanwhile', async () => {
    store.isBehind = true;
    const room = tell(0, 128);
    const records = Array.from({ length: 128 }, (_, number) => answered(number));
    await nextTurn();
    for (let waited = 0; waited < 10; waited++) await wait(101);
    expect(room.isOver).toBe(false);
    expect(new Set(written)).toEqual(new Set(['RecordAttempt']));
    expect(written).toHaveLength(128);
    store.answer();
    await Promise.all(records);
    await nextTurn();
    expect(room.isOver).toBe(true);
    expect(scheduling.handled).toBe('128');
    tell(128, 1);
    expect(written).toHaveLength(128);
  });

  it('stop waiting when the process has to end', async () => {
    store.isBehind = true;
    const room = tell(0, 128);
    for (let number = 0; number < 128; number++) void answered(number);
    isStopping = true;
    await wait(101);
    expect(room.isOver).toBe(true);
  });
});

describe('new events, when too many are unsettled', () => {
  it('wait for the store, but not when the process has to end', async () => {
    store.isBehind = true;
    tell(0, 128);
    await wait(101);
    const room = tell(128, 2_000);
    await wait(1_000);
    expect(room.isOver).toBe(false);
    isStopping = true;
    await wait(101);
    expect(room.isOver).toBe(true);
  });
});

describe('a schedule', () => {
  it('is recorded alone 300 ms after its event, unless the response comes first', async () => {
    tell(0, 1);
    await wait(200);
    tell(1, 2);
    await answered(1);
    await wait(101);
    expect(written).toEqual(['RecordAttempt', 'ScheduleDelivery']);
    await wait(100);
    expect(written).toEqual(['RecordAttempt', 'ScheduleDelivery']);
    await wait(101);
    expect(written).toEqual(['RecordAttempt', 'ScheduleDelivery', 'ScheduleDelivery']);
    expect(scheduling.unsettled).toBe(0);
  });
});
