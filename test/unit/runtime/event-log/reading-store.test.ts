import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { nodeRandom } from '../../../../src/adapters/node/random.ts';
import { readingStore } from '../../../../src/runtime/event-log/reading-store.ts';
import { MerchantDirectory } from '../../../../src/features/merchants/directory.ts';
import { PeopleDirectory } from '../../../../src/features/people/directory.ts';
import { People } from '../../../../src/features/people/people.ts';
import { createPersonHandler } from '../../../../src/features/shared/handlers/person-handler.ts';
import type { EventStore, RecordedEvent } from '../../../../src/ports/event-log/event-store.ts';
import { silentLog } from '../../../../src/ports/log.ts';
import { storeWith } from '../../../../src/ports/event-log/store-with.ts';
import { createSealer, parseMasterKeys } from '../../../../src/runtime/cryptography/sealing.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';
import { handlerDeps } from '../../../support/handler-deps.ts';
import { merchantsOf } from '../../../support/merchants.ts';
import { BY } from '../../../support/by-operator.ts';

const clock = { nowMs: () => 1_800_000_000_000 };
const sealer = createSealer(parseMasterKeys('0123456789abcdef'.repeat(4)));
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The log with every event of the type damaged. */
function damaged(store: EventStore, type: string, change: Partial<RecordedEvent>): EventStore {
  const readAll: EventStore['readAll'] = async (options) =>
    (await store.readAll(options)).map((event) => (event.type === type ? { ...event, ...change } : event));
  return readingStore(storeWith(store, { readAll }), 'event 5 does not have its hash', silentLog);
}

const depsOf = (store: EventStore) => handlerDeps(store, clock);

async function aMerchant() {
  const store = new MemoryEventStore();
  const { directory, merchants } = await merchantsOf(store, clock, sealer);
  const made = await merchants.registerMerchant({ name: 'Shop', mode: 'test' }, BY);
  if (!made.ok) throw new Error(made.refusal.message);
  return { store, directory, merchants, merchant: made.value };
}

describe('a damaged log that is only read', () => {
  it.each([
    ['a setting', 'PolicySet', { data: '{' }, true],
    ['what was taken from a key', 'ApiKeyRestricted', { data: '{' }, false],
    ['an event of a type that is not known', 'PolicySet', { type: 'PolicySat' }, false],
  ] as const)('accepts a key while %s cannot be read: %s %j %s', async (_, type, change, isIn) => {
    const { store, merchants, merchant } = await aMerchant();
    await merchants.setPolicy(merchant.id, { tolerance: '0.5' }, BY);
    await merchants.restrictKey(merchant.id, merchant.key_id, { scopes: ['payments:read'] }, BY);
    const directory = new MerchantDirectory({ store: damaged(store, type, change), sealer });
    await directory.start();
    expect(directory.find(hashOf(merchant.api_key)) !== null).toBe(isIn);
    expect(directory.merchantIds()).toEqual([merchant.id]);
  });

  it('lets nobody sign in with an unreadable event, such as a suspension', async () => {
    const store = new MemoryEventStore();
    const directory = new PeopleDirectory(store);
    await directory.start();
    const handler = createPersonHandler(depsOf(store));
    const people = new People({ handler, directory, clock, random: nodeRandom, recoveryDelaySec: 86_400 });
    const wanted = { by: 'test', reason: 'test' };
    const keys = await Promise.all(
      ['Ada', 'Bob'].map(async (name) => {
        const made = await people.invite(name, [{ role: 'operator', merchantId: null, untilSec: null }], wanted);
        if (!made.ok) throw new Error(made.refusal.message);
        await people.addPasskey(made.value.personId, made.value.token, {
          credentialId: `key of ${name}`,
          publicKey: 'AAAA',
          label: 'test',
        });
        return { personId: made.value.personId, credentialId: `key of ${name}` };
      }),
    );
    await people.suspend(keys[1]!.personId, wanted);
    const read = new PeopleDirectory(damaged(store, 'PersonSuspended', { data: '{' }));
    await read.start();
    expect(keys.map(({ credentialId }) => read.byCredential(credentialId))).toEqual([keys[0]!.personId, null]);
  });

  it('accepts no event', async () => {
    const store = readingStore(new MemoryEventStore(), 'event 5 does not have its hash', silentLog);
    await expect(store.append({ stream: 'audit', expected: 'no-stream', events: [] })).rejects.toThrow(
      'nothing is written: event 5 does not have its hash',
    );
  });
});
