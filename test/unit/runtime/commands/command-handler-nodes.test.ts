import { beforeEach, expect, test } from 'vitest';
import type { ApiKeyId, MerchantId } from '../../../../src/domain/values/ids.ts';
import { merchantStream } from '../../../../src/domain/values/streams.ts';
import { systemClock } from '../../../../src/ports/clock.ts';
import {
  createMerchantHandler,
  type MerchantHandler,
} from '../../../../src/features/shared/handlers/merchant-handler.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';
import { handlerDeps } from '../../../support/handler-deps.ts';

/* Two processes on one store, each with its own memory of the same stream. */

const merchantId = 'mer_1' as MerchantId;
const stream = merchantStream(merchantId);
const context = { correlationId: 'test', actor: 'test' };
const keyOf = (keyId: string) => ({
  merchantId,
  keyId: keyId as ApiKeyId,
  mode: 'test' as const,
  keyHash: keyId,
  hint: 'h',
  sealedSecret: 's',
});

let store: MemoryEventStore;
let one: MerchantHandler;
let other: MerchantHandler;

beforeEach(async () => {
  store = new MemoryEventStore();
  const node = (number: number): MerchantHandler =>
    createMerchantHandler({ ...handlerDeps(store, systemClock, number), soleWriter: false });
  [one, other] = [node(1), node(2)];
  const register = {
    type: 'RegisterMerchant' as const,
    merchant: { merchantId, name: 'Shop', mode: 'test' as const },
    key: keyOf('first'),
    endpoint: { endpointId: 'we_1', url: null, sealedSecret: 's' },
  };
  expect(await one.execute(stream, register, context)).toMatchObject({ ok: true });
  // Both know the stream as it is now.
  expect(await other.read(stream)).not.toBeNull();
});

test('what one process wrote, the other reads at once', async () => {
  await one.execute(stream, { type: 'IssueKey', key: keyOf('second') }, context);
  expect(Object.keys((await other.read(stream))!.context.keys)).toEqual(['first', 'second']);
});

test('a command is not refused because of a state that another process has changed', async () => {
  await one.execute(stream, { type: 'IssueKey', key: keyOf('second') }, context);
  const revoked = await other.execute(stream, { type: 'RevokeKey', keyId: 'second' as ApiKeyId }, context);
  expect(revoked).toMatchObject({ ok: true, events: [{ type: 'ApiKeyRevoked' }] });
});

test('a command is not called done because of a state that another process has changed', async () => {
  await other.execute(stream, { type: 'SetWebhook', url: 'https://shop.example/a' }, context);
  await one.execute(stream, { type: 'SetWebhook', url: 'https://shop.example/b' }, context);
  const back = await other.execute(stream, { type: 'SetWebhook', url: 'https://shop.example/a' }, context);
  expect(back).toMatchObject({ ok: true, events: [{ type: 'WebhookEndpointSet' }] });
});

test('commands of two processes on one stream all happen, each once', async () => {
  const ids = Array.from({ length: 20 }, (_, index) => `key${index}`);
  const results = await Promise.allSettled(
    ids.map((id, index) =>
      (index % 2 === 0 ? one : other).execute(stream, { type: 'IssueKey', key: keyOf(id) }, context),
    ),
  );
  const done = ids.filter((_, index) => results[index]!.status === 'fulfilled');
  expect(done.length).toBeGreaterThan(0);
  const known = Object.keys((await one.read(stream))!.context.keys).filter((id) => id !== 'first');
  expect(known.sort()).toEqual(done.sort());
});
