import { expect, it } from 'vitest';
import { nodeRandom } from '../../../../src/adapters/node/random.ts';
import type { MerchantId } from '../../../../src/domain/ids.ts';
import type { NetworkSettings } from '../../../../src/domain/networks.ts';
import { StoreUnavailable } from '../../../../src/ports/event-store.ts';
import { NotificationIds } from '../../../../src/runtime/commands/notification-ids.ts';
import { createSession, type CreateSessionDeps } from '../../../../src/features/sessions/create.ts';
import { Idempotency } from '../../../../src/features/shared/idempotency.ts';
import type { Caller, CreateSessionInput } from '../../../../src/features/shared/merchant-api.ts';
import type { MerchantDomain } from '../../../../src/features/merchants/lookup.ts';
import { PersonalData } from '../../../../src/features/shared/personal-data.ts';
import { createSessionHandler } from '../../../../src/features/shared/handlers/session-handler.ts';
import { SessionIds } from '../../../../src/features/sessions/ids.ts';
import { DEFAULT_POLICY } from '../../../../state-machines/merchant/merchant.state.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';
import { ManualClock } from '../../../support/price-feed.ts';

const caller = { merchantId: 'mer_shop', mode: 'test', keyId: 'key_1', requestId: 'req_1' } as Caller;
const order: CreateSessionInput = { amount: '10.00', currency: 'USDT', orderId: 'order-1', description: 'Two mugs' };
const ethereum: NetworkSettings = {
  network: 'ethereum',
  mode: 'test',
  chainId: '31337',
  tokens: [{ coin: 'USDT', address: '0xdac17f958d2ee523a2206206994597c13d831ec7', decimals: 6 }],
  simulated: false,
  mainNetwork: false,
  explorerTransactionUrl: null,
};

/** One merchant with one network; `free` are the indexes of the addresses that wait to be given out. */
function world(create: () => Promise<{ salt: Uint8Array; renewed?: boolean }> = async () => ({ salt: new Uint8Array(32) })) {
  const store = new MemoryEventStore();
  const clock = new ManualClock();
  const domains: MerchantDomain[] = [];
  const free = [1, 2];
  const erased: string[] = [];
  const keys = { create, get: async () => new Uint8Array(32), erase: async (subject: string) => void erased.push(subject) };
  const deps: CreateSessionDeps = {
    sessions: createSessionHandler({ store, clock, random: nodeRandom, notificationIds: new NotificationIds(clock), soleWriter: true }),
    ids: new SessionIds([{ version: 1, bytes: new Uint8Array(32) }]),
    merchants: { settings: () => ({ merchantId: 'mer_shop' as MerchantId, name: 'Shop', mode: 'test', policy: DEFAULT_POLICY, domains }) },
    rates: { lock: async () => null, valuation: () => null, close: async () => undefined },
    addresses: {
      take: (_mode, family) => {
        const index = free.shift();
        return index === undefined ? null : { family, address: `0x${String(index).padStart(40, '0')}`, derivationIndex: index };
      },
      giveBack: (_mode, { derivationIndex }) => void free.push(derivationIndex),
    },
    personal: new PersonalData(keys, { seal: () => 'sealed', open: () => '{}' }),
    idempotency: new Idempotency({ store, clock, random: nodeRandom }),
    clock,
    random: nodeRandom,
    networks: () => [ethereum],
    sessionTtlSec: 1800,
    conversionDecimals: 2,
    dustLimit: '0.01',
  };
  return { deps, domains, free, erased };
}

it('keeps its addresses when the key of its personal data could not be made: nobody was shown them', async () => {
  const { deps, free } = world(() => Promise.reject(new StoreUnavailable('no answer')));
  await expect(createSession(deps, caller, order)).rejects.toThrow(StoreUnavailable);
  expect(free.toSorted()).toEqual([1, 2]);
});

it('answers a retry with the session also when the domain it named was removed meanwhile', async () => {
  const { deps, domains } = world();
  domains.push({ domainId: 'dom_1', host: 'shop.example', shopName: 'Shop' });
  const named = { ...order, merchantDomainId: 'dom_1' };
  const first = await createSession(deps, caller, named);
  domains.pop();
  const again = await createSession(deps, caller, named);
  expect(again).toMatchObject({ ok: true, repeated: true });
  expect(first.ok && again.ok && again.value.context.created).toEqual(first.ok && first.value.context.created);
  expect(await createSession(deps, caller, { ...named, orderId: 'order-2' })).toMatchObject({
    ok: false,
    refusal: { code: 'invalid_request', param: 'merchant_domain_id' },
  });
});

it('leaves a forgotten session forgotten when its create is sent again', async () => {
  let created = 0;
  const { deps, erased } = world(async () => ({ salt: new Uint8Array(32), ...((created += 1) > 1 && { renewed: true }) }));
  const first = await createSession(deps, caller, order);
  expect(erased).toEqual([]);
  expect(await createSession(deps, caller, order)).toMatchObject({ ok: true, repeated: true });
  expect(erased).toEqual([first.ok && first.value.context.created!.sessionId]);
});

it('an amount that converts past the largest one is a bad request on `amount`, and takes no address', async () => {
  const { deps, free } = world();
  const lock = { rate: '1.0002', lockedAtSec: 0, rule: 'test', quotes: [] };
  const rates = { ...deps.rates, lock: async () => lock };
  const create = (amount: string) => createSession({ ...deps, rates }, caller, { ...order, currency: 'USD', targetCurrency: 'USDT', amount });
  const refused = await create('999999999999.99');
  expect(refused).toMatchObject({ ok: false, refusal: { code: 'invalid_request', param: 'amount' } });
  expect(free.toSorted()).toEqual([1, 2]);
  expect(await create('999800000000.00')).toMatchObject({ ok: true });
});
