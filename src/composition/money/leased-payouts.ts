import { CommandRefused } from '../../operator/server/commands.ts';
import type { Leases } from '../../ports/leases.ts';
import type { WaitingRefund } from '../../features/payouts/refunds/records.ts';
import type { Comparison } from '../../features/treasury/comparisons.ts';
import type { KnownBalance } from '../../features/treasury/watch-outflows.process.ts';
import type { PayRefunds, TreasuryStatus } from '../../features/payouts/refunds/refunds.process.ts';
import { JournalCheck } from '../../features/payouts/journal-check.ts';
import { withLease, type RunningLease } from '../../runtime/leases/with-lease.ts';
import { createTreasuryHandler } from '../../features/shared/handlers/treasury-handler.ts';
import { startPayouts, type PayoutDeps, type PayoutParts } from './payouts.ts';
import { startTreasury } from './treasury.ts';
import type { Treasury } from '../../features/treasury/treasury.ts';

/** Payouts under a lease, so that only one of several capable processes signs. */
export class LeasedPayouts {
  readonly #lease: RunningLease;
  #current: { readonly payouts: PayRefunds; readonly treasury: Treasury } | null = null;

  constructor(parts: PayoutParts, deps: PayoutDeps, leasing: { readonly leases: Leases; readonly leaseTtlMs: number }) {
    const start = async () => {
      const { store, clock, random, core, soleWriter } = deps;
      // One handler and one set of connections per term, because refunds and moves use nonces of the same sequences.
      const treasuries = createTreasuryHandler({
        store,
        clock,
        random,
        notificationIds: core.notificationIds,
        soleWriter,
      });
      const journalCheck = new JournalCheck(parts.signer);
      const chains = parts.chains();
      const payouts = await startPayouts(parts, chains, { ...deps, treasuries, journalCheck }).catch(
        async (error: unknown) => {
          // The next term opens its own.
          await Promise.all(chains.map((chain) => chain.close()));
          throw error;
        },
      );
      const treasury = startTreasury(parts, chains, payouts, { ...deps, treasuries, journalCheck });
      this.#current = { payouts, treasury };
      return {
        stop: async () => {
          this.#current = null;
          await treasury.stop();
          await payouts.stop();
        },
      };
    };
    this.#lease = withLease('pay-refunds', start, { leases: leasing.leases, ttlMs: leasing.leaseTtlMs, log: deps.log });
  }

  /** Settles after the first attempt. */
  get first(): Promise<void> {
    return this.#lease.first;
  }

  status(): readonly TreasuryStatus[] {
    return this.#current?.payouts.status() ?? [];
  }

  /** Only in the process that holds the lease; empty elsewhere. */
  balances(): readonly KnownBalance[] {
    return this.#current?.treasury.balances() ?? [];
  }

  /** As `balances`. */
  comparisons(): readonly Comparison[] {
    return this.#current?.treasury.comparisons() ?? [];
  }

  waitingFor(refundId: string): WaitingRefund | null {
    return this.#current?.payouts.waitingFor(refundId) ?? null;
  }

  /** Null if another process holds the lease. */
  get currentTreasury(): Treasury | null {
    return this.#current?.treasury ?? null;
  }

  /** Throws `CommandRefused` if another process holds the lease. */
  get treasury(): Treasury {
    return this.#own.treasury;
  }

  async reject(legId: string): Promise<void> {
    await this.#own.payouts.reject(legId);
  }

  async takeOver(...given: Parameters<PayRefunds['takeOver']>): Promise<void> {
    await this.#own.payouts.takeOver(...given);
  }

  stop(): Promise<void> {
    return this.#lease.close();
  }

  get #own(): { readonly payouts: PayRefunds; readonly treasury: Treasury } {
    if (!this.#current) throw new CommandRefused('another process makes the payouts: run this there');
    return this.#current;
  }
}
