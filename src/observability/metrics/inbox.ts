import type { Registry } from 'prom-client';
import type { Mode } from '../../domain/values/ids.ts';
import type { Clock } from '../../ports/clock.ts';
import { gaugesIn } from './gauges.ts';

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
  const gauge = (name: string, help: string, of: (count: InboxCount) => number): void =>
    gaugesIn(registry).by(name, help, ['mode', 'network'], () =>
      counts().map((count) => [{ mode: count.mode, network: count.network }, of(count)]),
    );
  gauge(
    'quittance_inbox_transfers',
    'Final transfers at our addresses that pay no order and wait for a decision.',
    ({ transfers }) => transfers,
  );
  gauge(
    'quittance_inbox_oldest_age_seconds',
    'Age of the block of the oldest transfer in the inbox.',
    ({ oldestSec }) => Math.max(0, clock.nowMs() / 1000 - oldestSec),
  );
}
