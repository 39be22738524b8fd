import type { Mode, RefundId, SessionId } from '../../../domain/values/ids.ts';
import { addressFamilyOf, type Network } from '../../../domain/networks/networks.ts';
import { toSec } from '../../../ports/clock.ts';
import type { EventStore } from '../../../ports/event-log/event-store.ts';
import { NOTHING_RESERVED, type Reserved } from '../../../ports/outgoing/transaction.ts';
import type { OutgoingChain } from '../../../ports/outgoing/chain.ts';
import type { SignedPayment, TreasuryAddresses } from '../../../ports/outgoing/signer.ts';
import type { ReadModel } from '../../../ports/read-model/read-model.ts';
import { TreasuryAccount, type AccountDeps } from '../account.ts';
import { OutgoingExecutor, type ExecutorDeps } from '../executor.ts';
import { TreasuryLoops } from '../loops.ts';
import { RefundRecords, refOf, type Leg, type RefundRecordsDeps, type WaitingRefund } from './records.ts';
import { PayoutWork } from './work.ts';

export interface PayRefundsDeps
  extends
    Omit<ExecutorDeps, 'pollMs'>,
    Omit<RefundRecordsDeps, 'work' | 'isOurs'>,
    Omit<AccountDeps, 'chain' | 'treasury'> {
  readonly store: EventStore;
  readonly readModel: ReadModel;
  readonly chains: readonly OutgoingChain[];
  readonly addresses: ReadonlyMap<Mode, TreasuryAddresses>;
  readonly isOurs: (mode: Mode, network: Network, address: string) => boolean;
  readonly pollMs: (network: Network) => number;
  /** False until the event log is known to be sound: nothing is signed or sent. */
  readonly mayPay: () => boolean;
}

export interface TreasuryStatus {
  readonly mode: Mode;
  readonly network: Network;
  readonly address: string;
  readonly alarm: string | null;
  readonly waiting: readonly WaitingRefund[];
}

interface RefundTreasury {
  readonly chain: OutgoingChain;
  readonly records: RefundRecords;
  readonly executor: OutgoingExecutor<Leg>;
}

/** Pays the refunds that sessions owe. */
export class PayRefunds {
  readonly #work: PayoutWork;
  readonly #treasuries: readonly RefundTreasury[];
  readonly #loops: TreasuryLoops<RefundTreasury>;

  constructor(deps: PayRefundsDeps) {
    const { store, readModel, sessions, clock, isOurs } = deps;
    this.#work = new PayoutWork({
      ...{ store, readModel, sessions, nowSec: () => toSec(clock.nowMs()) },
      onWork: (mode, network) => this.#loops.wake(mode, network),
    });
    this.#treasuries = deps.chains.flatMap((chain) => {
      const addresses = deps.addresses.get(chain.mode);
      if (!addresses) return [];
      const account = new TreasuryAccount({ ...deps, chain, treasury: addresses[addressFamilyOf(chain.network)] });
      const records = new RefundRecords(account, {
        ...{ ...deps, work: this.#work },
        isOurs: (address) => isOurs(chain.mode, chain.network, address),
      });
      const executor = new OutgoingExecutor(account, records, {
        ...deps,
        pollMs: deps.pollMs(chain.network),
      });
      return [{ chain, records, executor }];
    });
    this.#loops = new TreasuryLoops({
      ...deps,
      executors: this.#treasuries,
      what: 'payouts',
      look: ({ executor }) => executor.round(),
    });
  }

  /** Resolves once all open refunds are known; payouts start in the background. */
  async start(): Promise<void> {
    await this.#work.start();
    this.#loops.start();
  }

  async stop(): Promise<void> {
    const stopped = this.#loops.stop();
    await this.#work.close();
    await stopped;
    await Promise.all(this.#treasuries.map(({ chain }) => chain.close()));
  }

  /** What refunds of a treasury have reserved, signed or not. */
  owed(mode: Mode, network: Network): Promise<Reserved> {
    return this.#owed(mode, network, 'all');
  }

  /** What signed refunds may have spent already. */
  sent(mode: Mode, network: Network): Promise<Reserved> {
    return this.#owed(mode, network, 'sent');
  }

  status(): readonly TreasuryStatus[] {
    // All treasuries share one signer and wait for it.
    const outages = this.#treasuries.map(({ executor }) => executor.outage);
    const signerAway = outages.find((outage) => outage?.reason === 'signer_unavailable')?.detail ?? null;
    return this.#treasuries.map(({ chain: { mode, network }, executor }) => ({
      ...{ mode, network, address: executor.treasury },
      alarm: executor.alarm ?? signerAway,
      waiting: executor.waiting,
    }));
  }

  /** Why a refund is not paid yet; null if nothing is known to delay it. */
  waitingFor(refundId: string): WaitingRefund | null {
    return (
      this.#treasuries.flatMap(({ executor }) => executor.waiting).find((waiting) => waiting.refundId === refundId) ??
      null
    );
  }

  /** Gives up a leg on behalf of the operator. Rejects when something was signed for it. */
  async reject(legId: string): Promise<void> {
    for (const { records, executor } of this.#treasuries) {
      const ref = records.openRefs().find(({ id }) => id === legId);
      if (ref) await executor.interventions.reject(ref);
    }
  }

  /**
   * Records a signature from the signer's journal for a known leg whose signature this event log lost. Rejects when it
   * does not fit.
   */
  async takeOver(
    mode: Mode,
    leg: { readonly sessionId: SessionId; readonly refundId: RefundId },
    payment: SignedPayment,
  ): Promise<void> {
    const treasury = this.#treasuries.find(({ chain }) => chain.mode === mode && chain.network === payment.network);
    if (!treasury) throw new Error(`there is no treasury on ${payment.network}`);
    await treasury.executor.interventions.takeOver(refOf({ ...leg, legId: payment.id }), payment);
    this.#loops.wake(mode, payment.network);
  }

  async #owed(mode: Mode, network: Network, which: 'all' | 'sent'): Promise<Reserved> {
    const treasury = this.#treasuries.find(({ chain }) => chain.mode === mode && chain.network === network);
    return treasury ? treasury.records.owed(which) : NOTHING_RESERVED;
  }
}
