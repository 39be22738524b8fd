import { beforeEach, expect, test, vi } from 'vitest';
import { deliveryStream } from '../../../../src/domain/values/streams.ts';
import { StoreUnavailable } from '../../../../src/ports/event-log/event-store.ts';
import {
  createDeliveryHandler,
  type DeliveryHandler,
} from '../../../../src/features/shared/handlers/delivery-handler.ts';
import { attempt, NOTIFICATION_ID, scheduled } from '../../../support/given-delivery.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';
import { handlerDeps } from '../../../support/handler-deps.ts';

/* What a handler keeps of a stream between two commands. */

const stream = deliveryStream(NOTIFICATION_ID);
const context = { correlationId: 'test', actor: 'test' };
const delivery = scheduled.type === 'DeliveryScheduled' ? scheduled.data : null;

let store: MemoryEventStore;
let handler: DeliveryHandler;

beforeEach(() => {
  store = new MemoryEventStore();
  handler = createDeliveryHandler(handlerDeps(store));
});

test('a delivery that is to be tried again is kept: the next attempt is recorded without reading its stream', async () => {
  await handler.execute(stream, attempt({ delivery, status: 500 }), context, { expectNew: true });
  const read = vi.spyOn(store, 'readStream');
  const second = await handler.execute(stream, attempt({ status: 500 }), context);
  expect(second).toMatchObject({ ok: true, state: { value: 'pending', context: { attempts: 2 } } });
  expect(read).not.toHaveBeenCalled();
});

test('a settled delivery is not kept in memory: a later request finds it in the log', async () => {
  await handler.execute(stream, attempt({ delivery }), context, { expectNew: true });
  const read = vi.spyOn(store, 'readStream');
  const asked = await handler.execute(
    stream,
    { type: 'RequestRedelivery', by: 'merchant', requestedAtMs: 1, bulk: false },
    context,
  );
  expect(asked).toMatchObject({
    ok: true,
    state: { value: 'pending', context: { attempts: 1, redeliveryOwed: true } },
  });
  expect(read).toHaveBeenCalledTimes(1);
});

test('nothing is cached of a stream whose last append may or may not have been stored', async () => {
  await handler.execute(stream, attempt({ delivery, status: 500 }), context, { expectNew: true });
  const recorded = attempt({ status: 500 });
  const append = store.append.bind(store);
  vi.spyOn(store, 'append').mockImplementationOnce(async (request) => {
    await append(request);
    throw new StoreUnavailable('the answer was lost');
  });
  await expect(handler.execute(stream, recorded, context)).rejects.toThrow(StoreUnavailable);
  expect(await handler.execute(stream, recorded, context)).toMatchObject({
    ok: true,
    events: [],
    state: { context: { attempts: 2 } },
  });
});

test('commands that wait for one another each see what the one before left, settled or not', async () => {
  const [first, second] = await Promise.all([
    handler.execute(stream, attempt({ delivery }), context, { expectNew: true }),
    handler.execute(stream, { type: 'RequestRedelivery', by: 'merchant', requestedAtMs: 1, bulk: false }, context),
  ]);
  expect(first).toMatchObject({ ok: true, state: { value: 'delivered' } });
  expect(second).toMatchObject({ ok: true, state: { value: 'pending', context: { redeliveryOwed: true } } });
});
