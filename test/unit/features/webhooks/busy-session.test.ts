import { expect, it } from 'vitest';
import type { NotificationId } from '../../../../src/domain/values/ids.ts';
import type { SessionEvent } from '../../../../src/domain/events/session-events.ts';
import type { WebhookType } from '../../../../src/domain/notifications/types.ts';
import { NotificationReader } from '../../../../src/features/webhooks/notifications.ts';
import type { EndpointDirectory } from '../../../../src/ports/webhooks/endpoint-directory.ts';
import { encodeEvent } from '../../../../src/runtime/commands/codec.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';
import { createdFacts, depositConfirmed, depositDetected, depositFacts } from '../../../support/session-facts.ts';
import { VirtualTimers } from '../../../support/virtual-timers.ts';

class CountingStore extends MemoryEventStore {
  read = 0;
  override async readStream(...given: Parameters<MemoryEventStore['readStream']>) {
    const events = await super.readStream(...given);
    this.read += events.length;
    return events;
  }
}

const directory: EndpointDirectory = {
  endpointOf: () => null,
  subscriptionsOf: () => [
    { furtherEndpointId: null, types: new Set<WebhookType>(['payment.partially_paid']), fields: ['received'] },
  ],
  suspend: () => Promise.resolve(),
  onChange: () => () => undefined,
};

it('reads every event of a busy session once for its notices, however they come, and each as of its own commit', async () => {
  const store = new CountingStore();
  const facts = Array.from({ length: 50 }, (_, index) => depositFacts({ txHash: `0x${index}`, amount: '0.10' }));
  const events: SessionEvent[] = [
    { type: 'SessionCreated', data: createdFacts() },
    ...facts.flatMap((each) => [depositDetected(each), depositConfirmed(each)]),
  ];
  const stream = `session-${createdFacts().sessionId}`;
  let prev = '';
  const encoded = events.map((event, revision) => {
    const metadata = { correlationId: 'c', actor: 'test', prev, notificationId: `evt_${revision}` as NotificationId };
    const one = encodeEvent({ id: `e${revision}`, stream, revision, atMs: 1, event, metadata });
    prev = one.hash;
    return one;
  });
  await store.append({ stream, expected: 'no-stream', events: encoded });
  const recorded = (await store.readStream(stream)).slice(1);
  store.read = 0;

  const timers = new VirtualTimers();
  const reader = new NotificationReader({ store, directory, timers });
  const received: string[] = [];
  for (let at = 0; at < recorded.length; at += 4) {
    const batch = recorded.slice(at, at + 4);
    await reader.recall(batch);
    for (const reading of batch.map((one) => reader.read(one))) {
      if (reading === 'unreadable') throw new Error('unreadable');
      received.push(...reading.map(({ delivery }) => /"received":"([\d.]+)"/.exec(delivery.body)![1]!));
    }
  }
  expect(received).toHaveLength(50);
  expect(received.slice(0, 3)).toEqual(['0.10', '0.20', '0.30']);
  // Once, and the first event again for its facts.
  expect(store.read).toBeLessThanOrEqual(events.length + 1);

  // What is read again later is derived from the same commit.
  const again = recorded.slice(0, 2);
  await reader.recall(again);
  expect(again.map((one) => reader.read(one).length)).toEqual([0, 1]);
});
