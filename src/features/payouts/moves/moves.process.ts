import type { Mode } from '../../../domain/ids.ts';
import { addressFamilyOf, type Network } from '../../../domain/networks.ts';
import type { Reserved } from '../../../ports/outgoing.ts';
import type { OutgoingChain } from '../../../ports/outgoing-chain.ts';
import type { TreasuryAddresses } from '../../../ports/outgoing-signer.ts';
import { keepNonceAccounts } from './keep-nonce-accounts.ts';
import { MoveExecutor, type MoveExecutorDeps } from './executor.ts';
import type { WaitingMove } from './retry-state.ts';
import { isTransient } from '../faults.ts';

export interface MoveMoneyDeps extends Omit<MoveExecutorDeps, 'chain' | 'treasury' | 'owed' | 'pollMs'> {
  readonly chains: readonly OutgoingChain[];
  readonly addresses: ReadonlyMap<Mode, TreasuryAddresses>;
  readonly owed: (mode: Mode, network: Network) => Promise<Reserved>;
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
  readonly executors: readonly MoveExecutor[];
  readonly #deps: MoveMoneyDeps;
  readonly #loops: Promise<void>[] = [];
  readonly #wake = new Map<MoveExecutor, () => void>();
  #stopped = false;

  constructor(deps: MoveMoneyDeps) {
    this.#deps = deps;
    this.executors = deps.chains.flatMap((chain) => {
      const addresses = deps.addresses.get(chain.mode);
      if (!addresses) return [];
      const treasury = addresses[addressFamilyOf(chain.network)];
      const owed = (): Promise<Reserved> => deps.owed(chain.mode, chain.network);
      return [new MoveExecutor({ ...deps, chain, treasury, owed, pollMs: deps.pollMs(chain.network) })];
    });
  }

  start(): void {
    for (const executor of this.executors) this.#loops.push(this.#run(executor));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const wake of this.#wake.values()) wake();
    await Promise.all(this.#loops);
  }

  executor(mode: Mode, network: Network): MoveExecutor | null {
    return this.executors.find(({ chain }) => chain.mode === mode && chain.network === network) ?? null;
  }

  /** Looks at once instead of at the next round. */
  wake(executor: MoveExecutor): void {
    this.#wake.get(executor)?.();
  }

  status(): readonly MovesStatus[] {
    return this.executors.map(({ chain, alarm, waiting }) => ({ mode: chain.mode, network: chain.network, alarm, waiting }));
  }

  async #run(executor: MoveExecutor): Promise<void> {
    const { mode, network } = executor.chain;
    while (!this.#stopped) {
      try {
        if (this.#deps.mayPay()) await this.#look(executor);
      } catch (error) {
        this.#deps.log[isTransient(error) ? 'warn' : 'error']({ err: error, mode, network }, 'moves of a treasury cannot go on now');
      }
      if (!this.#stopped) await this.#pause(executor);
    }
  }

  async #look(executor: MoveExecutor): Promise<void> {
    const { clock, random, owed } = this.#deps;
    const { mode, network } = executor.chain;
    await keepNonceAccounts(executor, { clock, random, owed: () => owed(mode, network) });
    await executor.round();
  }

  #pause(executor: MoveExecutor): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#deps.pollMs(executor.chain.network));
      this.#wake.set(executor, () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}
