import { afterAll, beforeAll, expect, it } from 'vitest';
import { sessionView } from '../../../projections/sessions/session-view.projection.ts';
import type { ConsoleDeps } from '../../../src/console/deps.ts';
import { claimCommands } from '../../../src/operator/merchants/claims.ts';
import { waitingClaims } from '../../../src/features/sessions/claims/waiting.ts';
import type { RefundInput } from '../../../src/features/shared/merchant-api.ts';
import { createSessionPresenter } from '../../../src/http/presenters/session.presenter.ts';
import { ProjectionRunner } from '../../../src/runtime/projections/runner.ts';
import { claimWorld, PAYEE } from '../../support/claim-world.ts';
import { ConsoleWorld, SHOP, signedForm, termsIn, type TestPerson } from '../../support/console-world.ts';
import { MemoryReadModel } from '../../support/memory-read-model.ts';
import { caller } from '../../support/session-world.ts';

/* Whoever may refund decides on claims, whoever may look sees them. */

let shop: Awaited<ReturnType<typeof claimWorld>>;
let world: ConsoleWorld;
let support: TestPerson;
let viewer: TestPerson;
const nothing = async (): Promise<unknown> => undefined;
/** Happens once, after the terms were signed and planned again, and before the refund is requested. */
let beforeRequest = nothing;
const readModel = new MemoryReadModel();
let projections: ProjectionRunner;

beforeAll(async () => {
  shop = await claimWorld();
  const { api, store, sessionId } = shop;
  projections = new ProjectionRunner({
    store,
    readModel,
    projections: [sessionView],
    clock: { nowMs: () => 0 },
    maxBatch: 10,
    cacheRows: 100,
  });
  await projections.start();
  const presenter = createSessionPresenter({
    publicUrl: 'https://pay.example',
    networks: () => [],
    deepLinks: () => ({}),
  });
  const inTestMode = { ...caller, person: 'Sue' };
  const records = {
    session: async () => presenter.session((await api.getSession(caller, sessionId))!),
    refunds: async () => [],
    timeline: async () => null,
    claims: () => api.listClaims(caller, sessionId),
  };
  const commands = claimCommands(api, {
    waiting: async (_, limit) => {
      await projections.caughtUpTo((await store.head())!);
      return waitingClaims({ readModel, sessions: api }, caller, limit);
    },
    modeOfMerchant: () => caller.mode,
  });
  const use = {
    previewRefund: (_: unknown, input: RefundInput) => api.previewRefund(caller, input),
    requestRefund: async (_: unknown, input: RefundInput) => {
      await beforeRequest();
      beforeRequest = nothing;
      return api.requestRefund(inTestMode, input);
    },
    rejectClaim: (_: unknown, ...rest: [typeof sessionId, string, string]) => api.rejectClaim(inTestMode, ...rest),
  };
  world = await ConsoleWorld.start({ records, commands, api: use } as unknown as Partial<ConsoleDeps>);
  support = await world.person('Sue', { role: 'support', merchantId: SHOP.id });
  viewer = await world.person('Vic', { role: 'viewer', merchantId: SHOP.id });
});
afterAll(async () => {
  await world.close();
  await projections.stop();
});

it('a claim waits on the page of claims, is approved by signed terms that name the payee, and then leaves the page', async () => {
  const { pay, file, sign, claims, sessionId } = shop;
  await file(await sign(await pay('10.00')));
  const { claimId } = (await claims())[0]!;
  const payment = `/m/${SHOP.id}/payments/${sessionId}`;
  expect((await world.get(`/m/${SHOP.id}/claims`, viewer)).body).toContain(PAYEE);
  const shown = (await world.get(payment, viewer)).body;
  expect(shown).toContain('Received, less refunds');
  expect(shown).toContain('signed by the key that paid');
  expect(shown).not.toContain('Preview the refund to this address');
  expect((await world.get(payment, support)).body).toContain(`name="claim" value="${claimId}"`);
  const form = { claim: claimId, reason: 'their exchange closed' };
  expect((await world.post(`${payment}/refund`, viewer, form)).status).toBe(404);
  const terms = termsIn((await world.post(`${payment}/refund`, support, form)).body)!;
  expect(terms.text).toContain(
    `approves the claim: ${claimId}\npays: 10.00 USDT on ethereum to ${PAYEE} (the address that the payer named)`,
  );
  expect(
    (await world.post(`${payment}/refund`, support, { ...form, claim: 'clm_other', ...signedForm(terms, support) }))
      .status,
  ).not.toBe(303);
  expect(await claims()).toMatchObject([{ status: 'open' }]);
  expect((await world.post(`${payment}/refund`, support, { ...form, ...signedForm(terms, support) })).status).toBe(303);
  expect(await claims()).toMatchObject([{ status: 'approved' }]);
  expect((await world.get(`/m/${SHOP.id}/claims`, viewer)).body).toContain('No claims are waiting.');
});

it('a refund of all that is left pays what was signed, and nothing if more money becomes final in between', async () => {
  const { api, pay, sessionId } = shop;
  const refund = `/m/${SHOP.id}/payments/${sessionId}/refund`;
  const form = { amount: '', reason: 'the shop is closed' };
  await pay('5.00');
  const left = async (): Promise<string> => (await api.getSession(caller, sessionId))!.refundable;
  const before = await left();
  beforeRequest = () => pay('3.00');
  const refused = await world.postSigned(refund, support, form);
  expect([refused.status, refused.body]).toEqual([400, expect.stringContaining('changed since the terms were signed')]);
  const after = await left();
  expect(Number(after)).toBe(Number(before) + 3);
  const terms = termsIn((await world.post(refund, support, form)).body)!;
  expect(terms.text).toContain(`amount: ${after} USDT`);
  expect((await world.post(refund, support, { ...form, ...signedForm(terms, support) })).status).toBe(303);
  expect(await left()).toBe('0.00');
});

it('a claim is rejected with a reason by who may refund, and by nobody else', async () => {
  const { pay, file, sign, claims, sessionId } = shop;
  await file(await sign(await pay('7.00')));
  const { claimId } = (await claims())[0]!;
  const reject = `/m/${SHOP.id}/payments/${sessionId}/claims/${claimId}/reject`;
  expect((await world.post(reject, viewer, { reason: 'no' })).status).toBe(404);
  expect((await world.post(reject, support, { reason: '' })).status).toBe(400);
  expect(await claims()).toContainEqual(expect.objectContaining({ claimId, status: 'open' }));
  expect((await world.post(reject, support, { reason: 'not theirs' })).status).toBe(303);
  expect(await claims()).toContainEqual(expect.objectContaining({ claimId, status: 'rejected' }));
  expect(world.actions().at(-1)).toMatchObject({ outcome: 'done', detail: `rejected ${claimId}` });
  expect((await world.get(`/m/${SHOP.id}/claims`, viewer)).body).toContain('No claims are waiting.');
});
