import { describe, expect, it } from 'vitest';
import { nodeRandom } from '../../../../src/adapters/node/random.ts';
import { Idempotency, type OnceCommand } from '../../../../src/features/shared/idempotency.ts';
import type { Caller, Outcome } from '../../../../src/features/shared/merchant-api.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';
import { ManualClock } from '../../../support/price-feed.ts';
import { caller } from '../../../support/session-world.ts';

const keyed: Caller = { ...caller, idempotencyKey: 'once' };

/** A command that counts its runs; `answers` are what they end with, one after the other. */
function counting(answers: readonly (() => Promise<Outcome<number>>)[] = []) {
  let runs = 0;
  const command: OnceCommand<number> = {
    operation: 'count',
    requestHash: 'hash',
    mayRunTwice: false,
    run: async () => {
      runs += 1;
      return answers[runs - 1]?.() ?? { ok: true, value: runs };
    },
  };
  return { command, runs: () => runs };
}

function world() {
  const deps = { store: new MemoryEventStore(), clock: new ManualClock(), random: nodeRandom };
  return { idempotency: new Idempotency(deps), restarted: () => new Idempotency(deps) };
}

const refusal: Outcome<never> = { ok: false, refusal: { code: 'service_unavailable', message: 'later' } };

describe('a command that runs once for each Idempotency-Key', () => {
  it('returns the first result for a repetition, also after a restart', async () => {
    const { idempotency, restarted } = world();
    const { command, runs } = counting();
    expect(await idempotency.once(keyed, command)).toEqual({ ok: true, value: 1 });
    expect(await idempotency.once(keyed, command)).toEqual({ ok: true, value: 1, repeated: true });
    expect(await restarted().once(keyed, command)).toEqual({ ok: true, value: 1, repeated: true });
    expect(runs()).toBe(1);
  });

  it('makes a repetition wait while the first one is running', async () => {
    const { idempotency } = world();
    let finish = (): void => {};
    const { command, runs } = counting([
      () => new Promise((resolve) => (finish = () => resolve({ ok: true, value: 7 }))),
    ]);
    const first = idempotency.once(keyed, command);
    while (runs() === 0) await new Promise(setImmediate);
    const second = idempotency.once(keyed, command);
    await new Promise(setImmediate);
    finish();
    expect((await Promise.all([first, second])).map((outcome) => outcome.ok && outcome.value)).toEqual([7, 7]);
    expect(runs()).toBe(1);
  });

  it('runs again after a refusal, which did nothing', async () => {
    const { idempotency } = world();
    const { command } = counting([async () => refusal]);
    expect(await idempotency.once(keyed, command)).toEqual(refusal);
    expect(await idempotency.once(keyed, command)).toEqual({ ok: true, value: 2 });
    expect(await idempotency.once(keyed, command)).toEqual({ ok: true, value: 2, repeated: true });
  });

  it('after an end that nobody knows runs again only where that does no harm', async () => {
    const { idempotency } = world();
    const dies = (): Promise<never> => Promise.reject(new Error('gone'));
    const { command, runs } = counting([dies, dies]);
    await expect(idempotency.once(keyed, command)).rejects.toThrow('gone');
    expect(await idempotency.once(keyed, command)).toMatchObject({
      ok: false,
      refusal: { code: 'idempotency_conflict', param: 'Idempotency-Key' },
    });
    expect(runs()).toBe(1);
    const other = { ...keyed, idempotencyKey: 'harmless' };
    await expect(idempotency.once(other, { ...command, mayRunTwice: true })).rejects.toThrow('gone');
    expect(await idempotency.once(other, { ...command, mayRunTwice: true })).toEqual({ ok: true, value: 3 });
  });

  it('refuses the key for another request, and runs each time without one', async () => {
    const { idempotency } = world();
    const { command, runs } = counting();
    await idempotency.once(keyed, command);
    for (const change of [{ requestHash: 'other' }, { operation: 'other' }])
      expect(await idempotency.once(keyed, { ...command, ...change })).toMatchObject({
        ok: false,
        refusal: { code: 'idempotency_conflict' },
      });
    await idempotency.once(caller, command);
    await idempotency.once(caller, command);
    expect(runs()).toBe(3);
  });
});
