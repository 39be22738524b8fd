import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openRedisReadModel } from '../../src/adapters/redis/read-model.ts';
import type { Projection } from '../../src/ports/projection.ts';
import type { ReadModel } from '../../src/ports/read-model.ts';
import { ProjectionRunner } from '../../src/runtime/projections/runner.ts';
import { MemoryEventStore } from '../support/memory-event-store.ts';
import { appendLedger, sessionIdOf } from '../support/random-ledger.ts';
import { RedisServer } from '../support/redis-server.ts';
import { createdFacts } from '../support/session-facts.ts';

const TABLE = 'counting@1';

/** An event that is taken twice, or not at all, shows. */
const counting: Projection = {
  name: 'counting',
  version: 1,
  streamPrefixes: ['session-'],
  tables: [TABLE],
  lists: [],
  needs: () => [{ table: TABLE, key: 'count' }],
  apply: (_event, read) => [
    { op: 'put', table: TABLE, key: 'count', row: { count: ((read(TABLE, 'count')?.['count'] as number | undefined) ?? 0) + 1 } },
  ],
};

/** Holds up reads of rows while it is closed. */
class Gate {
  #opened: PromiseWithResolvers<void> | null = null;

  get passed(): Promise<void> {
    return this.#opened?.promise ?? Promise.resolve();
  }

  close(): void {
    this.#opened ??= Promise.withResolvers();
  }

  open(): void {
    this.#opened?.resolve();
    this.#opened = null;
  }
}

/* A lease that was lost with everything else in Redis is granted anew while its old holder goes on for a while: both project. */
describe('projections with two holders over one Redis', () => {
  let server: RedisServer;
  let control: Redis;
  const store = new MemoryEventStore();
  const closing: (() => Promise<unknown>)[] = [];
  let appended = 0;

  beforeAll(async () => {
    server = await RedisServer.start();
    control = new Redis(server.url);
  });
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });
  afterAll(async () => {
    control.disconnect();
    await store.close();
    await server.stop();
  });

  const append = async (): Promise<void> => {
    appended += 1;
    const event = { type: 'SessionCreated' as const, data: createdFacts({ sessionId: sessionIdOf(appended), orderId: `order-${appended}` }) };
    await appendLedger(store, [{ session: appended, event, atMs: 1_800_000_000_000 }]);
  };
  const hold = async (prefix: string, gate = new Gate()): Promise<ProjectionRunner> => {
    const model = await openRedisReadModel({ url: server.url, prefix });
    const readModel: ReadModel = new Proxy(model, {
      get: (target, name) => {
        const method = (target as unknown as Record<string | symbol, (...words: unknown[]) => unknown>)[name]!;
        return name === 'getMany' ? (...words: unknown[]) => gate.passed.then(() => method.apply(target, words)) : method.bind(target);
      },
    });
    const runner = new ProjectionRunner({ store, readModel, projections: [counting], clock: { nowMs: () => 0 }, cacheRows: 0 });
    closing.push(
      () => model.close(),
      () => runner.stop(),
    );
    await runner.start();
    await runner.ready();
    return runner;
  };
  const count = async (prefix: string): Promise<number> => {
    const model = await openRedisReadModel({ url: server.url, prefix });
    const row = await model.get(TABLE, 'count');
    await model.close();
    return (row?.['count'] as number | undefined) ?? 0;
  };

  it('counts an event once when one holder reads the rows only after the other one wrote them', async () => {
    const prefix = randomUUID();
    const gate = new Gate();
    await append();
    const slow = await hold(prefix, gate);
    const quick = await hold(prefix);
    gate.close();
    await append();
    await quick.caughtUpTo((await store.head())!);
    gate.open();
    await slow.caughtUpTo((await store.head())!);
    expect(await count(prefix)).toBe(appended);
    await append();
    await Promise.all([slow, quick].map(async (runner) => runner.caughtUpTo((await store.head())!)));
    expect(await count(prefix)).toBe(appended);
  });

  it('counts every event once when the rows are lost and the new holder fills them while the old one reads', async () => {
    const prefix = randomUUID();
    const gate = new Gate();
    await append();
    const old = await hold(prefix, gate);
    gate.close();
    await append();
    await control.flushall();
    const renewed = await hold(prefix);
    expect(await count(prefix)).toBe(appended);
    gate.open();
    await append();
    const head = (await store.head())!;
    await Promise.all([old, renewed].map((runner) => runner.caughtUpTo(head)));
    expect(await count(prefix)).toBe(appended);
  });
});
