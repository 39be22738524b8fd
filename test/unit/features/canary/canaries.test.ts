import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { nodeRandom } from '../../../../src/adapters/node/random.ts';
import type { CanaryStep } from '../../../../src/domain/canary.ts';
import type { SessionId } from '../../../../src/domain/values/ids.ts';
import { Canaries } from '../../../../src/features/canary/canaries.process.ts';
import { canaryHistory } from '../../../../src/features/canary/history.ts';
import type { CanaryPayer, CanarySession, CanaryShop } from '../../../../src/features/canary/round.ts';
import { canaryCommands } from '../../../../src/operator/chains/canary.ts';
import { silentLog } from '../../../../src/ports/log.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';

const clock = { nowMs: () => Date.now() };
const HOUR_MS = 3_600_000;

/** A service whose steps happen at once, but for those that a test holds up. */
class Service {
  readonly store = new MemoryEventStore();
  readonly sessions = new Map<SessionId, { paid: boolean; refunded: boolean }>();
  broken: CanaryStep | null = null;
  heldUp: string | null = null;
  lookFault: Error | null = null;
  refunds = 0;
  paidFromWallet = 0;
  /** How long the chain takes to a block. */
  blockMs = 2_000;
  #next = 0;

  readonly shop: CanaryShop = {
    create: () => {
      if (this.broken === 'create') return Promise.reject(new Error('503 service_unavailable'));
      const sessionId = `cs_${(this.#next += 1)}` as SessionId;
      this.sessions.set(sessionId, { paid: false, refunded: false });
      return Promise.resolve({ sessionId, address: '0x1' });
    },
    look: (id) => (this.lookFault ? Promise.reject(this.lookFault) : Promise.resolve(this.#look(id))),
    isNotified: () => Promise.resolve(this.broken !== 'webhook'),
    refund: (id) => {
      this.refunds += 1;
      if (this.broken !== 'refund') this.sessions.get(id)!.refunded = true;
      return Promise.resolve();
    },
  };

  readonly payer: CanaryPayer = {
    holdUp: () => Promise.resolve(this.heldUp),
    pay: async (id) => {
      this.paidFromWallet += 1;
      if (this.broken === 'pay') return new Promise(() => {});
      await new Promise((done) => setTimeout(done, this.blockMs));
      this.sessions.get(id)!.paid = true;
    },
  };

  #look(id: SessionId): CanarySession {
    const { paid, refunded } = this.sessions.get(id)!;
    return {
      seen: paid && this.broken !== 'seen',
      paid: paid && this.broken !== 'final',
      refundable: paid && !refunded ? '1' : '0',
      refunded: refunded ? '1.00' : '0',
    };
  }

  canaries(more: { readonly maxOut?: string } = {}): Canaries {
    return new Canaries({
      store: this.store,
      clock,
      random: nodeRandom,
      shop: this.shop,
      mode: 'live',
      payers: new Map([['bsc' as const, this.payer]]),
      ...{ coin: 'USDT', amount: '1', maxOut: '2', everySec: 3_600, log: silentLog, ...more },
      pause: (ms, signal) =>
        new Promise((done, failed) => {
          signal.addEventListener('abort', () => failed(new Error('over')), { once: true });
          setTimeout(done, ms);
        }),
    });
  }

  history() {
    return canaryHistory(this.store, 'live', 'bsc', 50);
  }
}

let service: Service;
let running: Canaries;
const start = (more?: { readonly maxOut?: string }): void => {
  running = service.canaries(more);
  running.start();
};

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse('2026-11-20T00:00:00Z') });
  service = new Service();
});
afterEach(async () => {
  await running.stop();
  vi.useRealTimers();
});

describe('a canary payment', () => {
  it('is paid and refunded, each step timed, and recorded', async () => {
    start();
    await vi.advanceTimersByTimeAsync(60_000);
    const [run] = await service.history();
    expect(run).toMatchObject({ network: 'bsc', amount: '1', coin: 'USDT', failure: null, sessionId: 'cs_1' });
    expect(run!.steps.map(({ step }) => step)).toEqual(['create', 'pay', 'seen', 'final', 'webhook', 'refund']);
    expect(run!.steps.find(({ step }) => step === 'pay')!.ms).toBe(2_000);
    const [status] = running.status();
    expect(status).toMatchObject({ isOk: true, heldUp: null });
    expect(status!.stepSec('pay')).toBe(2);
    expect(service.refunds).toBe(1);
  });

  it('is repeated after the interval, also by a restarted service', async () => {
    start();
    await vi.advanceTimersByTimeAsync(60_000);
    await running.stop();
    start();
    await vi.advanceTimersByTimeAsync(HOUR_MS - 120_000);
    expect(await service.history()).toHaveLength(1);
    expect(running.status()[0]!.isOk).toBe(true);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(await service.history()).toHaveLength(2);
  });

  it.each(['create', 'pay', 'seen', 'final', 'webhook', 'refund'] as const)(
    'names %s if that step does not happen, and shows how slow it is meanwhile',
    async (step) => {
      service.broken = step;
      start();
      await vi.advanceTimersByTimeAsync(20_000);
      if (step !== 'create') {
        const status = running.status()[0]!;
        const before = status.stepSec(step)!;
        await vi.advanceTimersByTimeAsync(5_000);
        expect(running.status()[0]!.stepSec(step)! - before).toBeCloseTo(5, 1);
      }
      await vi.advanceTimersByTimeAsync(900_000);
      const [run] = await service.history();
      expect(run!.failure).toMatchObject({ step });
      expect(running.status()[0]).toMatchObject({ isOk: false });
    },
  );
});

it('every payment that failed before it had a session is in the history', async () => {
  service.broken = 'create';
  start();
  await vi.advanceTimersByTimeAsync(2 * HOUR_MS + 60_000);
  expect((await service.history()).map(({ failure }) => failure?.step)).toEqual(['create', 'create', 'create']);
});

it('a canary payment that fails says why its last attempt did, down to the address that nobody answered at', async () => {
  const cause = new Error('connect ECONNREFUSED 203.0.113.7:443');
  service.lookFault = new TypeError('fetch failed', { cause });
  start();
  await vi.advanceTimersByTimeAsync(60_000);
  const reason = 'not within 45 s: fetch failed: connect ECONNREFUSED 203.0.113.7:443';
  expect((await service.history())[0]).toMatchObject({ failure: { step: 'seen', reason } });
});

describe('the money of canary payments', () => {
  it('is returned with the next payment after a failed step, and never exceeds what may be out', async () => {
    service.broken = 'refund';
    start();
    await vi.advanceTimersByTimeAsync(5 * HOUR_MS);
    expect(service.paidFromWallet).toBe(2);
    expect(running.status()[0]!.heldUp).toBe('money_out');
    service.broken = null;
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    expect([...service.sessions.values()].every(({ refunded }) => refunded)).toBe(true);
    expect(running.status()[0]).toMatchObject({ heldUp: null, isOk: true });
  });

  it('is counted also where the service ended in the midst of a payment', async () => {
    service.blockMs = 10_000;
    start({ maxOut: '1' });
    await vi.advanceTimersByTimeAsync(1_000);
    await running.stop();
    service.sessions.get('cs_1' as SessionId)!.paid = true;
    service.broken = 'refund';
    start({ maxOut: '1' });
    await vi.advanceTimersByTimeAsync(HOUR_MS + 60_000);
    expect(service.paidFromWallet).toBe(1);
    expect(running.status()[0]!.heldUp).toBe('money_out');
  });

  it('stays in the wallet while it cannot pay, and no session is created', async () => {
    service.heldUp = 'insufficient_gas';
    start();
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    expect(service.sessions.size).toBe(0);
    expect(running.status()[0]!.heldUp).toBe('insufficient_gas');
    service.heldUp = null;
    await vi.advanceTimersByTimeAsync(120_000);
    expect(running.status()[0]).toMatchObject({ heldUp: null, isOk: true });
  });
});

it('distinguishes a payment under way from one during which the service ended', async () => {
  service.blockMs = 10_000;
  start();
  await vi.advanceTimersByTimeAsync(1_000);
  await running.stop();
  start();
  await vi.advanceTimersByTimeAsync(HOUR_MS + 1_000);
  const history = canaryCommands(service.store)['canary.history']!;
  expect(await history({ network: 'bsc' })).toMatchObject([{ result: 'under way' }, { result: 'interrupted' }]);
  await expect(history({ network: 'doge' })).rejects.toThrow('network must be one of');
  await expect(history({ limit: '0' })).rejects.toThrow('limit must be a whole number');
});
