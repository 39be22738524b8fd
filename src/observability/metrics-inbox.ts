import { Gauge, type Registry } from 'prom-client';
import type { Mode } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';

/** Transfers that wait for a decision, or for the decision to be carried out. */
export interface InboxCount {
  readonly mode: Mode;
  readonly network: string;
  readonly transfers: number;
  /** Block time of the oldest. */
  readonly oldestSec: number;
}

/** Shows whether transfers that pay no order are being handled. */
export function reportInbox(registry: Registry, counts: () => readonly InboxCount[], clock: Clock): void {
  const registers = [registry];
  const labelNames = ['mode', 'network'] as const;
  new Gauge({
    name: 'quittance_inbox_transfers',
    help: 'Final transfers at our addresses that pay no order and wait for a decision.',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const { mode, network, transfers } of counts()) this.set({ mode, network }, transfers);
    },
  });
  new Gauge({
    name: 'quittance_inbox_oldest_age_seconds',
    help: 'How long the oldest of them is in its block.',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const { mode, network, oldestSec } of counts())
        this.set({ mode, network }, Math.max(0, clock.nowMs() / 1000 - oldestSec));
    },
  });
}
