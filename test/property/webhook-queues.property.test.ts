import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { QueueId } from '../../src/domain/notifications/delivery-ids.ts';
import type { NotificationId } from '../../src/domain/values/ids.ts';
import { MerchantQueues, type Job } from '../../src/features/webhooks/merchant-queues.ts';
import { runsOf } from '../support/runs.ts';

const limits = { inFlightPerMerchant: 3, inFlight: 5, unrecordedPerMerchant: 4, pacePerSec: 2 };

interface Drawn {
  readonly merchant: number;
  readonly session: number;
  readonly ordered: boolean;
  readonly paced: boolean;
}

const drawn = fc.record({ merchant: fc.nat(3), session: fc.nat(2), ordered: fc.boolean(), paced: fc.boolean() });
const step = fc.oneof(
  { weight: 3, arbitrary: drawn.map((job) => ({ kind: 'add' as const, job })) },
  { weight: 4, arbitrary: fc.constant({ kind: 'take' as const }) },
  { weight: 2, arbitrary: fc.nat().map((pick) => ({ kind: 'answer' as const, pick })) },
  { weight: 2, arbitrary: fc.nat().map((pick) => ({ kind: 'record' as const, pick })) },
  { weight: 1, arbitrary: fc.nat(3).map((merchant) => ({ kind: 'toggle' as const, merchant })) },
);

const merchantOf = (number: number): QueueId => `mer_${number}` as QueueId;

describe('the merchantQueues, over random work', () => {
  it('respect every bound and the order of each session, and lose nothing', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const closed = new Set<QueueId>();
        let nowMs = 0;
        const merchantQueues = new MerchantQueues(
          limits,
          (queue) => !closed.has(queue),
          () => undefined,
        );
        const added: Job[] = [];
        const taken: Job[] = [];
        const inFlight: Job[] = [];
        const unrecorded: Job[] = [];
        const wasOrdered = new Set<Job>();
        const take = (): Job | null => {
          const job = merchantQueues.take(nowMs);
          if (!job) return null;
          taken.push(job);
          inFlight.push(job);
          expect(closed.has(job.queue)).toBe(false);
          expect(inFlight.length).toBeLessThanOrEqual(limits.inFlight);
          expect(inFlight.filter((other) => other.queue === job.queue).length).toBeLessThanOrEqual(
            limits.inFlightPerMerchant,
          );
          const samePlace = inFlight.filter(
            (other) => wasOrdered.has(other) && other.queue === job.queue && other.sessionId === job.sessionId,
          );
          if (wasOrdered.has(job)) expect(samePlace).toEqual([job]);
          return job;
        };
        const answer = (index: number): void => {
          const [job] = inFlight.splice(index, 1);
          merchantQueues.answered(job!);
          unrecorded.push(job!);
        };
        const record = (index: number): void => merchantQueues.recorded(unrecorded.splice(index, 1)[0]!);
        for (const one of steps) {
          nowMs += 100;
          if (one.kind === 'add') {
            const { merchant, session, ordered, paced } = one.job satisfies Drawn;
            const job: Job = {
              id: `evt_${added.length}` as NotificationId,
              queue: merchantOf(merchant),
              sessionId: `cs_${session}`,
              seq: added.length,
              ordered,
              paced,
              state: null,
              row: { table: 't', key: 'k' },
              running: false,
              recheck: false,
            };
            if (ordered) wasOrdered.add(job);
            added.push(job);
            merchantQueues.add(job);
          } else if (one.kind === 'take') take();
          else if (one.kind === 'answer' && inFlight.length > 0) answer(one.pick % inFlight.length);
          else if (one.kind === 'record' && unrecorded.length > 0) record(one.pick % unrecorded.length);
          else if (one.kind === 'toggle' && !closed.delete(merchantOf(one.merchant)))
            closed.add(merchantOf(one.merchant));
        }
        // When everything is open and answered, all of it gets its turn.
        closed.clear();
        for (let idle = 0; idle < 50;) {
          nowMs += 1_000;
          for (const merchant of [0, 1, 2, 3]) merchantQueues.wake(merchantOf(merchant));
          idle = take() ? 0 : idle + 1;
          if (inFlight.length > 0) answer(0);
          if (unrecorded.length > 0) record(0);
        }
        expect(new Set(taken)).toEqual(new Set(added));
        expect(taken).toHaveLength(added.length);
        expect(merchantQueues.inFlight).toBe(0);
        // One session's ordered jobs that are paced alike go in the order they came.
        for (const one of added) {
          const same = added.filter(
            (other) =>
              wasOrdered.has(one) &&
              wasOrdered.has(other) &&
              other.queue === one.queue &&
              other.sessionId === one.sessionId,
          );
          const places = same.map((job) => taken.indexOf(job));
          expect(places).toEqual([...places].sort((a, b) => a - b));
        }
      }),
      { numRuns: runsOf(200) },
    );
  });

  it('let merchants take turns, however long their queues are', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 2, maxLength: 6 }), (sizes) => {
        const merchantQueues = new MerchantQueues(
          { ...limits, inFlight: 1, inFlightPerMerchant: 1 },
          () => true,
          () => undefined,
        );
        sizes.forEach((size, merchant) => {
          for (let index = 0; index < size; index++) {
            merchantQueues.add({
              id: `evt_${merchant}_${index}` as NotificationId,
              queue: merchantOf(merchant),
              sessionId: `cs_${index}`,
              seq: index,
              ordered: true,
              paced: false,
              state: null,
              row: { table: '', key: '' },
              running: false,
              recheck: false,
            });
          }
        });
        const order: QueueId[] = [];
        for (let job = merchantQueues.take(0); job; job = merchantQueues.take(0)) {
          order.push(job.queue);
          merchantQueues.answered(job);
          merchantQueues.recorded(job);
        }
        // In the first round everybody has a turn.
        expect(new Set(order.slice(0, sizes.length)).size).toBe(sizes.length);
        expect(order).toHaveLength(sizes.reduce((total, size) => total + size, 0));
      }),
    );
  });
});

describe('a bound of the merchantQueues', () => {
  const filled = (merchants: number, jobs: number): MerchantQueues => {
    const merchantQueues = new MerchantQueues(
      limits,
      () => true,
      () => undefined,
    );
    for (let seq = 0; seq < merchants * jobs; seq++) {
      merchantQueues.add({
        id: `evt_${seq}` as NotificationId,
        queue: merchantOf(seq % merchants),
        sessionId: `cs_${seq}`,
        seq,
        ordered: true,
        paced: false,
        state: null,
        row: { table: 't', key: 'k' },
        running: false,
        recheck: false,
      });
    }
    return merchantQueues;
  };

  it('holds over all merchants together, and a response makes room for one more', () => {
    const merchantQueues = filled(4, 3);
    const taken = Array.from({ length: limits.inFlight }, () => merchantQueues.take(0));
    expect(taken).not.toContain(null);
    expect(merchantQueues.take(0)).toBeNull();
    merchantQueues.answered(taken[0]!);
    expect(merchantQueues.take(0)).not.toBeNull();
    expect(merchantQueues.take(0)).toBeNull();
  });

  it('holds for outcomes that are not recorded yet: what a crash may repeat', () => {
    const merchantQueues = filled(1, 20);
    const answered: Job[] = [];
    for (let job = merchantQueues.take(0); job; job = merchantQueues.take(0)) {
      merchantQueues.answered(job);
      answered.push(job);
    }
    expect(answered.length).toBeGreaterThanOrEqual(limits.unrecordedPerMerchant);
    // What was on its way, or had its turn already, may still come on top.
    expect(answered.length).toBeLessThanOrEqual(limits.unrecordedPerMerchant + limits.inFlightPerMerchant);
    for (const job of answered) merchantQueues.recorded(job);
    expect(merchantQueues.take(0)).not.toBeNull();
  });
});
