import { describe, expect, it } from 'vitest';
import {
  decideDelivery,
  dueAttempt,
  judge,
  readRetryAfterMs,
} from '../../../../state-machines/webhook-delivery/delivery.decider.ts';
import { deliveryTable } from '../../../../src/features/shared/handlers/delivery-handler.ts';
import { attempt, Delivery, NOTIFICATION_ID, scheduled, STARTED_AT_MS } from '../../../support/given-delivery.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe('the table of responses', () => {
  it.each([200, 201, 204, 206, 226, 299])('counts %i as delivered', (status) => {
    expect(judge({ status, fault: null })).toEqual({ course: 'delivered', failure: null });
  });
  it.each([
    [429, 'http_429'],
    [500, 'http_5xx'],
    [502, 'http_5xx'],
    [503, 'http_5xx'],
    [504, 'http_5xx'],
    [599, 'http_5xx'],
  ])('retries %i', (status, failure) => {
    expect(judge({ status, fault: null })).toEqual({ course: 'retry', failure });
  });
  it.each([400, 401, 403, 404, 408, 409, 425, 499])('rejects %i without a quick retry', (status) => {
    expect(judge({ status, fault: null })).toEqual({ course: 'reject', failure: 'http_4xx' });
  });
  it('rejects 410 as gone', () => {
    expect(judge({ status: 410, fault: null })).toEqual({ course: 'reject', failure: 'gone' });
  });
  it.each([300, 301, 302, 303, 304, 307, 308])('rejects the redirect %i', (status) => {
    expect(judge({ status, fault: null })).toEqual({ course: 'reject', failure: 'redirect' });
  });
  it.each([null, 0, 100, 101, 199, 600, 999])('retries the unusable status %s', (status) => {
    expect(judge({ status, fault: null })).toEqual({ course: 'retry', failure: 'invalid_response' });
  });
  it.each(['network', 'dns', 'tls', 'timeout', 'invalid_response'] as const)('retries after a %s fault', (fault) => {
    expect(judge({ status: null, fault })).toEqual({ course: 'retry', failure: fault });
  });
  it('blocks a forbidden address and rejects a missing endpoint', () => {
    expect(judge({ status: null, fault: 'blocked' })).toEqual({ course: 'block', failure: 'blocked' });
    expect(judge({ status: null, fault: 'no_endpoint' })).toEqual({ course: 'reject', failure: 'no_endpoint' });
  });
});

describe('the quick schedule', () => {
  it('tries again 1, 2, 4, 8 and 16 s after each failure and then is exhausted', () => {
    const delivery = Delivery.scheduled();
    const waits: (number | null)[] = [];
    for (let number = 1; number <= 5; number++) {
      expect(delivery.do(attempt({ status: 500 }))).toEqual(['DeliveryAttempted']);
      waits.push(delivery.waitMs);
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000]);
    expect(delivery.do(attempt({ status: 500 }))).toEqual(['DeliveryAttempted', 'DeliveryExhausted']);
    expect(delivery.state.value).toBe('exhausted');
    expect(dueAttempt(delivery.state)).toBeNull();
  });
  it('ends with the first success', () => {
    const delivery = Delivery.scheduled();
    delivery.do(attempt({ status: 503 }));
    expect(delivery.do(attempt())).toEqual(['DeliveryAttempted', 'DeliverySucceeded']);
    expect(delivery.state.value).toBe('delivered');
    expect(dueAttempt(delivery.state)).toBeNull();
  });
  it('counts the delay from the end of the failed attempt', () => {
    const delivery = Delivery.scheduled();
    delivery.do(attempt({ status: null, fault: 'timeout', durationMs: 30_000 }));
    expect(delivery.state.context.nextAttemptAtMs).toBe(STARTED_AT_MS + 30_000 + 1_000);
  });
  it('adds at most a tenth of jitter', () => {
    const delivery = Delivery.scheduled();
    delivery.do(attempt({ status: 500, jitter: 1 }));
    expect(delivery.waitMs).toBe(1_100);
    delivery.do(attempt({ status: 500, jitter: 99 }));
    expect(delivery.waitMs).toBe(2_200);
    delivery.do(attempt({ status: 500, jitter: -5 }));
    expect(delivery.waitMs).toBe(4_000);
  });
  it('lets Retry-After lengthen a delay to at most 60 s, and never shorten it', () => {
    const delivery = Delivery.scheduled();
    delivery.do(attempt({ status: 429, retryAfterMs: 5_000 }));
    expect(delivery.waitMs).toBe(5_000);
    delivery.do(attempt({ status: 503, retryAfterMs: 3_600_000 }));
    expect(delivery.waitMs).toBe(60_000);
    delivery.do(attempt({ status: 503, retryAfterMs: 1 }));
    expect(delivery.waitMs).toBe(4_000);
  });
  it.each([
    ['a client error', { status: 404 }],
    ['a redirect', { status: 302 }],
    ['a missing endpoint', { status: null, fault: 'no_endpoint' as const }],
  ])('is not used after %s', (_, answer) => {
    const delivery = Delivery.scheduled();
    expect(delivery.do(attempt(answer))).toEqual(['DeliveryAttempted', 'DeliveryRejected']);
    expect(dueAttempt(delivery.state)).toBeNull();
  });
  it('is not used after a forbidden address', () => {
    const delivery = Delivery.scheduled();
    expect(delivery.do(attempt({ status: null, fault: 'blocked' }))).toEqual(['DeliveryAttempted', 'DeliveryBlocked']);
    expect(dueAttempt(delivery.state)).toBeNull();
  });
});

describe('durable redelivery', () => {
  const failing = { status: 500, durableRedelivery: true } as const;

  it('follows the quick retries after 5 min, 30 min, 2 h, 5 h and every 10 h, up to 72 h', () => {
    const delivery = Delivery.scheduled();
    let nowMs = STARTED_AT_MS;
    for (let number = 1; number <= 5; number++) {
      delivery.do(attempt({ ...failing, startedAtMs: nowMs }));
      nowMs = delivery.state.context.nextAttemptAtMs!;
    }
    expect(delivery.do(attempt({ ...failing, startedAtMs: nowMs }))).toEqual([
      'DeliveryAttempted',
      'DeliveryExhausted',
    ]);
    const waits: number[] = [];
    while (delivery.waitMs !== null) {
      waits.push(delivery.waitMs);
      expect(dueAttempt(delivery.state)?.trigger).toBe('durable');
      nowMs = delivery.state.context.nextAttemptAtMs!;
      expect(delivery.do(attempt({ ...failing, trigger: 'durable', startedAtMs: nowMs }))).toEqual([
        'DeliveryAttempted',
      ]);
    }
    expect(waits.slice(0, 6)).toEqual([5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR]);
    expect(nowMs - STARTED_AT_MS).toBeLessThanOrEqual(72 * HOUR);
    expect(nowMs - STARTED_AT_MS).toBeGreaterThan(60 * HOUR);
    expect(delivery.state.value).toBe('exhausted');
  });
  it('retries after a client error too, but never for a forbidden address or a missing endpoint', () => {
    const rejected = Delivery.scheduled();
    rejected.do(attempt({ status: 404, durableRedelivery: true }));
    expect(rejected.waitMs).toBe(5 * MINUTE);
    const blocked = Delivery.scheduled();
    blocked.do(attempt({ status: null, fault: 'blocked', durableRedelivery: true }));
    expect(blocked.waitMs).toBeNull();
    const nowhere = Delivery.scheduled();
    nowhere.do(attempt({ status: null, fault: 'no_endpoint', durableRedelivery: true }));
    expect(nowhere.waitMs).toBeNull();
  });
  it('delivers an exhausted delivery', () => {
    const delivery = Delivery.scheduled();
    for (let number = 1; number <= 6; number++) delivery.do(attempt(failing));
    expect(delivery.do(attempt({ trigger: 'durable' }))).toEqual(['DeliveryAttempted', 'DeliverySucceeded']);
    expect(delivery.state.value).toBe('delivered');
  });
  it('stops for good at a forbidden address', () => {
    const delivery = Delivery.scheduled();
    delivery.do(attempt({ status: 404, durableRedelivery: true }));
    expect(
      delivery.do(attempt({ trigger: 'durable', status: null, fault: 'blocked', durableRedelivery: true })),
    ).toEqual(['DeliveryAttempted', 'DeliveryBlocked']);
    expect(dueAttempt(delivery.state)).toBeNull();
  });
  it('happens only where it is switched on', () => {
    const delivery = Delivery.scheduled();
    for (let number = 1; number <= 6; number++) delivery.do(attempt({ status: 500 }));
    expect(delivery.waitMs).toBeNull();
  });
});

describe('a requested redelivery', () => {
  const request = { type: 'RequestRedelivery', by: 'merchant', requestedAtMs: STARTED_AT_MS + 1, bulk: false } as const;

  it('starts a new run with quick retries of its own', () => {
    const delivery = Delivery.scheduled();
    delivery.do(attempt({ status: 404 }));
    expect(delivery.do(request)).toEqual(['RedeliveryRequested']);
    expect(dueAttempt(delivery.state)).toMatchObject({ trigger: 'manual' });
    delivery.do(attempt({ status: 500, trigger: 'manual' }));
    expect(delivery.waitMs).toBe(1_000);
    expect(dueAttempt(delivery.state)?.trigger).toBe('automatic');
    for (let number = 1; number <= 4; number++) delivery.do(attempt({ status: 500 }));
    expect(delivery.do(attempt({ status: 500 }))).toEqual(['DeliveryAttempted', 'DeliveryExhausted']);
  });
  it('is one attempt however often it is requested meanwhile', () => {
    const delivery = Delivery.scheduled();
    delivery.do(attempt());
    expect(delivery.do(request)).toEqual(['RedeliveryRequested']);
    expect(delivery.do({ ...request, by: 'someone else' })).toEqual([]);
    delivery.do(attempt({ trigger: 'manual' }));
    expect(dueAttempt(delivery.state)).toBeNull();
  });
  it('is satisfied by an attempt that was already in flight and succeeded', () => {
    const delivery = Delivery.scheduled();
    delivery.do(request);
    delivery.do(attempt());
    expect(dueAttempt(delivery.state)).toBeNull();
  });
  it('is still owed after an attempt that was already on its way and failed', () => {
    const delivery = Delivery.scheduled();
    delivery.do(request);
    delivery.do(attempt({ status: 404 }));
    expect(dueAttempt(delivery.state)).toMatchObject({ trigger: 'manual' });
  });
  it('is refused for a delivery that does not exist', () => {
    expect(decideDelivery(request, deliveryTable.initial)).toMatchObject({ ok: false, refusal: { code: 'not_found' } });
  });
});

describe('recording', () => {
  it('adds nothing when the same attempt is recorded again', () => {
    const delivery = Delivery.scheduled();
    const command = attempt({ status: 500 });
    delivery.do(command);
    expect(decideDelivery(command, delivery.state)).toEqual({ ok: true, events: [] });
  });
  it('records a late attempt of another node without changing the outcome', () => {
    const delivery = Delivery.scheduled();
    delivery.do(attempt());
    expect(delivery.do(attempt({ status: 500 }))).toEqual(['DeliveryAttempted']);
    expect(delivery.state.value).toBe('delivered');
    expect(dueAttempt(delivery.state)).toBeNull();
  });
  it('numbers attempts without a gap over all runs', () => {
    const delivery = Delivery.scheduled();
    delivery.do(attempt({ status: 500 }));
    delivery.do(attempt({ status: 404 }));
    delivery.do({ type: 'RequestRedelivery', by: 'merchant', requestedAtMs: 1, bulk: true });
    delivery.do(attempt({ trigger: 'manual' }));
    const numbers = delivery.history.flatMap((event) =>
      event.type === 'DeliveryAttempted' ? [event.data.attempt] : [],
    );
    expect(numbers).toEqual([1, 2, 3]);
  });
  it('schedules a notification once', () => {
    const delivery = new Delivery();
    const command = {
      type: 'ScheduleDelivery',
      delivery: (scheduled as Extract<typeof scheduled, { type: 'DeliveryScheduled' }>).data,
    } as const;
    expect(delivery.do(command)).toEqual(['DeliveryScheduled']);
    expect(delivery.state.context.scheduled?.notificationId).toBe(NOTIFICATION_ID);
  });
});

describe('Retry-After', () => {
  const nowMs = Date.parse('Fri, 20 Nov 2026 17:00:00 GMT');
  it.each([
    ['5', 5_000],
    ['0', 0],
    ['1000000000', 1_000_000_000_000],
    ['99999999999', 99_999_999_999_000],
    ['Fri, 20 Nov 2026 17:00:30 GMT', 30_000],
    ['Friday, 20-Nov-26 17:00:30 GMT', 30_000],
    ['Fri Nov 20 17:00:30 2026', 30_000],
    ['Sun Dec  6 17:00:00 2026', 16 * 86_400_000],
    ['Fri, 20 Nov 2026 16:00:00 GMT', 0],
  ])('reads %s', (header, expected) => {
    expect(readRetryAfterMs(header, nowMs)).toBe(expected);
  });
  it.each([
    '-1',
    '1e9',
    '',
    ' ',
    'soon',
    '5.5',
    '0x10',
    '2026-11-20',
    'Fri, 99 Nov 2026 17:00:30 GMT',
    '20 Nov 2026 17:00:30',
    null,
  ])('ignores %s', (header) => {
    expect(readRetryAfterMs(header, nowMs)).toBe(0);
  });
});
