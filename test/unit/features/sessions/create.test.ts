import { describe, expect, it } from 'vitest';
import type { SessionId } from '../../../../src/domain/values/ids.ts';
import { toSec } from '../../../../src/ports/clock.ts';
import { sessionStream } from '../../../../src/domain/values/streams.ts';
import type { Caller, CreateSessionInput } from '../../../../src/features/shared/merchant-api.ts';
import { StoreUnavailable } from '../../../../src/ports/event-log/event-store.ts';
import { successorOf } from '../../../../src/features/sessions/attempts.ts';
import { createSession, type CreateSessionDeps } from '../../../../src/features/sessions/create.ts';
import { caller, order, sessionWorld } from '../../../support/session-world.ts';

it('keeps its addresses when the key of its personal data could not be created: nobody has seen them', async () => {
  const { deps, free } = sessionWorld({ create: () => Promise.reject(new StoreUnavailable('no answer')) });
  await expect(createSession(deps, caller, order)).rejects.toThrow(StoreUnavailable);
  expect(free.toSorted()).toEqual([1, 2]);
});

it('sets no deadline by a clock in doubt, and returns an existing session', async () => {
  const { deps, free } = sessionWorld();
  const inDoubt = { ...deps, isClockInDoubt: () => true };
  expect(await createSession(inDoubt, caller, order)).toMatchObject({
    ok: false,
    refusal: { code: 'clock_in_doubt' },
    retryAfterSec: 5,
  });
  expect(free).toEqual([1, 2]);
  await createSession(deps, caller, order);
  expect(await createSession(inDoubt, caller, order)).toMatchObject({ ok: true, repeated: true });
});

it('returns the session on a retry even if its domain was removed meanwhile', async () => {
  const { deps, domains } = sessionWorld();
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

it('keeps personal data erased when the create of the session is sent again', async () => {
  let isForgotten = false;
  const { deps, erased } = sessionWorld({ create: async () => (isForgotten ? null : { salt: new Uint8Array(32) }) });
  const first = await createSession(deps, caller, order);
  isForgotten = true;
  const again = await createSession(deps, caller, order);
  expect(again).toMatchObject({ ok: true, repeated: true });
  expect(again.ok && again.value.context.created).toEqual(first.ok && first.value.context.created);
  expect(erased).toEqual([]);
});

it('an amount that converts to more than the maximum is an invalid `amount`, and uses no address', async () => {
  const { deps, free } = sessionWorld({ rate: '1.0002' });
  const create = (amount: string) =>
    createSession(deps, caller, { ...order, currency: 'USD', targetCurrency: 'USDT', amount });
  const refused = await create('999999999999.99');
  expect(refused).toMatchObject({ ok: false, refusal: { code: 'invalid_request', param: 'amount' } });
  expect(free.toSorted()).toEqual([1, 2]);
  expect(await create('999800000000.00')).toMatchObject({ ok: true });
});

describe('another session for an order', () => {
  const idOf = async (created: ReturnType<typeof createSession>): Promise<SessionId> => {
    const result = await created;
    if (!result.ok) throw new Error(result.refusal.message);
    return result.value.context.created!.sessionId;
  };
  const cancel = (deps: CreateSessionDeps, id: SessionId) =>
    deps.sessions.execute(
      sessionStream(id),
      { type: 'CancelSession', nowSec: toSec(deps.clock.nowMs()) },
      { correlationId: 'req_2', actor: 'test' },
    );

  it('follows a session that ended unpaid, once, and leads there', async () => {
    const { deps, free } = sessionWorld();
    free.push(3, 4);
    const first = await idOf(createSession(deps, caller, order));
    await cancel(deps, first);
    const state = (await deps.sessions.read(sessionStream(first)))!;
    expect(await successorOf(deps, state)).toBeNull();
    const again = { ...order, amount: '12.00', supersedes: first };
    const second = await idOf(createSession(deps, caller, again));
    expect(second).not.toBe(first);
    expect(await createSession(deps, caller, again)).toMatchObject({
      ok: true,
      repeated: true,
      value: { context: { created: { sessionId: second } } },
    });
    expect(await createSession(deps, caller, { ...again, amount: '13.00' })).toMatchObject({
      ok: false,
      refusal: { code: 'order_id_conflict' },
    });
    // That the order is used is told before that its parts do not make its total.
    const mismatch = { code: 'line_items_mismatch', message: 'they do not add up', param: 'line_items' } as const;
    expect(await createSession(deps, caller, { ...again, amount: '13.00', mismatch })).toMatchObject({
      ok: false,
      refusal: { code: 'order_id_conflict' },
    });
    expect(await createSession(deps, caller, { ...order, orderId: 'unused', mismatch })).toEqual({
      ok: false,
      refusal: mismatch,
    });
    expect(await successorOf(deps, state)).toBe(second);
    // Without naming it, the order is the first session's as before, and that one is over.
    const repeated = (input: CreateSessionInput, world: CreateSessionDeps = deps) =>
      createSession(world, caller, input);
    const over = (id: SessionId) => ({
      ok: false,
      refusal: {
        code: 'session_expired',
        param: 'order_id',
        message: expect.stringContaining(`${id} of this order has ended (cancelled)`),
      },
    });
    expect(await repeated(order)).toMatchObject(over(first));
    expect(await repeated(order, { ...deps, isClockInDoubt: () => true })).toMatchObject(over(first));
    await cancel(deps, second);
    expect(await repeated(again)).toMatchObject(over(second));
    expect(await idOf(repeated({ ...again, supersedes: second }))).not.toBe(second);
    expect(free).toEqual([4]);
  });

  it.each([
    ['of another order', { orderId: 'order-2' }, caller, 'invalid_request', 'another order'],
    [
      'of another merchant',
      {},
      { ...caller, merchantId: 'mer_other' } as Caller,
      'invalid_request',
      'not one of your sessions',
    ],
    ['of another mode', {}, { ...caller, mode: 'live' as const }, 'invalid_request', 'not one of your sessions'],
    ['that is open', {}, caller, 'conflict', 'can still be paid'],
  ])('is refused after one %s, and uses no address', async (_, change, by, code, words) => {
    const { deps, free } = sessionWorld();
    const supersedes = await idOf(createSession(deps, caller, order));
    expect(await createSession(deps, by, { ...order, ...change, supersedes })).toMatchObject({
      ok: false,
      refusal: { code, param: 'supersedes', message: expect.stringContaining(words) },
    });
    expect(free).toEqual([2]);
  });

  it('is refused after a paid one, while a retry of an earlier create returns its session', async () => {
    const { deps } = sessionWorld();
    const first = await idOf(createSession(deps, caller, order));
    await cancel(deps, first);
    const second = await idOf(createSession(deps, caller, { ...order, supersedes: first }));
    const { context } = (await deps.sessions.read(sessionStream(first)))!;
    const asPaid = {
      ...deps,
      sessions: {
        read: async (stream: string) =>
          stream === sessionStream(first) ? { value: 'paid', context } : deps.sessions.read(stream),
      },
    };
    const refused = await createSession(asPaid as unknown as CreateSessionDeps, caller, {
      ...order,
      amount: '1.00',
      supersedes: first,
    });
    expect(refused).toMatchObject({ ok: false, refusal: { code: 'conflict', param: 'supersedes' } });
    expect(
      await createSession(asPaid as unknown as CreateSessionDeps, caller, { ...order, supersedes: first }),
    ).toMatchObject({
      ok: true,
      repeated: true,
      value: { context: { created: { sessionId: second } } },
    });
  });
});

describe('the coin of a session', () => {
  const both = { offerBothCoins: true, tolerance: '1.00' };
  const rate = { USDT: '1.1', USDC: '1.2' };
  const inEuro: CreateSessionInput = { ...order, currency: 'EUR' };
  const made = async (input: CreateSessionInput, world: Parameters<typeof sessionWorld>[0]) => {
    const { deps, free } = sessionWorld(world);
    const result = await createSession(deps, caller, input);
    if (!result.ok) throw new Error(result.refusal.message);
    return { created: result.value.context.created!, free, deps };
  };

  it('is chosen by the payer where the merchant offers both: each at its own rate, tolerance and dust limit, at one address', async () => {
    const { created, free } = await made(inEuro, { rate, policy: both });
    expect(created).toMatchObject({
      dueCoin: 'USDT',
      dueAmount: '11.00',
      rateLock: { rate: '1.1' },
      policy: { tolerance: '0.55', dustLimit: '0.01' },
    });
    expect(created.alternative).toMatchObject({
      coin: 'USDC',
      dueAmount: '12.00',
      rateLock: { rate: '1.2' },
      tolerance: '0.60',
      dustLimit: '0.01',
    });
    expect(created.paymentOptions.map(({ coin }) => coin)).toEqual(['USDT', 'USDC']);
    expect(new Set(created.paymentOptions.map(({ address }) => address)).size).toBe(1);
    expect(new Set(created.paymentOptions.map(({ tokenAddress }) => tokenAddress)).size).toBe(2);
    expect(free).toEqual([2]);
  });

  it('is as final in either: by the higher of both amounts', async () => {
    const { created } = await made({ ...inEuro, amount: '8500.00' }, { rate, policy: both });
    expect(created.paymentOptions.map(({ finality }) => finality.kind)).toEqual(['finalized', 'finalized']);
  });

  it.each([
    ['the merchant does not offer both', inEuro, { rate, policy: {} }, 'USDT'],
    ['the create names it', { ...inEuro, targetCurrency: 'USDC' as const }, { rate, policy: both }, 'USDC'],
    ['the order is priced in a coin', order, { rate, policy: both }, 'USDT'],
    ['the other one has no rate', inEuro, { rate: { USDT: '1.1' }, policy: both }, 'USDT'],
    ['the other one would be too much', { ...inEuro, amount: '900000000000.00' }, { rate, policy: both }, 'USDT'],
  ])('is one alone where %s', async (_, input, world, coin) => {
    const { created } = await made(input, world);
    expect(created.alternative).toBeUndefined();
    expect(created.paymentOptions.map((option) => option.coin)).toEqual([coin]);
  });

  it("is refused with the merchant's own coin when that one has no rate, whatever the other one has", async () => {
    const { deps, free } = sessionWorld({ rate: { USDC: '1.2' }, policy: both });
    expect(await createSession(deps, caller, inEuro)).toMatchObject({
      ok: false,
      refusal: { code: 'rate_unavailable' },
    });
    expect(free).toEqual([1, 2]);
  });
});

it('a currency that will never have a rate is a bad request on `currency`, and one that has none just now is not', async () => {
  const { deps, free } = sessionWorld({ rate: null });
  const create = (currency: string) => createSession(deps, caller, { ...order, currency, targetCurrency: 'USDT' });
  expect(await create('XAU')).toMatchObject({ ok: false, refusal: { code: 'invalid_request', param: 'currency' } });
  expect(await create('USD')).toMatchObject({ ok: false, refusal: { code: 'rate_unavailable' } });
  expect(free.toSorted()).toEqual([1, 2]);
});

describe('a retry', () => {
  const item = { price_data: { currency: 'usd', unit_amount: '5', product_data: { name: 'Mug' } }, quantity: 2 };
  const first = { ...order, amount: '10.00', taxAmount: '1.00', shippingAmount: '0.50', lineItems: [item] };
  const written = {
    ...{ lineItems: [{ quantity: 2, price_data: { ...item.price_data, currency: 'USD', unit_amount: '5.00' } }] },
    shippingAmount: '0.5',
    taxAmount: '1',
    amount: '10',
    currency: order.currency,
    orderId: order.orderId,
    description: order.description!,
  };

  it('is the same request however its amounts are written and its fields are ordered', async () => {
    const { deps } = sessionWorld();
    const keyed = { ...caller, idempotencyKey: 'k1' };
    expect(await createSession(deps, keyed, first)).toMatchObject({ ok: true });
    expect(await createSession(deps, keyed, written)).toMatchObject({ ok: true, repeated: true });
  });

  it.each([
    ['amount', { amount: '10.01' }],
    ['tax', { taxAmount: '1.01' }],
    ['unit price', { lineItems: [{ ...item, price_data: { ...item.price_data, unit_amount: '5.01' } }] }],
  ])('with another %s is another request', async (_, change) => {
    const { deps } = sessionWorld();
    await createSession(deps, caller, first);
    expect(await createSession(deps, caller, { ...first, ...change })).toMatchObject({
      ok: false,
      refusal: { code: 'order_id_conflict' },
    });
  });
});

describe('the tolerance of a session', () => {
  const toleranceOf = async (amount: string, tolerance: string, maxPercent = 5): Promise<string | false> => {
    const { deps } = sessionWorld({ policy: { tolerance } });
    const made = await createSession({ ...deps, toleranceBounds: { maxPercent, max: '100' } }, caller, {
      ...order,
      amount,
    });
    return made.ok && made.value.context.created!.policy.tolerance;
  };

  it('is the amount that the merchant set, and never more than a share of what is due', async () => {
    expect(await toleranceOf('100.00', '1.00')).toBe('1.00');
    expect(await toleranceOf('20.00', '1.00')).toBe('1.00');
    expect(await toleranceOf('19.99', '1.00')).toBe('0.9995');
    expect(await toleranceOf('0.50', '1.00')).toBe('0.025');
    expect(await toleranceOf('0.000001', '1.00')).toBe('0.00000005');
    expect(await toleranceOf('0.50', '1.00', 0)).toBe('0.00');
    expect(await toleranceOf('1000000', '300')).toBe('100.00');
  });

  it('is never more than the amount that the operator allows, whatever share the merchant set', async () => {
    const { deps } = sessionWorld({ policy: { tolerance: '0', tolerancePercent: '5' } });
    const made = await createSession(deps, caller, { ...order, amount: '900000' });
    expect(made.ok && made.value.context.created!.policy.tolerance).toBe('100.00');
  });

  it('is a share of what is due in each coin where the merchant set one', async () => {
    const { deps } = sessionWorld({
      rate: { USDT: '1.1', USDC: '1.2' },
      policy: { offerBothCoins: true, tolerance: '0', tolerancePercent: '1.25' },
    });
    const made = await createSession(deps, caller, { ...order, currency: 'EUR' });
    const created = made.ok ? made.value.context.created! : null;
    expect([created?.dueAmount, created?.policy.tolerance]).toEqual(['11.00', '0.1375']);
    expect([created?.alternative?.dueAmount, created?.alternative?.tolerance]).toEqual(['12.00', '0.15']);
    expect(created?.policy).not.toHaveProperty('tolerancePercent');
  });
});

it("lasts as long as the create says, else as the merchant's policy, else as the installation's default", async () => {
  const lifetimeOf = async (change: object, policy = {}): Promise<number> => {
    const created = await createSession(sessionWorld({ policy }).deps, caller, { ...order, ...change });
    const { createdAtSec, expiresAtSec } = created.ok
      ? created.value.context.created!
      : { createdAtSec: 0, expiresAtSec: 0 };
    return expiresAtSec - createdAtSec;
  };
  expect(await lifetimeOf({ lifetimeSec: 90 }, { sessionTtlSec: 600 })).toBe(90);
  expect(await lifetimeOf({}, { sessionTtlSec: 600 })).toBe(600);
  expect(await lifetimeOf({})).toBe(1800);
});

it('is another request with another lifetime', async () => {
  const { deps } = sessionWorld();
  expect((await createSession(deps, caller, { ...order, lifetimeSec: 90 })).ok).toBe(true);
  expect(await createSession(deps, caller, { ...order, lifetimeSec: 90 })).toMatchObject({ ok: true, repeated: true });
  for (const change of [{}, { lifetimeSec: 91 }])
    expect(await createSession(deps, caller, { ...order, ...change })).toMatchObject({
      ok: false,
      refusal: { code: 'order_id_conflict' },
    });
});

describe('the finality of a session', () => {
  const finalityOf = async (amount: string, policy: object, floor: object = {}) => {
    const { deps } = sessionWorld({ policy });
    const made = await createSession({ ...deps, finalityFloor: { ...deps.finalityFloor, ...floor } }, caller, {
      ...order,
      amount,
    });
    return made.ok && made.value.context.created!.paymentOptions.map(({ finality }) => finality);
  };
  const quick = (confirmations: number) => [{ kind: 'confirmations', confirmations }];
  const final = [{ kind: 'finalized' }];

  it("is the merchant's if it is stricter than the operator's", async () => {
    expect(await finalityOf('500.00', { ethereumConfirmations: 32, ethereumFinalizedFrom: '1000' })).toEqual(quick(32));
    expect(await finalityOf('1000.00', { ethereumConfirmations: 32, ethereumFinalizedFrom: '1000' })).toEqual(final);
  });

  it("is never below the operator's floor, whatever policy was written before", async () => {
    const hasty = { ethereumConfirmations: 1, ethereumFinalizedFrom: '999999999' };
    expect(await finalityOf('9999.99', hasty)).toEqual(quick(12));
    expect(await finalityOf('10000.00', hasty)).toEqual(final);
    expect(await finalityOf('50.00', hasty, { ethereumConfirmations: 64 })).toEqual(quick(64));
    expect(await finalityOf('50.00', hasty, { ethereumFinalizedFrom: '50' })).toEqual(final);
    expect(await finalityOf('0.01', hasty, { ethereumFinalizedFrom: '0' })).toEqual(final);
  });
});
