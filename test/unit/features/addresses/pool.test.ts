import { createHash, randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Mode } from '../../../../src/domain/values/ids.ts';
import type { AddressFamily } from '../../../../src/domain/networks/networks.ts';
import type { AddressMark, AddressMarks } from '../../../../src/ports/chain/address-safety.ts';
import type { AddressDeriver } from '../../../../src/ports/chain/addresses.ts';
import type { AppendRequest, AppendResult, RecordedEvent } from '../../../../src/ports/event-log/event-store.ts';
import { silentLog } from '../../../../src/ports/log.ts';
import {
  startAddressPool,
  type AddressPoolOptions,
  type RunningAddressPool,
} from '../../../../src/features/addresses/pool.ts';
import { decodeEvent, hashRecorded } from '../../../../src/runtime/commands/codec.ts';

/** The part of the event log that the pool uses, with the store's own rule: expected revision checked with the append. */
class MemoryLog {
  readonly streams = new Map<string, RecordedEvent[]>();
  appends = 0;
  /** Called before an append is judged: the moment at which another node can be faster, or the store can fail. */
  beforeAppend: (() => void | Promise<void>) | null = null;

  async append(request: AppendRequest): Promise<AppendResult> {
    const hook = this.beforeAppend;
    this.beforeAppend = null;
    await hook?.();
    const events = this.streams.get(request.stream) ?? [];
    const actual = events.length - 1;
    if ((request.expected === 'no-stream' ? -1 : request.expected) !== actual) return { ok: false, actual };
    this.appends += 1;
    request.events.forEach((event, i) =>
      events.push({ ...event, stream: request.stream, revision: actual + 1 + i, position: `${this.appends}` }),
    );
    this.streams.set(request.stream, events);
    return { ok: true, revision: events.length - 1, position: `${this.appends}` };
  }

  async lastOfStream(stream: string): Promise<RecordedEvent | null> {
    return this.streams.get(stream)?.at(-1) ?? null;
  }

  leases(stream: string) {
    return (this.streams.get(stream) ?? []).map(
      (recorded) => decodeEvent(recorded).event.data as { from: number; to: number; node: string },
    );
  }
}

const addressAt = (family: AddressFamily, index: number): string => `${family}:${index}`;

function deriver(
  family: AddressFamily,
  options: { mode?: Mode; capacity?: number; fail?: () => boolean } = {},
): AddressDeriver & { derived: number } {
  const self = {
    family,
    mode: options.mode ?? ('test' as const),
    capacity: options.capacity ?? 2 ** 31,
    derived: 0,
    derive: async (fromIndex: number, count: number) => {
      await new Promise(setImmediate);
      if (options.fail?.()) throw new Error('derivation failed');
      self.derived += count;
      return Array.from({ length: count }, (_, i) => addressAt(family, fromIndex + i));
    },
  };
  return self;
}

function start(
  eventLog: MemoryLog,
  derivers: AddressDeriver[],
  options: Partial<AddressPoolOptions> = {},
): RunningAddressPool {
  const random = { bytes: () => new Uint8Array(0), uuid: randomUUID };
  const pool = startAddressPool({
    store: eventLog,
    derivers,
    node: 'a',
    clock: { nowMs: () => 1_000 },
    random,
    log: silentLog,
    stock: 16,
    ...options,
  });
  onTestFinished(() => pool.close());
  return pool;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
}

function takeAll(pool: RunningAddressPool, family: AddressFamily): number[] {
  const indexes: number[] = [];
  for (let address = pool.take('test', family); address; address = pool.take('test', family))
    indexes.push(address.derivationIndex);
  return indexes;
}

describe('the address pool', () => {
  it('assigns addresses in the order of their indexes, each with its own', async () => {
    const pool = start(new MemoryLog(), [deriver('evm')]);
    await pool.ready();
    expect(pool.take('test', 'evm')).toEqual({ family: 'evm', address: 'evm:0', derivationIndex: 0 });
    expect(pool.take('test', 'evm')).toEqual({ family: 'evm', address: 'evm:1', derivationIndex: 1 });
  });

  it('has none for a mode or family it cannot derive', async () => {
    const pool = start(new MemoryLog(), [deriver('evm')]);
    await pool.ready();
    expect(pool.take('live', 'evm')).toBeNull();
    expect(pool.take('test', 'tron')).toBeNull();
  });

  it('keeps families and modes in streams of their own', async () => {
    const eventLog = new MemoryLog();
    const pool = start(eventLog, [deriver('evm'), deriver('evm', { mode: 'live' }), deriver('tron')]);
    await pool.ready();
    expect([...eventLog.streams.keys()].sort()).toEqual([
      'addresses-live-evm',
      'addresses-test-evm',
      'addresses-test-tron',
    ]);
  });

  it('returns null while it is empty, and refills itself', async () => {
    const pool = start(new MemoryLog(), [deriver('evm')]);
    await pool.ready();
    const first = takeAll(pool, 'evm');
    expect(first).toEqual([...Array(16).keys()]);
    await until(() => pool.stocks()[0]!.available >= 16);
    expect(pool.take('test', 'evm')?.derivationIndex).toBe(16);
  });

  it('refills when a quarter is used, long before it is empty', async () => {
    const pool = start(new MemoryLog(), [deriver('evm')]);
    await pool.ready();
    for (let i = 0; i < 5; i += 1) pool.take('test', 'evm');
    await until(() => pool.stocks()[0]!.available >= 16);
  });

  it.each([
    { stock: 512, counts: [256, 256] },
    { stock: 2_048, counts: [512, 512, 512, 512] },
    { stock: 8_192, counts: Array<number>(8).fill(1_024) },
  ])('derives $counts.0 at once for a stock of $stock', async ({ stock, counts }) => {
    const derivation = deriver('evm');
    const derive = vi.spyOn(derivation, 'derive');
    const pool = start(new MemoryLog(), [derivation], { stock });
    await pool.ready();
    expect(derive.mock.calls.map(([, count]) => count)).toEqual(counts);
  });

  it('keeps more ready when demand exceeds it, up to its bound', async () => {
    const pool = start(new MemoryLog(), [deriver('evm')], { maxStock: 64 });
    await pool.ready();
    for (let round = 0; round < 5; round += 1) {
      takeAll(pool, 'evm');
      await until(() => pool.stocks()[0]!.available >= 16);
    }
    await until(() => pool.stocks()[0]!.available >= 64);
    expect(pool.stocks()[0]!.target).toBe(64);
  });

  it('leases a range in the event log before it derives any of it', async () => {
    const eventLog = new MemoryLog();
    const derivation = deriver('evm');
    eventLog.beforeAppend = () => expect(derivation.derived).toBe(0);
    const pool = start(eventLog, [derivation]);
    await pool.ready();
    expect(eventLog.leases('addresses-test-evm')).toEqual([
      { mode: 'test', family: 'evm', from: 0, to: 15, node: 'a' },
    ]);
  });

  it('chains its events: each names the hash of the one before', async () => {
    const eventLog = new MemoryLog();
    const pool = start(eventLog, [deriver('evm')]);
    await pool.ready();
    takeAll(pool, 'evm');
    await until(() => eventLog.streams.get('addresses-test-evm')!.length > 1);
    const [first, second] = eventLog.streams.get('addresses-test-evm')!;
    expect(JSON.parse(first!.metadata).prev).toBe('');
    expect(JSON.parse(second!.metadata).prev).toBe(first!.hash);
    expect(hashRecorded(second!)).toBe(second!.hash);
    expect(first!.hash).toHaveLength(createHash('sha256').digest('hex').length);
  });
});

describe('an address is assigned at most once', () => {
  it('after a restart, which leaves out what was leased', async () => {
    const eventLog = new MemoryLog();
    const before = start(eventLog, [deriver('evm')]);
    await before.ready();
    const given = [before.take('test', 'evm')!.derivationIndex];
    await before.close();
    const after = start(eventLog, [deriver('evm')]);
    await after.ready();
    given.push(...takeAll(after, 'evm'));
    expect(new Set(given).size).toBe(given.length);
    expect(given[1]).toBe(16);
  });

  it('over nodes that lease at the same moment', async () => {
    const eventLog = new MemoryLog();
    const pools = ['a', 'b', 'c', 'd'].map((node) => start(eventLog, [deriver('evm')], { node }));
    await Promise.all(pools.map((pool) => pool.ready()));
    const given = pools.flatMap((pool) => takeAll(pool, 'evm'));
    expect(given).toHaveLength(64);
    expect(new Set(given).size).toBe(64);
  });

  it('when an append fails after it was stored', async () => {
    const eventLog = new MemoryLog();
    const append = eventLog.append.bind(eventLog);
    let failures = 1;
    eventLog.append = async (request) => {
      const result = await append(request);
      if (failures-- > 0) throw new Error('the answer was lost');
      return result;
    };
    const pool = start(eventLog, [deriver('evm')]);
    await pool.ready();
    await until(() => pool.stocks()[0]!.available === 16);
    expect(pool.take('test', 'evm')!.derivationIndex).toBe(16);
  });

  it('when it was taken back twice', async () => {
    const pool = start(new MemoryLog(), [deriver('evm')]);
    await pool.ready();
    const address = pool.take('test', 'evm')!;
    pool.giveBack('test', address);
    pool.giveBack('test', address);
    expect(pool.take('test', 'evm')).toEqual(address);
    expect(pool.take('test', 'evm')!.derivationIndex).toBe(1);
  });
});

describe('trouble', () => {
  it('of the deriver is retried without losing the lease', async () => {
    let failures = 2;
    const eventLog = new MemoryLog();
    const pool = start(eventLog, [deriver('evm', { fail: () => failures-- > 0 })]);
    await pool.ready();
    expect(pool.take('test', 'evm')).toBeNull();
    await until(() => pool.stocks()[0]!.available === 16);
    expect(pool.take('test', 'evm')!.derivationIndex).toBe(0);
    expect(eventLog.leases('addresses-test-evm')).toHaveLength(1);
    expect(pool.stocks()[0]!.target).toBe(16);
  });

  it('of one family leaves the others alone', async () => {
    const pool = start(new MemoryLog(), [deriver('tron', { fail: () => true }), deriver('evm')]);
    await pool.ready();
    expect(pool.take('test', 'tron')).toBeNull();
    expect(pool.take('test', 'evm')).not.toBeNull();
  });

  it('of an exhausted exported pool is reported, and its last address is still assigned', async () => {
    const errors: object[] = [];
    const log = { ...silentLog, error: (fields: object) => void errors.push(fields) };
    const pool = start(new MemoryLog(), [deriver('solana', { capacity: 5 })], { log });
    await pool.ready();
    expect(takeAll(pool, 'solana')).toEqual([0, 1, 2, 3, 4]);
    expect(pool.stocks()[0]).toMatchObject({ available: 0, exhausted: true });
    expect(errors).toEqual([{ mode: 'test', family: 'solana' }]);
  });

  it('of frequent restarts uses up an exported pool slowly', async () => {
    const eventLog = new MemoryLog();
    const indexes: number[] = [];
    for (let restart = 0; restart < 5; restart += 1) {
      const pool = start(eventLog, [deriver('solana', { capacity: 1000 })]);
      await pool.ready();
      indexes.push(pool.take('test', 'solana')!.derivationIndex);
      await pool.close();
    }
    expect(indexes.at(-1)).toBeLessThan(100);
  });

  it('of a hundred restarts leaves more than half of an exported pool, however many addresses are kept ready otherwise', async () => {
    const eventLog = new MemoryLog();
    const node = (): RunningAddressPool => start(eventLog, [deriver('solana', { capacity: 10_000 })], { stock: 1024 });
    for (let restart = 0; restart < 100; restart += 1) {
      const pool = node();
      await pool.ready();
      await pool.close();
    }
    const last = node();
    await last.ready();
    const first = last.take('test', 'solana')!.derivationIndex;
    expect(first).toBeLessThan(5_000);
    const { available, target } = last.stocks()[0]!;
    expect(available).toBe(target - 1);
  });

  it('of an exported pool keeps more ready when demand exceeds it, and assigns all of it', async () => {
    const pool = start(new MemoryLog(), [deriver('solana', { capacity: 3_000 })], { stock: 1024 });
    await pool.ready();
    const given: number[] = [];
    const atFirst = pool.stocks()[0]!.target;
    given.push(...takeAll(pool, 'solana'));
    await until(() => pool.stocks()[0]!.target > atFirst);
    expect(pool.stocks()[0]!.target).toBeLessThanOrEqual(150);
    for (;;) {
      const indexes = takeAll(pool, 'solana');
      given.push(...indexes);
      if (indexes.length === 0 && pool.stocks()[0]!.exhausted) break;
      await new Promise(setImmediate);
    }
    expect(given).toEqual(Array.from({ length: 3_000 }, (_, index) => index));
  });
});

describe('an event log restored from a backup', () => {
  it('skips the indexes that may have been assigned since, also across restarts', async () => {
    const eventLog = new MemoryLog();
    const pool = start(eventLog, [deriver('evm')]);
    await pool.ready();
    await pool.skipTo('test', 'evm', 100_000);
    expect(pool.take('test', 'evm')!.derivationIndex).toBe(100_000);
    await pool.close();
    const after = start(eventLog, [deriver('evm')]);
    await after.ready();
    expect(after.take('test', 'evm')!.derivationIndex).toBe(100_016);
    expect(eventLog.leases('addresses-test-evm')[1]).toMatchObject({ from: 16, to: 99_999, node: 'a: skipped' });
  });

  it('does not skip what it has already passed', async () => {
    const eventLog = new MemoryLog();
    const pool = start(eventLog, [deriver('evm')]);
    await pool.ready();
    await pool.skipTo('test', 'evm', 10);
    expect(takeAll(pool, 'evm').every((index) => index >= 10)).toBe(true);
    expect(eventLog.leases('addresses-test-evm').every(({ node }) => node === 'a')).toBe(true);
  });
});

/** What is remembered apart from the event log, and chains on which some addresses were used. */
class Outside implements AddressMarks {
  readonly marks = new Map<string, AddressMark>();
  readonly used = new Set<string>();
  readonly asked: string[] = [];
  chainFails = false;
  marksFail = false;

  async read(mode: Mode, family: AddressFamily, first: string): Promise<AddressMark | null> {
    return this.marks.get(`${mode}/${family}/${first}`) ?? null;
  }

  async write(mode: Mode, family: AddressFamily, first: string, mark: AddressMark): Promise<void> {
    if (this.marksFail) throw new Error('no space left');
    this.marks.set(`${mode}/${family}/${first}`, mark);
  }

  guard = (restored = false) => ({
    guardOf: () => ({
      marks: this,
      restored,
      history: {
        usedAmong: async (addresses: readonly string[]) => {
          if (this.chainFails) throw new Error('the chain is away');
          this.asked.push(...addresses);
          return new Set(addresses.filter((address) => this.used.has(address)));
        },
      },
    }),
  });
}

describe('an event log that lags behind what was leased', () => {
  /** A service that leased 48 indexes; the event log that is answered knows of 16 of them. */
  async function restoredLog(outside: Outside): Promise<MemoryLog> {
    const eventLog = new MemoryLog();
    const pool = start(eventLog, [deriver('evm')], outside.guard());
    await pool.ready();
    const backup = new MemoryLog();
    backup.streams.set('addresses-test-evm', [...eventLog.streams.get('addresses-test-evm')!]);
    while (eventLog.leases('addresses-test-evm').length < 3) {
      pool.take('test', 'evm');
      await new Promise(setImmediate);
    }
    await pool.close();
    return backup;
  }

  it('is noticed: a large gap is left out for ever, and every address after it was looked up on chain', async () => {
    const outside = new Outside();
    const eventLog = await restoredLog(outside);
    const errors: object[] = [];
    const log = { ...silentLog, error: (fields: object) => void errors.push(fields) };
    const pool = start(eventLog, [deriver('evm')], { ...outside.guard(), log });
    await pool.ready();
    expect(errors).toEqual([{ mode: 'test', family: 'evm', leased: 16, known: 48 }]);
    expect(pool.isReconciled()).toBe(true);
    const given = takeAll(pool, 'evm');
    expect(given[0]).toBe(100_048);
    expect(given.map((index) => addressAt('evm', index)).every((address) => outside.asked.includes(address))).toBe(
      true,
    );
    await pool.close();
    const again = start(eventLog, [deriver('evm')], { ...outside.guard(), log });
    await again.ready();
    expect(again.take('test', 'evm')!.derivationIndex).toBeGreaterThan(100_048);
    expect(errors).toHaveLength(1);
  });

  it('leaves another gap if a chain knows an address after the first one', async () => {
    const outside = new Outside();
    const eventLog = await restoredLog(outside);
    outside.used.add(addressAt('evm', 100_050));
    const pool = start(eventLog, [deriver('evm')], outside.guard());
    await pool.ready();
    expect(takeAll(pool, 'evm')[0]).toBe(200_051);
  });

  it('assigns nothing that could not be looked up', async () => {
    const outside = new Outside();
    const eventLog = await restoredLog(outside);
    outside.chainFails = true;
    const pool = start(eventLog, [deriver('evm')], outside.guard());
    await pool.ready();
    expect(pool.take('test', 'evm')).toBeNull();
    outside.chainFails = false;
    await until(() => pool.stocks()[0]!.available > 0);
    expect(pool.take('test', 'evm')!.derivationIndex).toBe(100_048);
  });

  it('continues after a restart, and stops after enough consecutive unknown addresses', async () => {
    const outside = new Outside();
    const eventLog = await restoredLog(outside);
    const first = start(eventLog, [deriver('evm')], outside.guard());
    await first.ready();
    await first.close();
    outside.asked.length = 0;
    const second = start(eventLog, [deriver('evm')], outside.guard());
    await second.ready();
    const given: number[] = [];
    while ((given.at(-1) ?? 0) < 100_048 + 400) {
      const address = second.take('test', 'evm');
      if (address) given.push(address.derivationIndex);
      else await new Promise(setImmediate);
    }
    const doubtful = given.filter((index) => index < 100_048 + 256);
    expect(doubtful.map((index) => addressAt('evm', index)).every((address) => outside.asked.includes(address))).toBe(
      true,
    );
    expect(outside.asked).not.toContain(addressAt('evm', 100_048 + 399));
  });

  it('is taken for restored when it says so itself, and there is no mark', async () => {
    const eventLog = await restoredLog(new Outside());
    const pool = start(eventLog, [deriver('evm')], new Outside().guard(true));
    await pool.ready();
    expect(takeAll(pool, 'evm')[0]).toBe(100_016);
  });

  it('costs an exported pool only a part of what is left', async () => {
    const outside = new Outside();
    const eventLog = new MemoryLog();
    const before = start(eventLog, [deriver('solana', { capacity: 100 })], outside.guard());
    await before.ready();
    await before.close();
    const after = start(new MemoryLog(), [deriver('solana', { capacity: 100 })], outside.guard());
    await after.ready();
    const index = after.take('test', 'solana')!.derivationIndex;
    expect(index).toBeGreaterThanOrEqual(16);
    expect(index).toBeLessThan(45);
  });

  it('is no alarm with another wallet', async () => {
    const outside = new Outside();
    await restoredLog(outside);
    const other = {
      ...deriver('evm'),
      derive: async (from: number, count: number) => Array.from({ length: count }, (_, i) => `other:${from + i}`),
    };
    const pool = start(new MemoryLog(), [other], outside.guard());
    await pool.ready();
    expect(pool.take('test', 'evm')!.derivationIndex).toBe(0);
  });

  it('loses no lease while the mark cannot be written, and assigns nothing before it is', async () => {
    const outside = new Outside();
    outside.marksFail = true;
    const eventLog = new MemoryLog();
    const pool = start(eventLog, [deriver('evm')], outside.guard());
    await pool.ready();
    expect(pool.take('test', 'evm')).toBeNull();
    outside.marksFail = false;
    await until(() => pool.stocks()[0]!.available === 16);
    expect(eventLog.leases('addresses-test-evm')).toHaveLength(1);
    expect(pool.take('test', 'evm')!.derivationIndex).toBe(0);
  });
});
