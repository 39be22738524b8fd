import { CommandRefused } from '../cli/admin-commands.ts';
import type { SessionId } from '../domain/ids.ts';
import type { Leases } from '../ports/leases.ts';
import type { Waiting } from '../processes/pay-refunds-notes.ts';
import type { PayRefunds, TreasuryStatus } from '../processes/pay-refunds.process.ts';
import { withLease, type RunningLease } from '../runtime/with-lease.ts';
import { startPayouts, type PayoutDeps, type PayoutParts } from './payouts.ts';

/** Payouts wherever their lease is: of several processes that could sign, one does. */
export class LeasedPayouts {
  readonly #lease: RunningLease;
  #current: PayRefunds | null = null;

  constructor(parts: PayoutParts, deps: PayoutDeps, leasing: { readonly leases: Leases; readonly leaseTtlMs: number }) {
    const start = async () => {
      const payouts = await startPayouts(parts, deps);
      this.#current = payouts;
      return {
        stop: async () => {
          this.#current = null;
          await payouts.stop();
        },
      };
    };
    this.#lease = withLease('pay-refunds', start, { leases: leasing.leases, ttlMs: leasing.leaseTtlMs, log: deps.log });
  }

  /** Settles after the first try. */
  get first(): Promise<void> {
    return this.#lease.first;
  }

  status(): readonly TreasuryStatus[] {
    return this.#current?.status() ?? [];
  }

  waitingFor(refundId: string): Waiting | null {
    return this.#current?.waitingFor(refundId) ?? null;
  }

  async reject(sessionId: SessionId, refundId: string, legId: string): Promise<void> {
    if (!this.#current) throw new CommandRefused('another process pays now: ask there');
    await this.#current.reject(sessionId, refundId, legId);
  }

  stop(): Promise<void> {
    return this.#lease.close();
  }
}
