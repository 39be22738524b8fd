import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { nodeRandom } from '../../../src/adapters/node/random.ts';
import { MerchantDirectory } from '../../../src/features/merchants/directory.ts';
import { Merchants } from '../../../src/features/merchants/merchants.ts';
import { withKeptKeys } from '../../../src/features/shared/kept-master-keys.ts';
import { createMerchantHandler } from '../../../src/features/shared/handlers/merchant-handler.ts';
import { masterKeyCommands } from '../../../src/operator/master-keys.ts';
import type { EventStore } from '../../../src/ports/event-store.ts';
import { storeWith } from '../../../src/ports/store-with.ts';
import { NotificationIds } from '../../../src/runtime/commands/notification-ids.ts';
import { createPersonalSealer, createSealer, parseMasterKeys } from '../../../src/runtime/util/sealing.ts';
import { MemoryEventStore } from '../../support/memory-event-store.ts';

const OLD = '0123456789abcdef'.repeat(4);
const NEWER = 'fedcba9876543210'.repeat(4);
const NEWEST = '00112233445566778899aabbccddeeff'.repeat(2);
const clock = { nowMs: () => 1_800_000_000_000 };
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const idOf = (text: string): string => parseMasterKeys(text)[0].id;

/** A process with these keys, as it starts. */
async function started(store: EventStore, text: string) {
  const masterKeys = await withKeptKeys(store, parseMasterKeys(text));
  const sealer = createSealer(masterKeys);
  const directory = new MerchantDirectory({ store, sealer });
  await directory.start();
  const handler = createMerchantHandler({ store, clock, random: nodeRandom, notificationIds: new NotificationIds(clock, 0), soleWriter: true });
  const merchants = new Merchants({
    ...{ handler, directory, sealer, clock, random: nodeRandom },
    vetWebhookUrl: (url) => ({ ok: true, url }),
    finalityFloor: { ethereumConfirmations: 12, ethereumFinalizedFrom: '10000' },
    changeDelayMinutes: 0,
  });
  const rewrap = () => masterKeyCommands({ store, masterKeys, clock, random: nodeRandom })['key.rewrap']!({ operator: 'olga' });
  return { directory, merchants, masterKeys, rewrap };
}

async function withMerchant(store: EventStore, text: string): Promise<{ readonly api_key: string }> {
  const { merchants } = await started(store, text);
  const made = await merchants.registerMerchant({ name: 'Shop', mode: 'test', webhookUrl: 'https://shop.example/hooks' });
  if (!made.ok) throw new Error(made.refusal.message);
  return made.value;
}

describe('key rewrap', () => {
  it('lets a start without the old key open all that it sealed', async () => {
    const store = new MemoryEventStore();
    const merchant = await withMerchant(store, OLD);
    await expect(started(store, NEWER)).rejects.toThrow();
    const { rewrap } = await started(store, `${NEWER},${OLD}`);
    expect(await rewrap()).toEqual({
      keys: [
        { key: idOf(NEWER), sealed: 1, state: 'seals, and must stay in MASTER_KEY', kept_now: false },
        { key: idOf(OLD), sealed: 2, state: 'kept in the ledger: take it out of MASTER_KEY', kept_now: true },
      ],
      enough: idOf(NEWER),
    });
    const { directory } = await started(store, NEWER);
    expect(directory.find(hashOf(merchant.api_key))).not.toBeNull();
  });

  it('opens personal data of the old key, too', async () => {
    const store = new MemoryEventStore();
    const salt = Buffer.alloc(32, 3);
    const sealed = createPersonalSealer(parseMasterKeys(OLD)).seal(salt, 'cs_1', 'ada@example.com');
    await (await started(store, `${NEWER},${OLD}`)).rewrap();
    const { masterKeys } = await started(store, NEWER);
    expect(createPersonalSealer(masterKeys).open(salt, 'cs_1', sealed)).toBe('ada@example.com');
  });

  it('goes on over several keys, and changes nothing when it is run again', async () => {
    const store = new MemoryEventStore();
    const merchant = await withMerchant(store, OLD);
    await (await started(store, `${NEWER},${OLD}`)).rewrap();
    const before = store.events.length;
    await (await started(store, `${NEWER},${OLD}`)).rewrap();
    expect(store.events.length).toBe(before);
    await (await started(store, `${NEWEST},${NEWER}`)).rewrap();
    const { directory, masterKeys } = await started(store, NEWEST);
    expect(new Set(masterKeys.map(({ id }) => id))).toEqual(new Set([NEWEST, NEWER, OLD].map(idOf)));
    expect(directory.find(hashOf(merchant.api_key))).not.toBeNull();
    expect(JSON.stringify(store.events)).not.toContain(OLD);
  });

  it('goes on where it ended between two keys', async () => {
    const store = new MemoryEventStore();
    let left = 1;
    const ending = storeWith(store, {
      append: (request) => (left-- > 0 ? store.append(request) : Promise.reject(new Error('the process ended'))),
    });
    const masterKeys = parseMasterKeys(`${NEWEST},${NEWER},${OLD}`);
    const run = (on: EventStore) => masterKeyCommands({ store: on, masterKeys, clock, random: nodeRandom })['key.rewrap']!({});
    await expect(run(ending)).rejects.toThrow('the process ended');
    await run(store);
    expect((await withKeptKeys(store, parseMasterKeys(NEWEST))).map(({ id }) => id).toSorted()).toEqual([NEWEST, NEWER, OLD].map(idOf).toSorted());
    expect(store.events.length).toBe(2);
  });

  it('calls no key enough while the ledger holds what none of them opens', async () => {
    const store = new MemoryEventStore();
    await withMerchant(store, OLD);
    const command = masterKeyCommands({ store, masterKeys: parseMasterKeys(NEWER), clock, random: nodeRandom })['key.rewrap']!;
    await expect(command({})).rejects.toThrow(`sealed under ${idOf(OLD)}, which is not in MASTER_KEY`);
  });
});
