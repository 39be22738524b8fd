import type { NetworkSettings } from '../../domain/networks/networks.ts';
import type { Log } from '../../ports/log.ts';
import type { SharedStatus } from '../../ports/shared-status.ts';
import type { Leases } from '../../ports/leases.ts';
import type { RescanResult, WatchStatus } from './chain/types.ts';
import type { NetworkWatcher } from './network-watcher.ts';
import { withLease, type LeasedWork, type LeaseGrant, type RunningLease } from '../../runtime/leases/with-lease.ts';

export interface LeasedWatcherDeps {
  readonly settings: NetworkSettings;
  readonly leases: Leases;
  readonly ttlMs: number;
  readonly sharedStatus: SharedStatus;
  readonly log: Log;
  /** Creates a watcher for one term; null in a process that only needs to know how far the chain was read. */
  readonly create: (() => Promise<NetworkWatcher>) | null;
}

const PUBLISH_MS = 250;
const NOTHING: WatchStatus = {
  headBlock: null,
  scannedBlock: null,
  scannedToSec: null,
  finalizedBlock: null,
  coveredBlock: null,
  trackedDeposits: 0,
  consecutiveFailures: 0,
};

/**
 * The watcher of one network from the view of every process: one of them reads the chain and publishes its progress for
 * the others.
 */
export class LeasedWatcher implements NetworkWatcher {
  readonly #deps: LeasedWatcherDeps;
  #current: NetworkWatcher | null = null;
  #lease: RunningLease | null = null;

  /** Absent for chains that are not read by blocks; `recheck` for those that are. */
  readonly rescan?: NonNullable<NetworkWatcher['rescan']>;
  readonly recheck?: NonNullable<NetworkWatcher['recheck']>;

  constructor(deps: LeasedWatcherDeps) {
    this.#deps = deps;
    if (deps.settings.network === 'solana') this.recheck = (address) => this.#recheck(address);
    else this.rescan = (fromBlock, toBlock) => this.#rescan(fromBlock, toBlock);
  }

  /** Resolves after the first attempt to acquire the lease and to read; a watcher that cannot start is tried again. */
  async start(): Promise<void> {
    const { create } = this.#deps;
    if (!create) return;
    this.#lease = withLease(this.#about, (grant) => this.#watch(create, grant), this.#deps);
    await this.#lease.first.catch(() => undefined);
  }

  async stop(): Promise<void> {
    await this.#lease?.close();
  }

  scannedToSec(): number | null {
    return this.#current?.scannedToSec() ?? this.#reported().scannedToSec;
  }

  onScanned(listener: (scannedToSec: number) => void): () => void {
    return this.#current?.onScanned(listener) ?? (() => undefined);
  }

  status(): WatchStatus {
    return this.#current?.status() ?? this.#reported();
  }

  async #rescan(fromBlock: number, toBlock: number): Promise<RescanResult> {
    if (!this.#current?.rescan) throw this.#elsewhere();
    return this.#current.rescan(fromBlock, toBlock);
  }

  async #recheck(address: string): Promise<{ readonly transfers: number }> {
    if (!this.#current?.recheck) throw this.#elsewhere();
    return this.#current.recheck(address);
  }

  /** The name of its lease and of its notices. */
  get #about(): string {
    const { mode, network } = this.#deps.settings;
    return `watch-${mode}-${network}`;
  }

  #elsewhere(): RangeError {
    return new RangeError(`another process reads ${this.#deps.settings.network}: run this there`);
  }

  /** The last published status stays valid until a new watcher has read something. */
  #reported(): WatchStatus {
    const reported = this.#deps.sharedStatus.read(this.#about);
    return isWatchStatus(reported) ? reported : NOTHING;
  }

  async #watch(create: () => Promise<NetworkWatcher>, grant: LeaseGrant): Promise<LeasedWork> {
    const watcher = await create();
    // The first attempt reads everything since the last run, which can take long. A term that ends meanwhile must not
    // wait for it.
    const ending = setInterval(() => {
      if (grant.isHeld()) return;
      clearInterval(ending);
      watcher.stop().catch(() => undefined);
    }, PUBLISH_MS).unref();
    try {
      await watcher.start();
    } catch (error) {
      await watcher.stop();
      throw error;
    } finally {
      clearInterval(ending);
    }
    this.#current = watcher;
    const publish = (): void => {
      if (grant.isHeld() && watcher.scannedToSec() !== null)
        this.#deps.sharedStatus.publish(this.#about, grant.token, { ...watcher.status() });
    };
    publish();
    const timer = setInterval(publish, PUBLISH_MS).unref();
    return {
      stop: async () => {
        clearInterval(timer);
        this.#current = null;
        await watcher.stop();
      },
    };
  }
}

const isWatchStatus = (value: unknown): value is WatchStatus =>
  typeof value === 'object' && value !== null && 'headBlock' in value;
