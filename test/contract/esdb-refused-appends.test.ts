import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openEsdbEventStore } from '../../src/adapters/esdb/event-store.ts';
import { openEsdbPersonalKeys } from '../../src/adapters/esdb/personal-keys.ts';
import { nodeRandom } from '../../src/adapters/node/random.ts';
import type { ApiKeyId, MerchantId } from '../../src/domain/values/ids.ts';
import { merchantStream } from '../../src/domain/values/streams.ts';
import { AddressLeases } from '../../src/features/addresses/leases.ts';
import { createMerchantHandler } from '../../src/features/shared/handlers/merchant-handler.ts';
import { Idempotency } from '../../src/features/shared/idempotency.ts';
import { keepOlderKeys } from '../../src/features/shared/kept-keys.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { type EventStore, StoreUnavailable } from '../../src/ports/event-log/event-store.ts';
import { parseKeys } from '../../src/runtime/cryptography/sealing.ts';
import { EsdbDouble } from '../support/esdb-double/esdb-double.ts';
import { handlerDeps } from '../support/handler-deps.ts';
import { caller } from '../support/session-world.ts';
import { appendOf, FIRST, until } from './event-store-samples.ts';

/*
 * Two nodes of the service on one cluster of servers: an append is refused because of events that nobody can read yet.
 * On three nodes of KurrentDB 26.1.0 this lost the metadata of 5 sessions of 120.
 */

let double: EsdbDouble;
const closing: (() => Promise<void>)[] = [];

beforeEach(async () => {
  double = await EsdbDouble.start({ readableAfterMs: 60 });
  closing.push(() => double.stop());
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Time enough that none asks again by itself on a loaded machine. */
const PATIENT = { attemptMs: 4_000, totalMs: 16_000 };
const QUICK = { attemptMs: 250, totalMs: 600 };

async function openNode(times = PATIENT): Promise<EventStore> {
  const store = await openEsdbEventStore({ connectionString: double.connectionString, ...times });
  closing.push(() => store.close());
  return store;
}

const openNodes = (): Promise<[EventStore, EventStore]> => Promise.all([openNode(), openNode()]);

function openKeys(times = PATIENT) {
  const { connectionString } = double;
  const keys = openEsdbPersonalKeys({ connectionString, random: nodeRandom, ...times });
  closing.push(() => keys.close());
  return keys;
}

describe('a refused append (double)', () => {
  test('names a revision that can be read', async () => {
    const [one, other] = await openNodes();
    const won = one.append(appendOf('s-1', FIRST, 2));
    await until('it is written', () => double.appendCalls === 1);
    expect(await other.append(appendOf('s-1', FIRST))).toEqual({ ok: false, actual: 1 });
    expect((await other.readStream('s-1')).map(({ revision }) => revision)).toEqual([0, 1]);
    expect(await won).toMatchObject({ ok: true });
  });

  test('is unavailable while that cannot be read, within the limit of time', async () => {
    const one = await openNode(QUICK);
    double.log.hold();
    await expect(one.append(appendOf('s-1', FIRST, 2))).rejects.toThrow(StoreUnavailable);
    await expect(one.append(appendOf('s-1', FIRST))).rejects.toThrow(/revision 1 of stream s-1.*not readable/);
    double.log.release();
    expect(await one.append(appendOf('s-1', FIRST))).toEqual({ ok: false, actual: 1 });
  });
});

describe('two nodes at the same moment (double)', () => {
  test('create one salt for a session, which neither takes for forgotten', async () => {
    const nodes = [openKeys(), openKeys()] as const;
    for (let round = 0; round < 4; round += 1) {
      const [one, other] = await Promise.all(nodes.map((keys) => keys.create(`session-${round}`)));
      expect(one?.salt).toBeDefined();
      expect(other?.salt).toEqual(one?.salt);
    }
  });

  test('admit one request for an Idempotency-Key', async () => {
    const nodes = (await openNodes()).map(
      (store) => new Idempotency({ store, clock: systemClock, random: nodeRandom }),
    );
    const keyed = { ...caller, idempotencyKey: 'once' };
    const admitted = await Promise.all(
      nodes.map((node, index) => node.admit(keyed, 'create', 'hash', () => `id-${index}`)),
    );
    const [one, other] = admitted.map((admission) => (admission.ok ? admission : null));
    expect(one?.givenId).toBe(other?.givenId);
    expect([one?.repeated, other?.repeated].sort()).toEqual([false, true]);
  });

  test('lease ranges one after the other', async () => {
    const nodes = (await openNodes()).map(
      (store, index) =>
        new AddressLeases('test', 'evm', { store, node: `${index}`, clock: systemClock, random: nodeRandom }),
    );
    const leased = await Promise.all([...nodes, ...nodes].map((leases) => leases.take(() => 10, 1_000)));
    expect(leased.map((range) => range?.from).sort((a, b) => a! - b!)).toEqual([0, 10, 20, 30]);
    // Each was refused at most once for each range that others took meanwhile.
    expect(double.appendCalls).toBeLessThanOrEqual(4 + 3 + 2 + 1);
  });

  test('decide commands about one merchant, each on what the other wrote', async () => {
    const nodes = (await openNodes()).map((store, index) =>
      createMerchantHandler({ ...handlerDeps(store, systemClock, index), soleWriter: false }),
    );
    const merchantId = 'mer_1' as MerchantId;
    const context = { correlationId: 'test', actor: 'test' };
    const keyOf = (id: string) => ({
      ...{ merchantId, keyId: id as ApiKeyId, mode: 'test' as const, keyHash: id, hint: 'h', sealedSecret: 's' },
    });
    const stream = merchantStream(merchantId);
    await nodes[0]!.execute(
      stream,
      {
        type: 'RegisterMerchant',
        merchant: { merchantId, name: 'Shop', mode: 'test' },
        key: keyOf('first'),
        endpoint: { endpointId: 'we_1', url: null, sealedSecret: 's' },
      },
      context,
    );
    await Promise.all(
      nodes.map((node, index) => node.execute(stream, { type: 'IssueKey', key: keyOf(`of-${index}`) }, context)),
    );
    expect(Object.keys((await nodes[0]!.read(stream))!.context.keys).sort()).toEqual(['first', 'of-0', 'of-1']);
  });

  test('keep a retired key once each', async () => {
    const nodes = await openNodes();
    const list = parseKeys(
      'api-secrets',
      'API_SECRETS_KEY',
      `${randomBytes(32).toString('hex')},${randomBytes(32).toString('hex')}`,
    );
    const deps = (store: EventStore) => ({ store, clock: systemClock, random: nodeRandom });
    const kept = await Promise.all(nodes.map((store) => keepOlderKeys(deps(store), 'api-secrets', list, 'test')));
    expect(kept.flat()).toHaveLength(1);
    expect(double.appendCalls).toBe(2);
  });
});

describe('a salt that was refused because of one that cannot be read (double)', () => {
  test('is unavailable, and never taken for forgotten', async () => {
    const [one, other] = [openKeys(QUICK), openKeys(QUICK)];
    double.log.hold();
    const results = await Promise.allSettled([one.create('session-a'), other.create('session-a')]);
    for (const result of results)
      expect(result).toMatchObject({ status: 'rejected', reason: expect.any(StoreUnavailable) });
    double.log.release();
    const made = await one.create('session-a');
    expect(made?.salt).toEqual((await other.create('session-a'))?.salt);
  });

  test('is forgotten once the stream is deleted, even before that can be read', async () => {
    const keys = openKeys();
    await keys.create('session-a');
    double.log.tombstone('erasable-personal-key-session-a', 'any');
    expect(await keys.create('session-a')).toBeNull();
  });
});
