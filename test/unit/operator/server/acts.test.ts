import { describe, expect, it } from 'vitest';
import { adminCommands, type AdminParts } from '../../../../src/operator/merchants/merchants.ts';
import { proposerOf } from '../../../../src/operator/server/acts.ts';
import type { AdminCommands } from '../../../../src/operator/server/commands.ts';
import { sessionStream } from '../../../../src/domain/values/streams.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';
import { appendHistory, sessionIdOf } from '../../../support/random-history.ts';
import { createdFacts } from '../../../support/session-facts.ts';

/* What an operator does is in the event log, with the name. */

const NOW_MS = 1_800_000_000_000;

async function world(more: AdminCommands = {}) {
  const store = new MemoryEventStore();
  const erased: string[] = [];
  const done: string[] = [];
  const id = sessionIdOf(0);
  await appendHistory(store, [
    { session: 0, event: { type: 'SessionCreated', data: createdFacts({ sessionId: id }) }, atMs: NOW_MS },
  ]);
  let uuids = 0;
  const commands = adminCommands({
    core: { merchants: {}, personal: { erase: async (of: string) => void erased.push(of) } },
    store,
    clock: { nowMs: () => NOW_MS },
    random: { uuid: () => `00000000-0000-4000-8000-${String((uuids += 1)).padStart(12, '0')}` },
    testWallet: null,
    projections: {
      status: () => [{ projection: 'ledger@1' }],
      rebuild: async () => void done.push('rebuild'),
      ready: async () => undefined,
    },
    more,
  } as unknown as AdminParts);
  const acts = async () => (await store.readStream('operator-acts')).map(({ data }) => JSON.parse(data) as object);
  return { commands, erased, done, acts, store, id };
}

describe('an erasure', () => {
  it('of a session that does not exist is refused, and leaves nothing', async () => {
    const { commands, erased, acts } = await world();
    await expect(commands['session.forget']!({ session_id: sessionIdOf(9), operator: 'olga' })).rejects.toThrow(
      'no such session',
    );
    expect([erased, await acts()]).toEqual([[], []]);
  });

  it('records who and when, but not what', async () => {
    const { commands, erased, acts, store, id } = await world();
    expect(await commands['session.forget']!({ session_id: id, operator: 'olga' })).toEqual({ id, erased: true });
    expect(erased).toEqual([id]);
    expect(await acts()).toEqual([{ act: 'session.forget', subject: id, actor: 'olga', actedAtSec: NOW_MS / 1000 }]);
    expect((await store.readStream(sessionStream(id))).length).toBe(1);
  });

  it('is not executed if it cannot be recorded', async () => {
    const { commands, erased, store, id } = await world();
    store.append = () => Promise.reject(new Error('the event log is read-only'));
    await expect(commands['session.forget']!({ session_id: id })).rejects.toThrow('read-only');
    expect(erased).toEqual([]);
  });
});

it('a change of a merchant carries the name of who made it', async () => {
  const told: unknown[] = [];
  const change = async (...args: readonly unknown[]) => ({
    ok: true,
    value: { told: told.push(args.at(-1)), keys: [] },
  });
  const merchants = Object.fromEntries(
    [
      'registerMerchant',
      'setPolicy',
      'setLogo',
      'addDomain',
      'removeDomain',
      'issueKey',
      'restrictKey',
      'revokeKey',
    ].map((name) => [name, change]),
  );
  const commands = adminCommands({
    ...{ core: { merchants, personal: {} }, store: new MemoryEventStore(), clock: { nowMs: () => NOW_MS } },
    ...{ random: { uuid: () => 'one' }, testWallet: null, projections: {} },
  } as unknown as AdminParts);
  const names = [
    'merchant.create',
    'merchant.set-policy',
    'merchant.set-logo',
    'merchant.add-domain',
    'merchant.remove-domain',
    'key.issue',
    'key.restrict',
    'key.revoke',
  ];
  const args = {
    merchant_id: 'mer_1',
    name: 'shop',
    mode: 'test',
    host: 'shop.example',
    image: 'none',
    domain_id: 'dom_1',
    key_id: 'key_1',
    actor: 'ada',
  };
  for (const name of names) await commands[name]!(args);
  expect(told).toEqual(names.map(() => ({ actor: 'ada', correlationId: 'one' })));
});

describe('an action without its own event', () => {
  it('is recorded before it is executed, one after another', async () => {
    const { commands, done, acts, store } = await world({ 'chain.rescan': async () => ({}) });
    await commands['projection.rebuild']!({ name: 'ledger', operator: 'olga' });
    await commands['chain.rescan']!({ network: 'bsc', actor: 'ada', operator: 'olga' });
    expect(done).toEqual(['rebuild']);
    expect(await acts()).toMatchObject([
      { act: 'projection.rebuild', subject: 'ledger', actor: 'olga' },
      { act: 'chain.rescan', subject: 'bsc', actor: 'ada' },
    ]);
    const [first, second] = await store.readStream('operator-acts');
    expect((JSON.parse(second!.metadata) as { prev: string }).prev).toBe(first!.hash);
  });

  it('stops payouts even if it cannot be recorded', async () => {
    const { commands, acts, store } = await world({ 'treasury.stop': async () => ({ stopped: true }) });
    expect(await commands['treasury.stop']!({ mode: 'test', operator: 'olga' })).toEqual({ stopped: true });
    expect(await acts()).toMatchObject([{ act: 'treasury.stop', subject: 'test', actor: 'olga' }]);
    store.append = () => Promise.reject(new Error('the event log is read-only'));
    expect(await commands['treasury.stop']!({ mode: 'test' })).toEqual({ stopped: true });
  });

  it.each([
    ['treasury.resume', { mode: 'live' }, 'live'],
    ['treasury.limits', { mode: 'live' }, 'live'],
    ['treasury.reject', { id: 're_1' }, 're_1'],
  ])('%s says who went on', async (name, args, subject) => {
    const { commands, acts } = await world({ [name]: async () => ({}) });
    await commands[name]!({ ...args, actor: 'ada' });
    expect(await acts()).toMatchObject([{ act: name, subject, actor: 'ada' }]);
  });

  it("names the field if the operator's name is invalid", async () => {
    const { commands, done } = await world();
    await expect(commands['projection.rebuild']!({ operator: 'x'.repeat(101) })).rejects.toThrow(
      'operator must have at most 100 characters',
    );
    expect(done).toEqual([]);
  });
});

describe('the proposer of what others approve', () => {
  it('is the owner of the token, whatever a body says, and on the command line the named person', () => {
    expect(proposerOf({ actor: 'olga' })).toBe('olga');
    expect(proposerOf({ operator: 'ada' })).toBe('ada');
    expect(() => proposerOf({ actor: 'olga', operator: 'ada' })).toThrow('operator must not be given');
    expect(() => proposerOf({})).toThrow('operator is missing');
    expect(() => proposerOf({ operator: 'еvе' })).toThrow('operator must be in Latin letters');
    expect(() => proposerOf({ actor: 'еvе' })).toThrow('actor must be in Latin letters');
  });
});
