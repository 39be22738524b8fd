import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { nodeRandom } from '../../../src/adapters/node/random.ts';
import type { MerchantId } from '../../../src/domain/values/ids.ts';
import { withKeptKeys } from '../../../src/features/shared/kept-keys.ts';
import { sealingKeysOf } from '../../../src/settings/sealing-keys.ts';
import { sealingKeyCommands } from '../../../src/operator/sealing-keys.ts';
import type { EventStore } from '../../../src/ports/event-log/event-store.ts';
import { storeWith } from '../../../src/ports/event-log/store-with.ts';
import {
  CannotOpen,
  createPersonalSealer,
  createSealer,
  SEALED_KINDS,
  type SealedKind,
  type SealingKeys,
} from '../../../src/runtime/cryptography/sealing.ts';
import { MemoryEventStore } from '../../support/memory-event-store.ts';
import { merchantsOf } from '../../support/merchants.ts';
import { BY } from '../../support/by-operator.ts';

const OLD = '0123456789abcdef'.repeat(4);
const NEWER = 'fedcba9876543210'.repeat(4);
const OTHER = 'ffeeddccbbaa99887766554433221100'.repeat(2);
const NEWEST = '00112233445566778899aabbccddeeff'.repeat(2);
const clock = { nowMs: () => 1_800_000_000_000 };
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const keysOf = (given: string | Parameters<typeof sealingKeysOf>[0]): SealingKeys =>
  sealingKeysOf(typeof given === 'string' ? { MASTER_KEY: given } : given);
const idOf = (text: string, kind: SealedKind): string => keysOf(text)[kind]!.keys[0].id;
const idsOf = (keys: SealingKeys): string[] =>
  SEALED_KINDS.flatMap((kind) => keys[kind]!.keys.map(({ id }) => id)).toSorted();
const idsOfTexts = (...texts: string[]): string[] => texts.flatMap((text) => idsOf(keysOf(text))).toSorted();

/** A process with these keys, as it starts. */
async function started(store: EventStore, given: Parameters<typeof keysOf>[0]) {
  const sealingKeys = await withKeptKeys(store, keysOf(given));
  const { directory, merchants } = await merchantsOf(store, clock, createSealer(sealingKeys));
  const rewrap = () =>
    sealingKeyCommands({ store, sealingKeys, clock, random: nodeRandom })['key.rewrap']!({ operator: 'olga' });
  return { directory, merchants, sealingKeys, rewrap };
}

async function withMerchant(
  store: EventStore,
  text: string,
): Promise<{ readonly id: string; readonly api_key: string }> {
  const { merchants } = await started(store, text);
  const made = await merchants.registerMerchant(
    {
      name: 'Shop',
      mode: 'test',
      webhookUrl: 'https://shop.example/hooks',
    },
    BY,
  );
  if (!made.ok) throw new Error(made.refusal.message);
  return made.value;
}

describe('key rewrap', () => {
  it('lets a process without the old key open all that it sealed', async () => {
    const store = new MemoryEventStore();
    const merchant = await withMerchant(store, OLD);
    await expect(started(store, NEWER)).rejects.toThrow();
    const { rewrap } = await started(store, `${NEWER},${OLD}`);
    expect(await rewrap()).toEqual({
      keys: SEALED_KINDS.flatMap((kind) => [
        {
          ...{ key: idOf(NEWER, kind), seals: kind, setting: 'MASTER_KEY', sealed: 1 },
          state: 'seals, and must stay in MASTER_KEY',
          kept_now: false,
        },
        {
          ...{ key: idOf(OLD, kind), seals: kind, setting: 'MASTER_KEY', sealed: kind === 'personal-data' ? 0 : 1 },
          ...{ state: 'stored in the event log: remove it from MASTER_KEY', kept_now: true },
        },
      ]),
      enough: Object.fromEntries(SEALED_KINDS.map((kind) => [kind, idOf(NEWER, kind)])),
    });
    const { directory } = await started(store, NEWER);
    expect(directory.find(hashOf(merchant.api_key))).not.toBeNull();
  });

  it('opens personal data of the old key too', async () => {
    const store = new MemoryEventStore();
    const salt = Buffer.alloc(32, 3);
    const sealed = createPersonalSealer(keysOf(OLD)).seal(salt, 'cs_1', 'ada@example.com');
    await (await started(store, `${NEWER},${OLD}`)).rewrap();
    const { sealingKeys } = await started(store, NEWER);
    expect(createPersonalSealer(sealingKeys).open(salt, 'cs_1', sealed)).toBe('ada@example.com');
  });

  it('continues over several keys, and changes nothing when run again', async () => {
    const store = new MemoryEventStore();
    const merchant = await withMerchant(store, OLD);
    await (await started(store, `${NEWER},${OLD}`)).rewrap();
    const before = store.events.length;
    await (await started(store, `${NEWER},${OLD}`)).rewrap();
    expect(store.events.slice(before).map(({ type }) => type)).toEqual(['OperatorActed']);
    await (await started(store, `${NEWEST},${NEWER}`)).rewrap();
    const { directory, sealingKeys } = await started(store, NEWEST);
    expect(idsOf(sealingKeys)).toEqual(idsOfTexts(NEWEST, NEWER, OLD));
    expect(directory.find(hashOf(merchant.api_key))).not.toBeNull();
    expect(JSON.stringify(store.events)).not.toContain(OLD);
  });

  it('continues where it ended between two keys', async () => {
    const store = new MemoryEventStore();
    let left = 1;
    const ending = storeWith(store, {
      append: (request) => (left-- > 0 ? store.append(request) : Promise.reject(new Error('the process ended'))),
    });
    const sealingKeys = keysOf(`${NEWEST},${NEWER},${OLD}`);
    const run = (on: EventStore) =>
      sealingKeyCommands({ store: on, sealingKeys, clock, random: nodeRandom })['key.rewrap']!({});
    await expect(run(ending)).rejects.toThrow('the process ended');
    await run(store);
    expect(idsOf(await withKeptKeys(store, keysOf(NEWEST)))).toEqual(idsOfTexts(NEWEST, NEWER, OLD));
    expect(store.events.filter(({ type }) => type === 'SecretGenerated')).toHaveLength(2 * SEALED_KINDS.length);
  });

  it('never says that the first key is enough while the event log holds something that no key opens', async () => {
    const store = new MemoryEventStore();
    await withMerchant(store, OLD);
    const command = sealingKeyCommands({ store, sealingKeys: keysOf(NEWER), clock, random: nodeRandom })['key.rewrap']!;
    await expect(command({})).rejects.toThrow(
      `sealed under ${idOf(OLD, 'api-secrets')}, ${idOf(OLD, 'webhook-secrets')}, which is not in MASTER_KEY`,
    );
  });

  it('gives each kind its own key, and no key of one kind opens another, not even what the previous key sealed', async () => {
    const store = new MemoryEventStore();
    const merchant = await withMerchant(store, OLD);
    const apart = { API_SECRETS_KEY: NEWER, WEBHOOK_SECRETS_KEY: NEWEST, PERSONAL_DATA_KEY: OTHER };
    const both = Object.fromEntries(Object.entries(apart).map(([name, text]) => [name, `${text},${OLD}`]));
    await (await started(store, both)).rewrap();
    const { directory } = await started(store, apart);
    expect(directory.find(hashOf(merchant.api_key))).not.toBeNull();

    const worker = await started(store, { WEBHOOK_SECRETS_KEY: NEWEST });
    expect(worker.directory.find(hashOf(merchant.api_key))).toBeNull();
    expect(worker.directory.endpointOf(merchant.id as MerchantId)).toMatchObject({ url: 'https://shop.example/hooks' });
    const sealedFor = (type: string): string =>
      /v1\.[\w.-]+/.exec(store.events.find((event) => event.type === type && event.data.includes('v1.'))!.data)![0];
    const asWebhook = createSealer(worker.sealingKeys);
    expect(() => asWebhook.open('webhook-secrets', sealedFor('ApiKeyIssued'), 'any')).toThrow(CannotOpen);
    expect(worker.sealingKeys['webhook-secrets']!.keys.map(({ id }) => id)).toEqual([
      idOf(NEWEST, 'webhook-secrets'),
      idOf(OLD, 'webhook-secrets'),
    ]);
  });

  it('is refused if a kind of key is missing: a lost key could not be distinguished from one of another kind', async () => {
    const { rewrap } = await started(new MemoryEventStore(), { WEBHOOK_SECRETS_KEY: `${NEWER},${OLD}` });
    await expect(rewrap()).rejects.toThrow('API_SECRETS_KEY, PERSONAL_DATA_KEY: not held by this process');
  });
});
