import type { Mode } from '../domain/ids.ts';
import { addressFamilyOf, type Network } from '../domain/networks.ts';
import type { MoveChain } from '../ports/moves.ts';
import type { Promised, TreasuryAddresses } from '../ports/payouts.ts';
import { MoveDesk, type MoveDeskDeps } from './move-money-desk.ts';
import type { WaitingMove } from './move-money-notes.ts';
import { isTransient } from './money-out-faults.ts';

export interface MoveMoneyDeps extends Omit<MoveDeskDeps, 'chain' | 'treasury' | 'owed' | 'pollMs'> {
  readonly chains: readonly MoveChain[];
  readonly addresses: ReadonlyMap<Mode, TreasuryAddresses>;
  readonly owed: (mode: Mode, network: Network) => Promise<Promised>;
  readonly pollMs: (network: Network) => number;
  /** False while the ledger is not known to be sound: then nothing is sent. */
  readonly mayPay: () => boolean;
}

export interface MovesStatus {
  readonly mode: Mode;
  readonly network: Network;
  readonly alarm: string | null;
  readonly waiting: readonly WaitingMove[];
}

/** Moves money that is not a refund: one loop a treasury, each on its own. */
export class MoveMoney {
  readonly desks: readonly MoveDesk[];
  readonly #deps: MoveMoneyDeps;
  readonly #loops: Promise<void>[] = [];
  readonly #wake = new Map<MoveDesk, () => void>();
  #stopped = false;

  constructor(deps: MoveMoneyDeps) {
    this.#deps = deps;
    this.desks = deps.chains.flatMap((chain) => {
      const addresses = deps.addresses.get(chain.mode);
      if (!addresses) return [];
      const treasury = addresses[addressFamilyOf(chain.network)];
      const owed = (): Promise<Promised> => deps.owed(chain.mode, chain.network);
      return [new MoveDesk({ ...deps, chain, treasury, owed, pollMs: deps.pollMs(chain.network) })];
    });
  }

  start(): void {
    for (const desk of this.desks) this.#loops.push(this.#run(desk));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const wake of this.#wake.values()) wake();
    await Promise.all(this.#loops);
  }

  desk(mode: Mode, network: Network): MoveDesk | null {
    return this.desks.find(({ chain }) => chain.mode === mode && chain.network === network) ?? null;
  }

  /** Looks at once instead of at the next round. */
  wake(desk: MoveDesk): void {
    this.#wake.get(desk)?.();
  }

  status(): readonly MovesStatus[] {
    return this.desks.map(({ chain, alarm, waiting }) => ({ mode: chain.mode, network: chain.network, alarm, waiting }));
  }

  async #run(desk: MoveDesk): Promise<void> {
    const { mode, network } = desk.chain;
    while (!this.#stopped) {
      try {
        if (this.#deps.mayPay()) await desk.round();
      } catch (error) {
        this.#deps.log[isTransient(error) ? 'warn' : 'error']({ err: error, mode, network }, 'moves of a treasury cannot go on now');
      }
      if (!this.#stopped) await this.#pause(desk);
    }
  }

  #pause(desk: MoveDesk): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#deps.pollMs(desk.chain.network));
      this.#wake.set(desk, () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}
