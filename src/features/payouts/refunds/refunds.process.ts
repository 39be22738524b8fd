import type { Mode, SessionId } from '../../../domain/ids.ts';
import { addressFamilyOf, type Network } from '../../../domain/networks.ts';
import { toSec } from '../../../ports/clock.ts';
import type { EventStore } from '../../../ports/event-store.ts';
import type { Reserved } from '../../../ports/outgoing.ts';
import type { OutgoingChain } from '../../../ports/outgoing-chain.ts';
import type { OutgoingSigner, TreasuryAddresses } from '../../../ports/outgoing-signer.ts';
import type { ReadModel } from '../../../ports/read-model.ts';
import type { RefundExecutorDeps } from './deps.ts';
import { isTransient } from '../faults.ts';
import { RefundExecutor } from './executor.ts';
import type { Waiting } from './retry-state.ts';
import { PayoutWork } from './work.ts';

export interface PayRefundsDeps extends Omit<RefundExecutorDeps, 'signer' | 'chain' | 'treasury' | 'work' | 'isOurs' | 'pollMs'> {
  readonly signer: OutgoingSigner;
  readonly store: EventStore;
  readonly readModel: ReadModel;
  readonly chains: readonly OutgoingChain[];
  readonly treasuries: RefundExecutorDeps['treasuries'];
  readonly addresses: ReadonlyMap<Mode, TreasuryAddresses>;
  readonly isOurs: (mode: Mode, network: Network, address: string) => boolean;
  readonly pollMs: (network: Network) => number;
  /** False while the ledger is not known to be sound: nothing is signed and nothing is sent. */
  readonly mayPay: () => boolean;
}

export interface TreasuryStatus {
  readonly mode: Mode;
  readonly network: Network;
  readonly address: string;
  readonly alarm: string | null;
  readonly waiting: readonly Waiting[];
}

/** Pays what sessions owe: one loop a treasury, each on its own, so that a chain that stands still holds up no other. */
export class PayRefunds {
  readonly #deps: PayRefundsDeps;
  readonly #work: PayoutWork;
  readonly #executors: readonly RefundExecutor[];
  readonly #loops: Promise<void>[] = [];
  readonly #wake = new Map<string, () => void>();
  /** Why the signer does not answer; null once it did. */
  #signerTrouble: string | null = null;
  #stopped = false;

  constructor(deps: PayRefundsDeps) {
    this.#deps = deps;
    const { store, readModel, sessions, clock } = deps;
    this.#work = new PayoutWork({
      store,
      readModel,
      sessions,
      nowSec: () => toSec(clock.nowMs()),
      onWork: (mode, network) => this.#wake.get(`${mode}/${network}`)?.(),
    });
    this.#executors = deps.chains.flatMap((chain) => {
      const addresses = deps.addresses.get(chain.mode);
      if (!addresses) return [];
      const treasury = addresses[addressFamilyOf(chain.network)];
      const isOurs = (address: string): boolean => deps.isOurs(chain.mode, chain.network, address);
      return [
        new RefundExecutor({
          ...deps,
          signer: this.#heard(deps.signer),
          chain,
          treasury,
          work: this.#work,
          isOurs,
          pollMs: deps.pollMs(chain.network),
        }),
      ];
    });
  }

  /** Resolves once what was open before is known; payouts follow on their own. */
  async start(): Promise<void> {
    await this.#work.start();
    for (const executor of this.#executors) this.#loops.push(this.#run(executor));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const wake of this.#wake.values()) wake();
    await this.#work.close();
    await Promise.all(this.#loops);
    await Promise.all(this.#executors.map(({ chain }) => chain.close()));
  }

  /** What refunds of a treasury still take, signed or not. */
  async owed(mode: Mode, network: Network): Promise<Reserved> {
    const executor = this.#executors.find(({ chain }) => chain.mode === mode && chain.network === network);
    return executor ? executor.owed('all') : { coins: {}, payouts: 0 };
  }

  /** What refunds that are signed may have taken already. */
  async sent(mode: Mode, network: Network): Promise<Reserved> {
    const executor = this.#executors.find(({ chain }) => chain.mode === mode && chain.network === network);
    return executor ? executor.owed('sent') : { coins: {}, payouts: 0 };
  }

  status(): readonly TreasuryStatus[] {
    return this.#executors.map((executor) => ({
      mode: executor.chain.mode,
      network: executor.chain.network,
      address: executor.treasury,
      alarm: executor.alarm ?? this.#signerTrouble,
      waiting: executor.waiting,
    }));
  }

  /** Why a refund is not paid yet; null when nothing is known to hold it up. */
  waitingFor(refundId: string): Waiting | null {
    return this.#executors.flatMap(({ waiting }) => waiting).find((waiting) => waiting.refundId === refundId) ?? null;
  }

  /** The operator gives up a leg that nothing was signed for. Rejects when something was. */
  async reject(sessionId: SessionId, refundId: string, legId: string): Promise<void> {
    await Promise.all(this.#executors.map((executor) => executor.reject({ sessionId, refundId, legId })));
  }

  /** The same signer; whether it answers is remembered, since a treasury stands still without it. */
  #heard(signer: OutgoingSigner): RefundExecutorDeps['signer'] {
    const heard = async <Answer>(asked: Promise<Answer>): Promise<Answer> => {
      try {
        const answer = await asked;
        this.#signerTrouble = null;
        return answer;
      } catch (error) {
        if (error instanceof Error && error.name === 'SignerUnavailable') this.#signerTrouble = error.message;
        throw error;
      }
    };
    return {
      check: (order) => heard(signer.check(order)),
      sign: (request) => heard(signer.sign(request)),
      release: (order) => heard(signer.release(order)),
    };
  }

  async #run(executor: RefundExecutor): Promise<void> {
    const { mode, network } = executor.chain;
    while (!this.#stopped) {
      try {
        if (this.#deps.mayPay()) await executor.round();
      } catch (error) {
        this.#deps.log[isTransient(error) ? 'warn' : 'error']({ err: error, mode, network }, 'payouts of a treasury cannot go on now');
      }
      if (!this.#stopped) await this.#pause(`${mode}/${network}`, this.#deps.pollMs(network));
    }
  }

  #pause(key: string, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake.set(key, () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}
