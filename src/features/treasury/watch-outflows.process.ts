import { setTimeout as sleep } from 'node:timers/promises';
import type { Mode } from '../../domain/values/ids.ts';
import { formatAmount, type Coin } from '../../domain/money/money.ts';
import { NATIVE_COIN, type Network } from '../../domain/networks/networks.ts';

/** An account of the operator on one network with readable balances. */
export interface WatchedTreasury {
  readonly mode: Mode;
  readonly network: Network;
  /** 10^-18 units. Rejects while the chain cannot be read. */
  balances(): Promise<{ readonly coins: Readonly<Partial<Record<Coin, bigint>>>; readonly native: bigint }>;
}

/** One balance as last read; `gas` pays fees, `coin` pays refunds. */
export interface KnownBalance {
  readonly mode: Mode;
  readonly network: Network;
  readonly kind: 'coin' | 'gas';
  readonly coin: string;
  /** Units of the coin. A float suffices for display and alarms. */
  readonly amount: number;
}

export interface WatchTreasuriesDeps {
  readonly treasuries: readonly WatchedTreasury[];
  readonly everyMs: number;
  readonly onError: (error: unknown, treasury: WatchedTreasury) => void;
}

const STOP_GRACE_MS = 1_000;

/** Reads the treasuries' balances at its own pace, so that a metric never waits for a chain. */
export class WatchTreasuries {
  readonly #deps: WatchTreasuriesDeps;
  readonly #known = new Map<WatchedTreasury, readonly KnownBalance[]>();
  readonly #stopping = new AbortController();
  #loops: Promise<void>[] = [];

  constructor(deps: WatchTreasuriesDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#loops = this.#deps.treasuries.map((treasury) => this.#follow(treasury));
  }

  /** Waits briefly for running reads, but not for providers that do not respond. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.race([Promise.all(this.#loops), sleep(STOP_GRACE_MS, undefined, { ref: false })]);
  }

  /** Empty for a treasury that was never read; one that has become unreadable keeps its last figures. */
  balances(): readonly KnownBalance[] {
    return [...this.#known.values()].flat();
  }

  async #follow(treasury: WatchedTreasury): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        this.#known.set(treasury, await read(treasury));
      } catch (error) {
        this.#deps.onError(error, treasury);
      }
      await sleep(this.#deps.everyMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

async function read(treasury: WatchedTreasury): Promise<KnownBalance[]> {
  const { mode, network } = treasury;
  const { coins, native } = await treasury.balances();
  const held = Object.entries(coins).map(([coin, units]) => ({
    mode,
    network,
    kind: 'coin' as const,
    coin,
    amount: Number(formatAmount(units)),
  }));
  return [...held, { mode, network, kind: 'gas', coin: NATIVE_COIN[network], amount: Number(formatAmount(native)) }];
}
