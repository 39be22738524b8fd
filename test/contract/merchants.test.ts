import { createHash, createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nodeRandom } from '../../src/adapters/node/random.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../../src/adapters/sqlite/event-log/event-store.ts';
import { vetWebhookUrl } from '../../src/adapters/webhook-http/url.ts';
import type { ApiKeyId, MerchantId } from '../../src/domain/values/ids.ts';
import type { SubscribeOptions, Subscription } from '../../src/ports/event-log/event-store.ts';
import { storeWith } from '../../src/ports/event-log/store-with.ts';
import { createSealer, parseMasterKeys } from '../../src/runtime/cryptography/sealing.ts';
import { MerchantDirectory } from '../../src/features/merchants/directory.ts';
import { NoteKeyUse } from '../../src/features/merchants/note-key-use.process.ts';
import { MerchantEndpoints } from '../../src/features/merchants/endpoints.ts';
import { createMerchantHandler } from '../../src/features/shared/handlers/merchant-handler.ts';
import { queueOfEndpoint, type QueueId } from '../../src/domain/notifications/delivery-ids.ts';
import { OUTCOME_TYPES } from '../../src/domain/notifications/types.ts';
import { OwnEndpoints } from '../../src/features/merchants/own-endpoints.ts';
import { Idempotency } from '../../src/features/shared/idempotency.ts';
import type { Caller, Outcome } from '../../src/features/shared/merchant-api.ts';
import { Merchants } from '../../src/features/merchants/merchants.ts';
import { createSession } from '../../src/features/sessions/create.ts';
import { merchantRoutes } from '../../src/http/routes/merchant.routes.ts';
import { changeMerchantBody } from '../../src/http/schemas/merchant.schema.ts';
import type { NewMerchant } from '../../src/features/merchants/new-key.ts';
import { ManualClock } from '../support/price-feed.ts';
import { caller, order, sessionWorld } from '../support/session-world.ts';
import { handlerDeps } from '../support/handler-deps.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { BY } from '../support/by-operator.ts';

const FLOOR = { ethereumConfirmations: 12, ethereumFinalizedFrom: '10000' };

const KEY_A = 'a1b2c3d4e5f60718293a4b5c6d7e8f900112233445566778899aabbccddeeff0';
const KEY_B = 'b1b2c3d4e5f60718293a4b5c6d7e8f900112233445566778899aabbccddeeff1';

let folder: string;
let store: SqliteEventStore;
let clock: ManualClock;
const open: { close(): Promise<void> }[] = [];

beforeEach(async () => {
  folder = temporaryFolder('merchants');
  store = await openSqliteEventStore({ dataDir: folder });
  clock = new ManualClock();
});

afterEach(async () => {
  for (const part of open.splice(0)) await part.close();
  await store.close();
});

async function node(masterKeys = KEY_A, faults: string[] = []) {
  const sealer = createSealer(parseMasterKeys(masterKeys));
  const directory = new MerchantDirectory({ store, sealer, onFault: (_, message) => faults.push(message) });
  open.push(directory);
  const handler = createMerchantHandler({ ...handlerDeps(store, clock), soleWriter: false });
  const vet = (url: string) => vetWebhookUrl(url, { allowInsecure: false, ownHosts: [] });
  const merchants = new Merchants({
    handler,
    directory,
    sealer,
    random: nodeRandom,
    clock,
    vetWebhookUrl: vet,
    finalityFloor: FLOOR,
    toleranceBounds: { maxPercent: 5, max: '100' },
    changeDelayMinutes: 0,
  });
  return {
    directory,
    merchants,
    handler,
    endpoints: new MerchantEndpoints(directory, handler),
    start: () => directory.start(),
  };
}

async function started(masterKeys = KEY_A) {
  const parts = await node(masterKeys);
  await parts.start();
  return parts;
}

function valueOf<Value>(outcome: { ok: true; value: Value } | { ok: false; refusal: unknown }): Value {
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.refusal));
  return outcome.value;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const sameKey = (one: { export(): Buffer }, text: string): boolean => one.export().equals(Buffer.from(text));
const UNHELD = { scopes: null, addresses: [], signature_version: 1, last_used_at: null };
const everyText = async (): Promise<string> => JSON.stringify(await store.readAll({ after: null, limit: 1_000 }));

describe('a merchant just registered', () => {
  it('can sign requests at once, on the node that registered it', async () => {
    const { merchants, directory } = await started();
    const merchant = valueOf(
      await merchants.registerMerchant({ name: 'Shop', mode: 'test', webhookUrl: 'https://hooks.shop.com/q' }, BY),
    );
    const key = directory.find(sha256(merchant.api_key));
    expect(key).toMatchObject({ merchantId: merchant.id, keyId: merchant.key_id, mode: 'test' });
    const message = '1763600000.nonce.{}';
    expect(createHmac('sha256', key!.secret).update(message).digest('hex')).toBe(
      createHmac('sha256', merchant.api_secret).update(message).digest('hex'),
    );
  });

  it('has an endpoint whose secret is its own, not the API secret', async () => {
    const { merchants, endpoints } = await started();
    const merchant = valueOf(
      await merchants.registerMerchant({ name: 'Shop', mode: 'test', webhookUrl: 'https://hooks.shop.com/q' }, BY),
    );
    const endpoint = endpoints.endpointOf(merchant.id);
    expect(endpoint).toMatchObject({
      url: 'https://hooks.shop.com/q',
      nextSecret: null,
      durableRedelivery: false,
      suspended: false,
    });
    expect(sameKey(endpoint!.secret, merchant.webhook_secret)).toBe(true);
    expect(merchant.webhook_secret).not.toBe(merchant.api_secret);
  });

  it('is given keys in the shape of the specification, each from 256 random bits', async () => {
    const { merchants } = await started();
    const all: NewMerchant[] = [];
    for (let index = 0; index < 20; index++)
      all.push(
        valueOf(await merchants.registerMerchant({ name: 'Shop', mode: index % 2 === 0 ? 'test' : 'live' }, BY)),
      );
    for (const [index, merchant] of all.entries()) {
      const mode = index % 2 === 0 ? 'test' : 'live';
      expect(merchant.api_key).toMatch(new RegExp(`^sk_${mode}_[0-9A-Za-z]{43}$`));
      expect(merchant.api_secret).toMatch(new RegExp(`^sks_${mode}_[0-9A-Za-z]{43}$`));
      expect(merchant.webhook_secret).toMatch(new RegExp(`^whs_${mode}_[0-9A-Za-z]{43}$`));
      expect(merchant.id).toMatch(/^mer_[a-z2-7]{20}$/);
      expect(merchant.key_id).toMatch(/^key_[a-z2-7]{20}$/);
    }
    expect(
      new Set(
        all.flatMap((merchant) => [
          merchant.api_key.slice(8),
          merchant.api_secret.slice(9),
          merchant.webhook_secret.slice(9),
        ]),
      ).size,
    ).toBe(60);
  });

  it('leaves neither its key nor its secrets in the log or in any error', async () => {
    const { merchants } = await started();
    const merchant = valueOf(await merchants.registerMerchant({ name: 'Shop', mode: 'live' }, BY));
    const rotated = valueOf(await merchants.issueWebhookSecret(merchant.id, BY));
    const text = await everyText();
    for (const secret of [merchant.api_key, merchant.api_secret, merchant.webhook_secret, rotated.webhook_secret]) {
      for (const form of [
        secret,
        secret.slice(9),
        Buffer.from(secret).toString('base64'),
        Buffer.from(secret).toString('hex'),
      ])
        expect(text).not.toContain(form);
    }
    expect(text).toContain(sha256(merchant.api_key));
  });

  it('starts from the defaults', async () => {
    const { merchants, directory } = await started();
    const merchant = valueOf(await merchants.registerMerchant({ name: 'Shop', mode: 'live' }, BY));
    expect(directory.settings(merchant.id)).toEqual({
      merchantId: merchant.id,
      name: 'Shop',
      mode: 'live',
      logo: null,
      domains: [],
      policy: {
        settlementCoin: 'USDT',
        networks: ['ethereum', 'bsc', 'tron', 'solana'],
        offerTronUsdc: false,
        tolerance: '0',
        sessionTtlSec: null,
        ethereumFinalizedFrom: '10000',
        ethereumConfirmations: 12,
      },
    });
  });

  it('is refused with an unsafe webhook URL, and nothing is stored', async () => {
    const { merchants } = await started();
    for (const webhookUrl of [
      'http://shop.com/',
      'https://127.0.0.1/',
      'file:///etc/passwd',
      'https://a@shop.com/',
      '',
    ]) {
      expect(
        await merchants.registerMerchant({ name: 'Shop', mode: 'live', webhookUrl }, BY),
        webhookUrl,
      ).toMatchObject({
        ok: false,
        refusal: { code: 'invalid_request', param: 'webhook_url' },
      });
    }
    expect(await merchants.registerMerchant({ name: '', mode: 'live' }, BY)).toMatchObject({
      ok: false,
      refusal: { param: 'name' },
    });
    expect(await store.head()).toBeNull();
  });
});

describe('keys', () => {
  it('stop working as soon as they are revoked, while others continue', async () => {
    const { merchants, directory } = await started();
    const merchant = valueOf(await merchants.registerMerchant({ name: 'Shop', mode: 'test' }, BY));
    const second = valueOf(await merchants.issueKey(merchant.id, {}, BY));
    expect(directory.find(sha256(second.api_key))).toMatchObject({ keyId: second.key_id });
    valueOf(await merchants.revokeKey(merchant.id, merchant.key_id, BY));
    expect(directory.find(sha256(merchant.api_key))).toBeNull();
    expect(directory.find(sha256(second.api_key))).not.toBeNull();
    expect(merchants.getMerchant(merchant.id)?.keys).toEqual([
      { key_id: merchant.key_id, hint: `sk_test_...${merchant.api_key.slice(-4)}`, revoked: true, ...UNHELD },
      { key_id: second.key_id, hint: `sk_test_...${second.api_key.slice(-4)}`, revoked: false, ...UNHELD },
    ]);
  });

  it('are held back from the next request on, change by change, and again after a restart', async () => {
    const { merchants, directory } = await started();
    const merchant = valueOf(await merchants.registerMerchant({ name: 'Shop', mode: 'test' }, BY));
    const hash = sha256(merchant.api_key);
    expect(directory.find(hash)?.restrictions).toBeUndefined();
    valueOf(await merchants.restrictKey(merchant.id, merchant.key_id, { scopes: ['payments:create'] }, BY));
    valueOf(
      await merchants.restrictKey(
        merchant.id,
        merchant.key_id,
        { addresses: ['203.0.113.0/24'], signatureVersion: 2 },
        BY,
      ),
    );
    const again = await started();
    for (const { restrictions } of [directory.find(hash)!, again.directory.find(hash)!]) {
      expect([...restrictions!.scopes!]).toEqual(['payments:create']);
      expect([restrictions!.allowsAddress('203.0.113.9'), restrictions!.allowsAddress('198.51.100.1')]).toEqual([
        true,
        false,
      ]);
      expect(restrictions!.signatureVersion).toBe(2);
    }
    valueOf(
      await merchants.restrictKey(
        merchant.id,
        merchant.key_id,
        { scopes: null, addresses: [], signatureVersion: 1 },
        BY,
      ),
    );
    expect(directory.find(hash)?.restrictions).toBeUndefined();
    const narrow = valueOf(await merchants.issueKey(merchant.id, { scopes: ['books:read'] }, BY));
    expect(directory.find(sha256(narrow.api_key))?.restrictions?.scopes).toEqual(new Set(['books:read']));
  });

  it('are not held back by what does not exist, and the refusal names the field', async () => {
    const { merchants } = await started();
    const { id, key_id: keyId } = valueOf(await merchants.registerMerchant({ name: 'Shop', mode: 'test' }, BY));
    const refused = async (restrictions: object) =>
      (await merchants.restrictKey(id, keyId, restrictions, BY)) as unknown;
    const param = (name: string) => ({ ok: false, refusal: { code: 'invalid_request', param: name } });
    expect(await refused({ scopes: ['payments'] })).toMatchObject(param('scopes'));
    expect(await refused({ scopes: [] })).toMatchObject(param('scopes'));
    expect(await refused({ addresses: ['shop.example'] })).toMatchObject(param('addresses'));
    expect(await refused({ signatureVersion: 3 })).toMatchObject(param('signature_version'));
    expect(await merchants.restrictKey(id, 'key_none' as ApiKeyId, {}, BY)).toMatchObject({
      ok: false,
      refusal: { code: 'not_found' },
    });
    valueOf(await merchants.revokeKey(id, keyId, BY));
    expect(await refused({ signatureVersion: 2 })).toMatchObject({ ok: false, refusal: { code: 'conflict' } });
    expect(await merchants.issueKey(id, { scopes: ['nothing' as 'books:read'] }, BY)).toMatchObject(param('scopes'));
  });

  it('show their last use: to the second in the process that saw it, to the day after a restart, stored once a day', async () => {
    const { merchants, directory, handler } = await started();
    const merchant = valueOf(await merchants.registerMerchant({ name: 'Shop', mode: 'test' }, BY));
    const key = directory.find(sha256(merchant.api_key))!;
    const notes = new NoteKeyUse(directory, handler, () => undefined);
    const day = 1_790_000_000;
    const shown = (parts: typeof merchants): number | null | undefined =>
      parts.getMerchant(merchant.id)?.keys[0]?.last_used_at;
    expect(shown(merchants)).toBeNull();
    for (const atSec of [day, day + 10, day + 20]) {
      directory.used(key, atSec);
      await notes.now();
    }
    expect(shown(merchants)).toBe(day + 20);
    directory.used(key, day + 86_400);
    await notes.now();
    await notes.close();
    const text = await everyText();
    expect(text.split('"ApiKeyUsed"')).toHaveLength(3);
    expect(shown((await started()).merchants)).toBe(day + 86_400);
  });

  it('that do not exist are found under no hash', async () => {
    const { directory } = await started();
    for (const hash of ['', sha256('sk_test_x'), '__proto__', 'constructor']) expect(directory.find(hash)).toBeNull();
  });

  it('cannot be issued for a merchant that does not exist, nor revoked across merchants', async () => {
    const { merchants } = await started();
    const one = valueOf(await merchants.registerMerchant({ name: 'One', mode: 'test' }, BY));
    const other = valueOf(await merchants.registerMerchant({ name: 'Other', mode: 'test' }, BY));
    expect(await merchants.issueKey('mer_zzzzzzzzzzzzzzzzzzzz' as MerchantId, {}, BY)).toMatchObject({
      ok: false,
      refusal: { code: 'not_found' },
    });
    expect(await merchants.revokeKey(one.id, other.key_id, BY)).toMatchObject({
      ok: false,
      refusal: { code: 'not_found' },
    });
    expect(await merchants.revokeKey(one.id, 'key_none' as ApiKeyId, BY)).toMatchObject({ ok: false });
  });
});

describe('a tolerance in percent', () => {
  it("is set over the merchant's API, survives a restart, applies to the next order, and can be removed", async () => {
    const first = await started();
    const merchant = valueOf(await first.merchants.registerMerchant({ name: 'Shop', mode: 'test' }, BY));
    const by: Caller = { ...caller, merchantId: merchant.id };
    const change = (body: object) =>
      merchantRoutes(first.merchants)
        .find(({ operation }) => operation.id === 'changeMerchant')!
        .handle({ caller: by, body: changeMerchantBody.parse(body) } as never);
    const { deps, free } = sessionWorld();
    free.push(3);
    const toleratedOf = async (orderId: string, { directory }: Pick<typeof first, 'directory'>, amount = '10.00') =>
      valueOf(await createSession({ ...deps, merchants: directory }, by, { ...order, orderId, amount })).context
        .created!.policy.tolerance;
    const refused = { ok: false, refusal: { code: 'invalid_request', param: 'tolerance_percent' } };
    expect(await change({ tolerance_percent: '5.01' })).toMatchObject(refused);
    expect(await change({ tolerance_percent: '0.125' })).toMatchObject(refused);
    expect(await change({ tolerance: '0.30', tolerance_percent: '2' })).toMatchObject({
      body: { tolerance: '0.30', tolerance_percent: '2', pending_changes: [] },
    });
    expect(await toleratedOf('order-1', first)).toBe('0.20');
    expect(await toleratedOf('order-2', await started(), '20.00')).toBe('0.30');
    expect(await change({ tolerance_percent: null })).toMatchObject({
      body: { tolerance: '0.30', tolerance_percent: null },
    });
    expect(await toleratedOf('order-3', first)).toBe('0.30');
    expect(await toleratedOf('order-1', first)).toBe('0.20');
  });
});

describe('after a restart', () => {
  it('everything is there again, opened from the log', async () => {
    const first = await started();
    const merchant = valueOf(
      await first.merchants.registerMerchant({ name: 'Shop', mode: 'test', webhookUrl: 'https://hooks.shop.com/' }, BY),
    );
    const second = valueOf(await first.merchants.issueKey(merchant.id, {}, BY));
    valueOf(await first.merchants.revokeKey(merchant.id, second.key_id, BY));
    valueOf(await first.merchants.addDomain(merchant.id, { host: 'Shop.COM', name: 'My shop' }, BY));
    valueOf(await first.merchants.setPolicy(merchant.id, { tolerance: '0.05', networks: ['tron', 'bsc'] }, BY));
    await first.directory.close();
    await store.close();
    store = await openSqliteEventStore({ dataDir: folder });
    const { directory, endpoints } = await started();
    expect(sameKey(directory.find(sha256(merchant.api_key))!.secret, merchant.api_secret)).toBe(true);
    expect(directory.find(sha256(second.api_key))).toBeNull();
    expect(sameKey(endpoints.endpointOf(merchant.id)!.secret, merchant.webhook_secret)).toBe(true);
    expect(directory.settings(merchant.id)).toMatchObject({
      domains: [{ host: 'shop.com', shopName: 'My shop' }],
      policy: { tolerance: '0.05', networks: ['tron', 'bsc'] },
    });
  });

  it('a wrong master key stops the start instead of answering 401 to everybody', async () => {
    valueOf(await (await started(KEY_A)).merchants.registerMerchant({ name: 'Shop', mode: 'test' }, BY));
    await expect((await node(KEY_B)).start()).rejects.toMatchObject({
      name: 'InvalidMasterKey',
      message: expect.stringMatching(
        /cannot be decrypted: sealed under the key [0-9a-f]{8}, which MASTER_KEY does not hold.*MASTER_KEY=<new>,<old>/,
      ) as string,
    });
  });

  it('a new master key in front of the old one opens what the old one sealed', async () => {
    const merchant = valueOf(
      await (await started(KEY_A)).merchants.registerMerchant({ name: 'Shop', mode: 'test' }, BY),
    );
    const { directory, merchants } = await started(`${KEY_B},${KEY_A}`);
    expect(sameKey(directory.find(sha256(merchant.api_key))!.secret, merchant.api_secret)).toBe(true);
    const fresh = valueOf(await merchants.issueKey(merchant.id, {}, BY));
    expect(sameKey(directory.find(sha256(fresh.api_key))!.secret, fresh.api_secret)).toBe(true);
  });

  it('a secret moved to another merchant does not open', async () => {
    const first = await started();
    const merchant = valueOf(await first.merchants.registerMerchant({ name: 'Shop', mode: 'test' }, BY));
    const stolen = (
      JSON.parse((await store.readStream(`merchant-${merchant.id}`))[1]!.data) as { sealedSecret: string }
    ).sealedSecret;
    expect(() =>
      createSealer(parseMasterKeys(KEY_A)).open('api-secrets', stolen, `mer_other|${merchant.key_id}|1|api_secret`),
    ).toThrow(/altered, or sealed for something else/);
  });
});

describe('several nodes', () => {
  it("see each other's changes", async () => {
    const one = await started();
    const other = await started();
    const merchant = valueOf(await one.merchants.registerMerchant({ name: 'Shop', mode: 'test' }, BY));
    await other.directory.catchUp();
    expect(other.directory.find(sha256(merchant.api_key))).not.toBeNull();
    valueOf(await other.merchants.revokeKey(merchant.id, merchant.key_id, BY));
    await one.directory.catchUp();
    expect(one.directory.find(sha256(merchant.api_key))).toBeNull();
  });

  it('believe no revoked key, although an event after it in the same batch cannot be read', async () => {
    const one = await started();
    const merchant = valueOf(await one.merchants.registerMerchant({ name: 'Shop', mode: 'test' }, BY));
    const known = await store.readStream(`merchant-${merchant.id}`);
    valueOf(await one.merchants.revokeKey(merchant.id, merchant.key_id, BY));
    const [revoked] = await store.readStream(`merchant-${merchant.id}`, { from: known.length });
    let take: SubscribeOptions['onEvents'] = () => undefined;
    const subscribe = (options: SubscribeOptions): Subscription => {
      take = options.onEvents;
      void options.onCaughtUp?.();
      return { position: null, lag: 0, reached: async () => undefined, close: async () => undefined };
    };
    const directory = new MerchantDirectory({
      store: storeWith(store, { subscribe }),
      sealer: createSealer(parseMasterKeys(KEY_A)),
    });
    await directory.start();
    await take(known);
    expect(directory.find(sha256(merchant.api_key))).not.toBeNull();
    const fromANewerNode = { ...known[0]!, stream: 'merchant-mer_other', version: 99 };
    await expect(async () => take([revoked!, fromANewerNode])).rejects.toThrow();
    expect(directory.find(sha256(merchant.api_key))).toBeNull();
    await directory.close();
  });

  it('that change one merchant at the same time both succeed', async () => {
    const [one, other] = [await started(), await started()];
    const merchant = valueOf(await one.merchants.registerMerchant({ name: 'Shop', mode: 'test' }, BY));
    const results = await Promise.all([
      one.merchants.issueKey(merchant.id, {}, BY),
      other.merchants.issueKey(merchant.id, {}, BY),
      one.merchants.setPolicy(merchant.id, { tolerance: '1' }, BY),
      other.merchants.addDomain(merchant.id, { host: 'shop.com', name: 'Shop' }, BY),
    ]);
    expect(results.every((result) => result.ok)).toBe(true);
    const hashes = (await store.readStream(`merchant-${merchant.id}`)).map((event) => event.hash);
    const prevs = (await store.readStream(`merchant-${merchant.id}`)).map(
      (event) => (JSON.parse(event.metadata) as { prev: string }).prev,
    );
    expect(prevs).toEqual(['', ...hashes.slice(0, -1)]);
    expect(hashes).toHaveLength(7);
  });
});

describe('the webhook secret', () => {
  it('is rotated in two steps, the old one in force until the second', async () => {
    const { merchants, endpoints } = await started();
    const merchant = valueOf(
      await merchants.registerMerchant({ name: 'Shop', mode: 'test', webhookUrl: 'https://hooks.shop.com/' }, BY),
    );
    const issued = valueOf(await merchants.issueWebhookSecret(merchant.id, BY));
    const nowSec = Math.floor(clock.nowMs() / 1000);
    expect(issued.activates_at).toBe(nowSec + 86_400);
    const between = endpoints.endpointOf(merchant.id)!;
    expect(sameKey(between.secret, merchant.webhook_secret)).toBe(true);
    expect(sameKey(between.nextSecret!.key, issued.webhook_secret)).toBe(true);
    expect(between.nextSecret!.activatesAtSec).toBe(nowSec + 86_400);
    expect(merchants.getMerchant(merchant.id)?.webhook?.next_secret_activates_at).toBe(nowSec + 86_400);
    valueOf(await merchants.activateWebhookSecret(merchant.id, BY));
    const after = endpoints.endpointOf(merchant.id)!;
    expect(sameKey(after.secret, issued.webhook_secret)).toBe(true);
    expect(after.nextSecret).toBeNull();
  });

  it('can be rotated again and again, also after a day without an activation', async () => {
    const { merchants, endpoints } = await started();
    const merchant = valueOf(
      await merchants.registerMerchant({ name: 'Shop', mode: 'test', webhookUrl: 'https://hooks.shop.com/' }, BY),
    );
    const second = valueOf(await merchants.issueWebhookSecret(merchant.id, BY));
    clock.advance(86_400_000);
    expect(merchants.getMerchant(merchant.id)?.webhook?.next_secret_activates_at).toBeNull();
    const third = valueOf(await merchants.issueWebhookSecret(merchant.id, BY));
    const endpoint = endpoints.endpointOf(merchant.id)!;
    expect(sameKey(endpoint.secret, second.webhook_secret)).toBe(true);
    expect(sameKey(endpoint.nextSecret!.key, third.webhook_secret)).toBe(true);
  });
});

describe('what a merchant does with its own endpoint', () => {
  it('happens once for each Idempotency-Key, and shows the same secret again', async () => {
    const { merchants, endpoints } = await started();
    const own = new OwnEndpoints({ merchants, idempotency: new Idempotency({ store, clock, random: nodeRandom }) });
    const merchant = valueOf(
      await merchants.registerMerchant({ name: 'Shop', mode: 'test', webhookUrl: 'https://hooks.shop.com/' }, BY),
    );
    const { endpointId } = endpoints.endpointOf(merchant.id)!;
    const caller = (idempotencyKey: string): Caller => ({
      ...{ merchantId: merchant.id, mode: 'test', requestId: 'req_1', idempotencyKey },
    });
    const first = valueOf(await own.issueSecret(caller('a'), endpointId));
    expect(valueOf(await own.issueSecret(caller('a'), endpointId))).toEqual(first);
    expect(sameKey(endpoints.endpointOf(merchant.id)!.nextSecret!.key, first.webhook_secret)).toBe(true);
    expect(await everyText()).not.toContain(first.webhook_secret.slice(9));
    valueOf(await own.activateSecret(caller('b'), endpointId));
    expect(valueOf(await own.activateSecret(caller('b'), endpointId))).toMatchObject({
      next_secret_activates_at: null,
    });
    expect(valueOf(await own.issueSecret(caller('a'), endpointId)).webhook_secret).toBe(first.webhook_secret);
    expect(sameKey(endpoints.endpointOf(merchant.id)!.secret, first.webhook_secret)).toBe(true);
    expect(await own.activateSecret(caller('c'), endpointId)).toMatchObject({
      ok: false,
      refusal: { code: 'invalid_request' },
    });

    valueOf(await own.issueSecret(caller('d'), endpointId));
    valueOf(await own.issueSecret(caller('e'), endpointId));
    expect(await own.issueSecret(caller('d'), endpointId)).toMatchObject({ ok: false, refusal: { code: 'conflict' } });
    const elsewhere = [
      own.issueSecret(caller('f'), 'we_other'),
      own.activateSecret(caller('g'), 'we_other'),
      own.resume(caller('h'), 'we_other'),
    ];
    for (const outcome of await Promise.all<Outcome<unknown>>(elsewhere))
      expect(outcome).toMatchObject({ ok: false, refusal: { code: 'not_found' } });
  });

  it('resumes a suspended endpoint, as does setting it to its current URL', async () => {
    const { merchants, endpoints } = await started();
    const own = new OwnEndpoints({ merchants, idempotency: new Idempotency({ store, clock, random: nodeRandom }) });
    const merchant = valueOf(
      await merchants.registerMerchant({ name: 'Shop', mode: 'test', webhookUrl: 'https://hooks.shop.com/' }, BY),
    );
    const { endpointId } = endpoints.endpointOf(merchant.id)!;
    const caller: Caller = { merchantId: merchant.id, mode: 'test', requestId: 'req_1' };
    for (const resume of [
      () => own.resume(caller, endpointId),
      () => merchants.setWebhook(merchant.id, { url: 'https://hooks.shop.com/' }, BY),
    ]) {
      await endpoints.suspend(merchant.id, endpointId, 'gone');
      expect(own.get(caller, endpointId)?.suspended).toBe('gone');
      expect((await resume()).ok).toBe(true);
      expect(endpoints.endpointOf(merchant.id)?.suspended).toBe(false);
    }
  });
});

describe('the endpoint', () => {
  it('is announced when it changes, and only then', async () => {
    const { merchants, endpoints } = await started();
    const merchant = valueOf(await merchants.registerMerchant({ name: 'Shop', mode: 'test' }, BY));
    expect(endpoints.endpointOf(merchant.id)).toBeNull();
    const told: QueueId[] = [];
    const stop = endpoints.onChange((id) => told.push(id));
    valueOf(await merchants.setPolicy(merchant.id, { tolerance: '1' }, BY));
    expect(told).toEqual([]);
    valueOf(await merchants.setWebhook(merchant.id, { url: 'https://hooks.shop.com/', durableRedelivery: true }, BY));
    expect(told).toEqual([merchant.id]);
    const endpoint = endpoints.endpointOf(merchant.id)!;
    expect(endpoint).toMatchObject({ durableRedelivery: true });
    expect(sameKey(endpoint.secret, merchant.webhook_secret)).toBe(true);
    await endpoints.suspend(merchant.id, endpoint.endpointId, 'gone');
    await endpoints.suspend(merchant.id, endpoint.endpointId, 'gone');
    await endpoints.suspend(merchant.id, 'we_other', 'gone');
    expect(endpoints.endpointOf(merchant.id)?.suspended).toBe(true);
    expect(told).toHaveLength(2);
    valueOf(await merchants.resumeWebhook(merchant.id, BY));
    expect(endpoints.endpointOf(merchant.id)?.suspended).toBe(false);
    stop();
    valueOf(await merchants.setWebhook(merchant.id, { url: null }, BY));
    expect(told).toHaveLength(3);
    expect(endpoints.endpointOf(merchant.id)).toBeNull();
  });
});

describe('further endpoints', () => {
  const world = async () => {
    const { merchants, endpoints } = await started();
    const own = new OwnEndpoints({ merchants, idempotency: new Idempotency({ store, clock, random: nodeRandom }) });
    const merchant = valueOf(
      await merchants.registerMerchant({ name: 'Shop', mode: 'test', webhookUrl: 'https://hooks.shop.com/' }, BY),
    );
    const caller = (idempotencyKey?: string): Caller => ({
      ...{ merchantId: merchant.id, mode: 'test', requestId: 'req_1' },
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    });
    const books = {
      url: 'https://books.shop.com/',
      events: ['payment.late', 'payment.completed'],
      fields: ['tx_hash'],
    };
    return { merchants, endpoints, own, merchant, caller, books };
  };

  it('receive what they subscribe to, with a secret of their own, and exist once however often they are requested with one key', async () => {
    const { endpoints, own, merchant, caller, books } = await world();
    const told: QueueId[] = [];
    endpoints.onChange((queue) => told.push(queue));
    const [first, again] = [valueOf(await own.add(caller('k'), books)), valueOf(await own.add(caller('k'), books))];
    expect(again).toEqual(first);
    expect(first.endpoint).toMatchObject({
      url: books.url,
      events: ['payment.completed', 'payment.late'],
      fields: ['tx_hash'],
      disabled: false,
    });
    const queue = queueOfEndpoint(merchant.id, first.endpoint.endpoint_id);
    expect(told).toEqual([queue]);
    expect(sameKey(endpoints.endpointOf(queue)!.secret, first.webhook_secret)).toBe(true);
    expect(endpoints.endpointOf(merchant.id)?.url).toBe('https://hooks.shop.com/');
    expect(endpoints.subscriptionsOf(merchant.id)).toEqual([
      { furtherEndpointId: null, types: new Set(OUTCOME_TYPES), fields: [] },
      { furtherEndpointId: first.endpoint.endpoint_id, types: new Set(books.events), fields: ['tx_hash'] },
    ]);
    expect(own.list(caller()).map(({ url }) => url)).toEqual(['https://hooks.shop.com/', books.url]);
  });

  it('are changed, switched off, rotated and resumed without touching the default one', async () => {
    const { endpoints, own, merchant, caller, books } = await world();
    const { endpoint, webhook_secret: secret } = valueOf(await own.add(caller(), books));
    const id = endpoint.endpoint_id;
    const queue = queueOfEndpoint(merchant.id, id);
    const before = endpoints.endpointOf(merchant.id);

    const issued = valueOf(await own.issueSecret(caller(), id));
    expect(sameKey(endpoints.endpointOf(queue)!.secret, secret)).toBe(true);
    valueOf(await own.activateSecret(caller(), id));
    expect(sameKey(endpoints.endpointOf(queue)!.secret, issued.webhook_secret)).toBe(true);

    await endpoints.suspend(merchant.id, id, 'gone');
    expect(own.get(caller(), id)?.suspended).toBe('gone');
    valueOf(await own.resume(caller(), id));
    expect(endpoints.endpointOf(queue)?.suspended).toBe(false);

    expect(valueOf(await own.change(caller(), id, { disabled: true })).disabled).toBe(true);
    expect(endpoints.endpointOf(queue)).toBeNull();
    expect(endpoints.subscriptionsOf(merchant.id)).toHaveLength(1);
    expect(valueOf(await own.change(caller(), id, { disabled: false, url: 'https://new.shop.com/' })).url).toBe(
      'https://new.shop.com/',
    );
    expect(endpoints.endpointOf(queue)?.url).toBe('https://new.shop.com/');
    expect(endpoints.endpointOf(merchant.id)).toEqual(before);
  });

  it('are refused with the field at fault', async () => {
    const { own, caller, books } = await world();
    const refusals = [
      await own.add(caller(), { ...books, url: 'ftp://books.shop.com/' }),
      await own.add(caller(), { ...books, events: ['payment.lost'] }),
      await own.add(caller(), { ...books, events: [] }),
      await own.add(caller(), { ...books, fields: ['colour'] }),
    ];
    expect(refusals.map((outcome) => (outcome.ok ? null : outcome.refusal.param))).toEqual([
      'url',
      'events',
      'events',
      'fields',
    ]);
    expect(await own.change(caller(), 'we_other', { disabled: true })).toMatchObject({
      ok: false,
      refusal: { code: 'not_found' },
    });
    for (let count = 0; count < 15; count += 1) valueOf(await own.add(caller(), books));
    expect(await own.add(caller(), books)).toMatchObject({ ok: false, refusal: { code: 'invalid_request' } });
  });
});

describe('domains', () => {
  it('are kept in the form in which URLs give their host back', async () => {
    const { merchants, directory } = await started();
    const merchant = valueOf(await merchants.registerMerchant({ name: 'Shop', mode: 'test' }, BY));
    const added = valueOf(await merchants.addDomain(merchant.id, { host: 'Café.Example', name: 'Café' }, BY));
    expect(added).toMatchObject({
      domain_id: expect.stringMatching(/^dom_[a-z2-7]{20}$/) as string,
      host: 'xn--caf-dma.example',
    });
    expect(valueOf(await merchants.addDomain(merchant.id, { host: 'café.example', name: 'Café' }, BY))).toEqual(added);
    expect(directory.settings(merchant.id)?.domains).toHaveLength(1);
    valueOf(await merchants.removeDomain(merchant.id, added.domain_id, BY));
    expect(directory.settings(merchant.id)?.domains).toEqual([]);
  });

  it('are nothing but hosts', async () => {
    const { merchants } = await started();
    const merchant = valueOf(await merchants.registerMerchant({ name: 'Shop', mode: 'live' }, BY));
    for (const host of [
      '',
      'https://shop.com',
      'shop.com/x',
      'shop.com:8080',
      'a@shop.com',
      'shop com',
      '[::1]',
      'localhost',
      '%61.com',
      'x'.repeat(300),
    ]) {
      expect(await merchants.addDomain(merchant.id, { host, name: 'Shop' }, BY), host).toMatchObject({
        ok: false,
        refusal: { code: 'invalid_request', param: 'host' },
      });
    }
  });
});
