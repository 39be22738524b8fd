import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { SessionId } from '../../../../src/domain/values/ids.ts';
import { silentLog } from '../../../../src/ports/log.ts';
import { TreasuryLook } from '../../../../src/features/treasury/look.process.ts';
import type { UnbookedLook, UnbookedMoney } from '../../../../src/features/treasury/reconcile-unbooked.ts';

const HOUR_MS = 3_600_000;
const MONEY: UnbookedMoney = {
  ...{
    sessionId: 'cs_1' as SessionId,
    network: 'bsc',
    address: '0xabc1',
    coin: 'USDT',
    booked: '0.00',
    onChain: '7.00',
  },
  todo: 'quittance chain rescan',
};

/** Treasuries of some networks, and what each look at their addresses answers. */
class World {
  readonly asked: string[] = [];
  readonly told: string[] = [];
  answers: (network: string, after: string | null) => Promise<UnbookedLook> = async () => ({
    found: [],
    native: [],
    addressesRead: 0,
    next: null,
  });
  reconcile: () => Promise<{ unknown: [] }> = async () => ({ unknown: [] });
  mayPay = true;
  /** What the newest `TreasuryReconciled` of each network says. */
  readonly recorded = new Map<string, { reconciledAtSec: number; addressesTo: string | null }>();
  overdueSec: number | null = null;
  look: TreasuryLook;
  readonly #networks: readonly string[];

  constructor(...networks: string[]) {
    this.#networks = networks;
    this.look = this.#start();
  }

  async restart(): Promise<void> {
    await this.look.stop();
    this.look = this.#start();
  }

  #start(): TreasuryLook {
    const executors = this.#networks.map((network) => ({
      chain: { mode: 'test', network },
      context: async () => this.recorded.get(network) ?? { reconciledAtSec: null, addressesTo: null },
    }));
    const look = new TreasuryLook({
      moves: { executors } as never,
      reconcile: async ({ chain }, addressesTo) => {
        const result = await this.reconcile();
        this.recorded.set(chain.network, { reconciledAtSec: Math.floor(Date.now() / 1000), addressesTo });
        return result;
      },
      onOverdue: (_, overdueSec) => (this.overdueSec = overdueSec),
      clock: { nowMs: () => Date.now() },
      unbooked: (executor, after) => {
        this.asked.push(`${executor.chain.network} after ${after ?? 'none'}`);
        return this.answers(executor.chain.network, after);
      },
      onUnbooked: (mode, network, { address }) => this.told.push(`${mode} ${network} ${address}`),
      mayPay: () => this.mayPay,
      log: silentLog,
      everyMs: HOUR_MS,
    });
    look.start();
    return look;
  }

  async hours(count: number): Promise<void> {
    for (let hour = 0; hour < count; hour += 1) await vi.advanceTimersByTimeAsync(HOUR_MS);
  }
}

describe('the comparison of the treasuries', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('goes over the addresses without booked money part by part, and starts over at the end', async () => {
    const world = new World('bsc');
    world.answers = async (_, after) => ({
      found: [],
      native: [],
      addressesRead: 500,
      next: after === null ? '0xa' : after === '0xa' ? '0xb' : null,
    });
    await world.hours(4);
    expect(world.asked).toEqual(['bsc after none', 'bsc after 0xa', 'bsc after 0xb', 'bsc after none']);
    await world.look.stop();
  });

  it('goes on where it was, and on time, however often the process restarts', async () => {
    const world = new World('bsc');
    world.answers = async (_, after) => ({
      found: [],
      native: [],
      addressesRead: 500,
      next: after === null ? '0xa' : after === '0xa' ? '0xb' : null,
    });
    for (let start = 0; start < 50; start += 1) {
      await vi.advanceTimersByTimeAsync(32_000);
      await world.restart();
    }
    expect(world.asked).toEqual(['bsc after none']);
    for (let start = 0; start < 250; start += 1) {
      await vi.advanceTimersByTimeAsync(32_000);
      await world.restart();
    }
    expect(world.asked).toEqual(['bsc after none', 'bsc after 0xa', 'bsc after 0xb']);
    expect(world.recorded.get('bsc')?.addressesTo).toBeNull();
    await world.look.stop();
  });

  it('says by how much it is overdue, from the newest one that was recorded', async () => {
    const world = new World('bsc');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(world.overdueSec).toBe(0);
    world.reconcile = () => Promise.reject(new Error('the journal differs'));
    await world.hours(1);
    await world.restart();
    await world.hours(2);
    expect(world.overdueSec).toBeGreaterThan(7_000);
    world.reconcile = async () => ({ unknown: [] });
    await world.hours(1);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(world.overdueSec).toBe(0);
    await world.look.stop();
  });

  it('reports what it finds for each network', async () => {
    const world = new World('bsc', 'tron');
    world.answers = async (network) => ({
      found: network === 'bsc' ? [MONEY] : [],
      native: [],
      addressesRead: 1,
      next: network === 'bsc' ? '0xa' : null,
    });
    await world.hours(2);
    expect(world.told).toEqual(['test bsc 0xabc1', 'test bsc 0xabc1']);
    expect(world.asked).toEqual(['bsc after none', 'tron after none', 'bsc after 0xa', 'tron after none']);
    await world.look.stop();
  });

  it('continues where it was when a provider failed', async () => {
    const world = new World('bsc');
    world.answers = async (_, after) => {
      if (after === '0xa' && world.asked.length === 2) throw new Error('no provider');
      return { found: [], native: [], addressesRead: 500, next: '0xa' };
    };
    await world.hours(3);
    expect(world.asked).toEqual(['bsc after none', 'bsc after 0xa', 'bsc after 0xa']);
    await world.look.stop();
  });

  it('looks for unbooked money even if the balances cannot be compared, or nothing may be paid', async () => {
    const world = new World('bsc');
    world.reconcile = () => Promise.reject(new Error('the journal differs'));
    await world.hours(1);
    world.mayPay = false;
    await world.hours(1);
    expect(world.asked).toHaveLength(2);
    await world.look.stop();
  });
});
