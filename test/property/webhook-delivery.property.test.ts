import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { transition, type AnyMachineSnapshot } from 'xstate';
import type { DeliveryEvent } from '../../src/domain/events/delivery-events.ts';
import { WEBHOOK_WORK_TABLE, webhookWork } from '../../projections/webhooks/work.projection.ts';
import { deliveryStream } from '../../src/domain/values/streams.ts';
import { projectBatch, type ReadEvent } from '../../src/runtime/projections/batch.ts';
import { RowCache } from '../../src/runtime/projections/row-cache.ts';
import { deliveryTable } from '../../src/features/shared/handlers/delivery-handler.ts';
import {
  decideDelivery,
  dueAttempt,
  RETRY_SCHEDULE,
  type DeliveryCommand,
  type DeliveryState,
} from '../../state-machines/webhook-delivery/delivery.decider.ts';
import { webhookDeliveryMachine } from '../../state-machines/webhook-delivery/delivery.machine.ts';
import { attempt, Delivery, NOTIFICATION_ID, scheduled, STARTED_AT_MS } from '../support/given-delivery.ts';
import { MemoryReadModel } from '../support/memory-read-model.ts';
import { runsOf } from '../support/runs.ts';

const answer = fc.oneof(
  fc.constantFrom(200, 204, 302, 404, 410, 429, 500, 503, 600).map((status) => ({ status, fault: null })),
  fc
    .constantFrom(
      'network' as const,
      'dns' as const,
      'tls' as const,
      'timeout' as const,
      'blocked' as const,
      'no_endpoint' as const,
    )
    .map((fault) => ({ status: null, fault })),
);

const drawn = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('due' as const),
      answer,
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
      retryAfterMs: fc.nat(200_000),
      durable: fc.boolean(),
      durationMs: fc.nat(30_000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('late' as const),
      answer,
      trigger: fc.constantFrom('automatic' as const, 'durable' as const, 'manual' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('request' as const), bulk: fc.boolean() }) },
);

/** Turns what was drawn into the command a process would give at that moment; null when it would do nothing. */
function commandFor(
  step: typeof drawn extends fc.Arbitrary<infer Step> ? Step : never,
  state: DeliveryState,
  nowMs: number,
): DeliveryCommand | null {
  if (step.kind === 'request') return { type: 'RequestRedelivery', by: 'm', requestedAtMs: nowMs, bulk: step.bulk };
  if (step.kind === 'late') return attempt({ ...step.answer, trigger: step.trigger, startedAtMs: nowMs });
  const due = dueAttempt(state);
  if (!due) return null;
  const { jitter, retryAfterMs, durable, durationMs } = step;
  return attempt({
    ...step.answer,
    trigger: due.trigger,
    startedAtMs: Math.max(nowMs, due.dueAtMs),
    jitter,
    retryAfterMs,
    durableRedelivery: durable,
    durationMs,
  });
}

const steps = fc.array(drawn, { maxLength: 40 });

const recordedAs = (event: DeliveryEvent, revision: number): ReadEvent => {
  const place = {
    stream: deliveryStream(NOTIFICATION_ID),
    revision,
    position: String(revision + 1),
    id: String(revision),
    version: 1,
    atMs: 0,
  };
  const stored = { ...place, metadata: { correlationId: '', actor: '', prev: '' }, hash: '', event };
  return { recorded: { ...place, type: event.type, data: '', metadata: '', hash: '' }, stored };
};

async function projected(readModel: MemoryReadModel, events: readonly ReadEvent[]): Promise<void> {
  const { changes, parked } = await projectBatch(webhookWork, events, { readModel, cache: new RowCache(10), nowMs: 0 });
  expect(parked).toEqual([]);
  await readModel.apply('work', changes, events.at(-1)!.recorded.position);
}

describe('the webhook delivery, over random histories', () => {
  it('never proposes an event that its machine refuses, and a repeated command adds nothing', () => {
    fc.assert(
      fc.property(steps, (list) => {
        const delivery = Delivery.scheduled();
        for (const step of list) {
          const command = commandFor(step, delivery.state, STARTED_AT_MS);
          if (command) delivery.do(command);
        }
      }),
      { numRuns: runsOf(300) },
    );
  });

  it('makes at most six automatic attempts in a run without durable redelivery', () => {
    fc.assert(
      fc.property(fc.array(answer, { minLength: 1, maxLength: 30 }), (answers) => {
        const delivery = Delivery.scheduled();
        let made = 0;
        for (const one of answers) {
          const due = dueAttempt(delivery.state);
          if (!due) break;
          made += 1;
          delivery.do(attempt({ ...one, trigger: due.trigger }));
        }
        expect(made).toBeLessThanOrEqual(6);
      }),
    );
  });

  it('never tries again sooner than the schedule says, nor more than a tenth or 60 s later', () => {
    fc.assert(
      fc.property(steps, (list) => {
        const delivery = Delivery.scheduled();
        for (const step of list) {
          const command = commandFor(step, delivery.state, STARTED_AT_MS);
          if (command?.type !== 'RecordAttempt') continue;
          const before = delivery.state;
          delivery.do(command);
          if (
            step.kind !== 'due' ||
            before.value === 'delivered' ||
            delivery.waitMs === null ||
            delivery.state.context.nextAttemptAtMs === before.context.nextAttemptAtMs
          )
            continue;
          const { quickRetriesUsed, durableAttempts } = delivery.state.context;
          const isQuick = delivery.state.value === 'pending';
          const base = isQuick
            ? RETRY_SCHEDULE.quickDelaysMs[quickRetriesUsed]!
            : RETRY_SCHEDULE.durableDelaysMs[Math.min(durableAttempts, 4)]!;
          expect(delivery.waitMs).toBeGreaterThanOrEqual(base);
          expect(delivery.waitMs).toBeLessThanOrEqual(Math.max(base * 1.1 + 1, 60_000));
        }
      }),
    );
  });

  it('is never settled while an attempt is due by the quick schedule, and never due forever', () => {
    fc.assert(
      fc.property(steps, (list) => {
        const delivery = Delivery.scheduled();
        for (const step of list) {
          const command = commandFor(step, delivery.state, STARTED_AT_MS);
          if (command) delivery.do(command);
          const due = dueAttempt(delivery.state);
          if (delivery.state.value === 'pending') expect(due).not.toBeNull();
          if (delivery.state.value === 'delivered' || delivery.state.value === 'blocked') expect(due).toBeNull();
        }
      }),
    );
  });

  it('is in the look-up of work exactly while an attempt is due, with the time of it', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (list) => {
        const delivery = Delivery.scheduled();
        const rows = new MemoryReadModel();
        let seen = 0;
        for (const step of [null, ...list]) {
          const command = step && commandFor(step, delivery.state, STARTED_AT_MS);
          if (command) delivery.do(command);
          const events = delivery.history.slice(seen).map((event, index) => recordedAs(event, seen + index));
          seen = delivery.history.length;
          if (events.length > 0) await projected(rows, events);
          const due = dueAttempt(delivery.state);
          const row = await rows.get(WEBHOOK_WORK_TABLE, NOTIFICATION_ID);
          expect([row !== null, (row?.redeliveryOwed === true ? null : row?.dueAtMs) ?? 0]).toEqual([
            due !== null,
            due?.dueAtMs ?? 0,
          ]);
        }
      }),
      { numRuns: runsOf(200) },
    );
  });

  it('has the same transitions in the compiled table as in XState', () => {
    fc.assert(
      fc.property(steps, fc.array(fc.nat(60), { maxLength: 5 }), (list, corruptions) => {
        const delivery = Delivery.scheduled();
        for (const step of list) {
          const command = commandFor(step, delivery.state, STARTED_AT_MS);
          if (command) delivery.do(command);
        }
        // Events out of place must be refused by both alike.
        const events: DeliveryEvent[] = [...delivery.history];
        for (const index of corruptions)
          events.splice(index % (events.length + 1), 0, events[index % events.length] ?? scheduled);
        let snapshot = webhookDeliveryMachine.resolveState({
          value: 'absent',
          context: webhookDeliveryMachine.config.context as never,
        }) as AnyMachineSnapshot;
        let state = deliveryTable.initial;
        for (const event of events) {
          expect(deliveryTable.can(state, event)).toBe(snapshot.can(event));
          const next = deliveryTable.next(state, event);
          if (!next) continue;
          [snapshot] = transition(webhookDeliveryMachine, snapshot as never, event) as [AnyMachineSnapshot, unknown];
          expect(next.value).toBe(snapshot.value);
          expect(next.context).toEqual(snapshot.context);
          state = next;
        }
      }),
      { numRuns: runsOf(60) },
    );
  });

  it('decides the same for the same state and command', () => {
    fc.assert(
      fc.property(steps, answer, (list, one) => {
        const delivery = Delivery.scheduled();
        for (const step of list) {
          const command = commandFor(step, delivery.state, STARTED_AT_MS);
          if (command) delivery.do(command);
        }
        const command = attempt(one);
        expect(decideDelivery(command, delivery.state)).toEqual(decideDelivery(command, delivery.state));
      }),
      { numRuns: runsOf(30) },
    );
  });
});
