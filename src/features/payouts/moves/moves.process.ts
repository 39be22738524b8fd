import type { Mode } from '../../../domain/values/ids.ts';
import { addressFamilyOf, type Network } from '../../../domain/networks/networks.ts';
import type { Reserved } from '../../../ports/outgoing/transaction.ts';
import type { OutgoingChain } from '../../../ports/outgoing/chain.ts';
import type { TreasuryAddresses } from '../../../ports/outgoing/signer.ts';
import type { AccountDeps } from '../account.ts';
import type { ExecutorDeps } from '../executor.ts';
import { TreasuryLoops } from '../loops.ts';
import { keepNonceAccounts } from './keep-nonce-accounts.ts';
import { moveExecutor, type MoveExecutor, type MoveRecordsDeps } from './records.ts';

export interface MoveMoneyDeps
  extends Omit<ExecutorDeps, 'pollMs'>, Omit<MoveRecordsDeps, 'owed'>, Omit<AccountDeps, 'chain' | 'treasury'> {
  readonly chains: readonly OutgoingChain[];
  readonly addresses: ReadonlyMap<Mode, TreasuryAddresses>;
  readonly owed: (mode: Mode, network: Network) => Promise<Reserved>;
  readonly pollMs: (network: Network) => number;
  /** False until the event log is known to be sound: nothing is sent. */
  readonly mayPay: () => boolean;
}

/** Executes all outgoing transactions other than refunds. */
export class MoveMoney {
  readonly executors: readonly MoveExecutor[];
  readonly #loops: TreasuryLoops<MoveExecutor>;

  constructor(deps: MoveMoneyDeps) {
    const { clock, random, owed } = deps;
    this.executors = deps.chains.flatMap((chain) => {
      const addresses = deps.addresses.get(chain.mode);
      if (!addresses) return [];
      const treasury = addresses[addressFamilyOf(chain.network)];
      return [
        moveExecutor({
          ...deps,
          chain,
          treasury,
          owed: () => owed(chain.mode, chain.network),
          pollMs: deps.pollMs(chain.network),
        }),
      ];
    });
    this.#loops = new TreasuryLoops({
      ...deps,
      executors: this.executors,
      what: 'moves',
      look: async (executor) => {
        const { mode, network } = executor.chain;
        await keepNonceAccounts(executor, { clock, random, owed: () => owed(mode, network) });
        await executor.round();
      },
    });
  }

  start(): void {
    this.#loops.start();
  }

  stop(): Promise<void> {
    return this.#loops.stop();
  }

  executor(mode: Mode, network: Network): MoveExecutor | null {
    return this.executors.find(({ chain }) => chain.mode === mode && chain.network === network) ?? null;
  }

  /** Starts the next round at once. */
  wake({ chain }: MoveExecutor): void {
    this.#loops.wake(chain.mode, chain.network);
  }
}
