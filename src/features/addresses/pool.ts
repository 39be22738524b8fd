import type { Mode } from '../../domain/values/ids.ts';
import type { AddressFamily } from '../../domain/networks/networks.ts';
import { addressesStream } from '../../domain/values/streams.ts';
import type { AddressDeriver, AddressPool, CollectionAddress } from '../../ports/chain/addresses.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import { AddressGuard, type AddressGuardOptions } from './guard.ts';
import { AddressLeases, type LeasedRange } from './leases.ts';
import { InTurn } from '../../runtime/util/in-turn.ts';
import { messageOf } from '../../runtime/util/message-of.ts';

export interface AddressPoolOptions {
  readonly store: Pick<EventStore, 'append' | 'lastOfStream'>;
  /** At most one per mode and family. */
  readonly derivers: readonly AddressDeriver[];
  /** Name of this node in the leases. */
  readonly node: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /**
   * Addresses kept ready per mode and family while demand is low. Grows up to `maxStock` when demand exceeds the
   * derivation rate.
   */
  readonly stock?: number;
  readonly maxStock?: number;
  /** Absent: the event log alone decides what was assigned. */
  readonly guardOf?: (mode: Mode, family: AddressFamily) => Omit<AddressGuardOptions, 'log'>;
}

/** Fill level of one family of the pool, for metrics. */
export interface AddressStock {
  readonly mode: Mode;
  readonly family: AddressFamily;
  readonly available: number;
  readonly target: number;
  /** No index is left to lease. Only an exported pool can run out. */
  readonly exhausted: boolean;
}

/** The pool as the composition root uses it. */
export interface RunningAddressPool extends AddressPool {
  /**
   * Resolves once every family was filled for the first time or failed to be. Failures are retried in the background.
   */
  ready(): Promise<void>;
  /**
   * For an event log restored from a backup: never assigns an index below `index` again, whatever the event log says
   * was leased. Persists across restarts.
   */
  skipTo(mode: Mode, family: AddressFamily, index: number): Promise<void>;
  stocks(): readonly AddressStock[];
  /** Every family has compared the event log with the record outside it and has skipped what it had to. */
  isReconciled(): boolean;
  close(): Promise<void>;
}

const DEFAULT_STOCK = 1024;
const DEFAULT_MAX_STOCK = 16_384;
/**
 * Smallest number of addresses derived at once: few, so that some are ready soon. Batches grow with demand, because
 * each one costs a check.
 */
const FEWEST_DERIVED = 256;
const MOST_DERIVED = 1_024;
/** The fraction of the stock derived at once; the rest is assigned in the meantime. */
const DERIVED_DIVISOR = 4;
/** Each of these addresses is checked on its chain, so few are kept. */
const DOUBTFUL_STOCK = 32;
/**
 * Initially at most this fraction of what is left is kept ready, because a restart loses it and an exported pool is
 * finite ...
 */
const FIRST_STOCK_DIVISOR = 200;
/** ... and at most this fraction once demand exceeds it. */
const STOCK_DIVISOR = 20;
/** Kept ready even in a small pool, because simultaneous orders take one each. */
const LEAST_STOCK = 32;
const RETRY_MIN_MS = 100;
const RETRY_MAX_MS = 5_000;

/** Starts filling the pool in the background. */
export function startAddressPool(options: AddressPoolOptions): RunningAddressPool {
  const familyPools = new Map<string, FamilyPool>();
  for (const deriver of options.derivers) {
    const key = familyKey(deriver.mode, deriver.family);
    if (familyPools.has(key)) throw new Error(`two derivers for ${key}`);
    familyPools.set(key, new FamilyPool(deriver, options));
  }
  const first = Promise.allSettled([...familyPools.values()].map((familyPool) => familyPool.refill())).then(() => {});
  return {
    take: (mode, family) => familyPools.get(familyKey(mode, family))?.take() ?? null,
    giveBack: (mode, address) => familyPools.get(familyKey(mode, address.family))?.giveBack(address),
    ready: () => first,
    skipTo: async (mode, family, index) => {
      const familyPool = familyPools.get(familyKey(mode, family));
      if (!familyPool) throw new Error(`no addresses for ${familyKey(mode, family)}`);
      await familyPool.skipTo(index);
    },
    stocks: () => [...familyPools.values()].map((familyPool) => familyPool.stock()),
    isReconciled: () => [...familyPools.values()].every((familyPool) => familyPool.isReconciled()),
    close: async () => {
      await Promise.all([...familyPools.values()].map((familyPool) => familyPool.close()));
    },
  };
}

const familyKey = (mode: Mode, family: AddressFamily): string => addressesStream(mode, family);

/** Addresses of one mode and family: leased, derived and assigned, each step strictly in index order. */
class FamilyPool {
  readonly #deriver: AddressDeriver;
  readonly #leases: AddressLeases;
  readonly #guard: AddressGuard | null;
  readonly #log: Log;
  readonly #maxTarget: number;
  #target: number;
  /** Upper limit of the stock, from what was left at the last lease; null before the first. */
  #most: number | null = null;
  /** Derived addresses. Those before `#next` are already assigned. */
  #ready: CollectionAddress[] = [];
  #next = 0;
  #returned: CollectionAddress[] = [];
  /** The part of the last lease that is not derived yet. */
  #lease: LeasedRange | null = null;
  /** Demand can only exceed a stock that has been full. */
  #wasFull = false;
  #exhausted = false;
  #closed = false;
  #retryMs = RETRY_MIN_MS;
  #retryTimer: NodeJS.Timeout | null = null;
  #filling = false;
  /** Serialises refills and skips. */
  readonly #work = new InTurn();

  constructor(deriver: AddressDeriver, options: AddressPoolOptions) {
    this.#deriver = deriver;
    this.#leases = new AddressLeases(deriver.mode, deriver.family, options);
    const guard = options.guardOf?.(deriver.mode, deriver.family);
    this.#guard = guard ? new AddressGuard(deriver, this.#leases, { ...guard, log: options.log }) : null;
    this.#log = options.log;
    this.#target = options.stock ?? DEFAULT_STOCK;
    this.#maxTarget = Math.max(this.#target, options.maxStock ?? DEFAULT_MAX_STOCK);
  }

  take(): CollectionAddress | null {
    const address = this.#returned.pop() ?? this.#ready[this.#next++] ?? null;
    if (address === null) this.#next = this.#ready.length;
    if (this.#available() * 4 < this.#kept * 3 && !this.#filling && !this.#exhausted && !this.#closed)
      this.refill().catch(() => {});
    return address;
  }

  giveBack(address: CollectionAddress): void {
    if (this.#returned.some(({ derivationIndex }) => derivationIndex === address.derivationIndex)) return;
    this.#returned.push(address);
  }

  /** Fills up to the target. Rejects when the store or the deriver fails; a retry is already scheduled then. */
  refill(): Promise<void> {
    this.#filling = true;
    return this.#work.run(async () => {
      try {
        await this.#fill();
        this.#filling = false;
        this.#retryMs = RETRY_MIN_MS;
      } catch (error) {
        this.#planRetry(error);
        throw error;
      }
    });
  }

  skipTo(index: number): Promise<void> {
    const skipped = this.#work.run(async () => {
      await this.#guard?.begin();
      await (this.#guard ?? this.#leases).skipTo(index);
      const keep = ({ derivationIndex }: CollectionAddress): boolean => derivationIndex >= index;
      this.#ready = this.#ready.slice(this.#next).filter(keep);
      this.#next = 0;
      this.#returned = this.#returned.filter(keep);
      this.#lease = null;
      this.#wasFull = false;
    });
    return skipped.then(() => this.refill());
  }

  isReconciled(): boolean {
    return this.#guard?.hasBegun ?? true;
  }

  stock(): AddressStock {
    const { mode, family } = this.#deriver;
    return { mode, family, available: this.#available(), target: this.#kept, exhausted: this.#exhausted };
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#retryTimer) clearTimeout(this.#retryTimer);
    await this.#work.ended();
  }

  #available(): number {
    return this.#returned.length + this.#ready.length - this.#next;
  }

  async #fill(): Promise<void> {
    await this.#guard?.begin();
    while (!this.#closed && this.#available() < this.#wanted()) {
      this.#lease ??= await this.#leases.take((left) => this.#keptOf(left), this.#deriver.capacity);
      if (this.#lease === null) return this.#runOut();
      await this.#guard?.leased(this.#lease);
      const { from, to } = this.#lease;
      const count = Math.min(this.#guard?.isDoubtful(from) ? DOUBTFUL_STOCK : this.#derivedAtOnce(), to - from + 1);
      const addresses = await this.#deriver.derive(from, count);
      if (addresses.length !== count) throw new Error(`${count} addresses were requested, ${addresses.length} came`);
      const mayGiveOut = (await this.#guard?.mayGiveOut(from, addresses)) ?? true;
      this.#lease = !mayGiveOut || from + count > to ? null : { from: from + count, to };
      if (mayGiveOut) this.#store(from, addresses);
    }
    this.#wasFull = true;
  }

  #wanted(): number {
    return this.#lease && this.#guard?.isDoubtful(this.#lease.from) ? Math.min(this.#kept, DOUBTFUL_STOCK) : this.#kept;
  }

  get #kept(): number {
    return Math.min(this.#target, this.#most ?? Infinity);
  }

  #keptOf(left: number): number {
    const partOf = (divisor: number): number => Math.max(LEAST_STOCK, Math.ceil(left / divisor));
    if (this.#most === null) this.#target = Math.min(this.#target, partOf(FIRST_STOCK_DIVISOR));
    this.#most = partOf(STOCK_DIVISOR);
    return this.#kept;
  }

  #derivedAtOnce(): number {
    return Math.min(MOST_DERIVED, Math.max(FEWEST_DERIVED, Math.ceil(this.#kept / DERIVED_DIVISOR)));
  }

  #store(from: number, addresses: readonly string[]): void {
    const { family } = this.#deriver;
    const outrun = this.#wasFull && this.#available() * 4 < this.#kept && !this.#guard?.isDoubtful(from);
    if (outrun) this.#target = Math.min(this.#target * 2, this.#maxTarget);
    if (this.#next > 0) {
      this.#ready = this.#ready.slice(this.#next);
      this.#next = 0;
    }
    addresses.forEach((address, i) => this.#ready.push({ family, address, derivationIndex: from + i }));
  }

  #runOut(): void {
    if (this.#exhausted) return;
    this.#exhausted = true;
    const { mode, family } = this.#deriver;
    this.#log.error({ mode, family }, 'no collection addresses are left: export a larger pool');
  }

  #planRetry(error: unknown): void {
    const { mode, family } = this.#deriver;
    this.#log.warn({ mode, family, error: messageOf(error) }, 'could not refill the address pool');
    if (this.#closed) return;
    this.#retryTimer = setTimeout(() => void this.refill().catch(() => {}), this.#retryMs);
    this.#retryTimer.unref();
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MAX_MS);
  }
}
