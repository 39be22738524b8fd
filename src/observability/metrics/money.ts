import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { type Mode, MODES } from '../../domain/values/ids.ts';
import type { Network } from '../../domain/networks/networks.ts';
import type { Clock } from '../../ports/clock.ts';

export const OPEN_STATUSES = ['open', 'processing'] as const;
const OUTCOMES = ['created', 'paid', 'expired', 'failed', 'cancelled'] as const;
const DEPOSIT_OUTCOMES = ['detected', 'final', 'reverted', 'reverted_after_final'] as const;
const REFUND_STATUSES = ['PENDING', 'PROCESSING'] as const;
const REFUND_OUTCOMES = ['requested', 'completed', 'failed', 'reverted'] as const;
const BLOCK_TO_PAID_SEC = [1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 3600];
const REFUND_SEC = [5, 15, 30, 60, 120, 300, 600, 1800, 3600, 14_400, 86_400];

/** What is in progress now. */
export interface MoneyUnderWay {
  /** Sessions that can still be paid. */
  openSessions(): Iterable<{ readonly mode: Mode; readonly status: (typeof OPEN_STATUSES)[number] }>;
  openRefunds(): Iterable<{
    readonly mode: Mode;
    readonly status: (typeof REFUND_STATUSES)[number];
    readonly requestedAtSec: number;
  }>;
}

/** Whether money moves, how fast, and what is stuck. */
export class MoneyMetrics {
  readonly sessions: Counter<'mode' | 'outcome'>;
  readonly deposits: Counter<'mode' | 'network' | 'outcome'>;
  readonly depositKinds: Counter<'mode' | 'network' | 'kind'>;
  readonly received: Counter<'mode' | 'coin'>;
  readonly blockToPaid: Histogram<'mode' | 'network'>;
  readonly refunds: Counter<'mode' | 'outcome'>;
  readonly refundDuration: Histogram<'mode'>;
  readonly lastPaid: Gauge<'mode'>;
  readonly rateSpread: Gauge<'currency' | 'coin'>;
  readonly followFailures: Counter;

  constructor(registry: Registry) {
    const registers = [registry];
    const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]): Counter<Label> =>
      new Counter({ name, help, labelNames, registers });
    this.sessions = counter('quittance_sessions_total', 'Payment sessions by what became of them.', [
      'mode',
      'outcome',
    ]);
    this.deposits = counter('quittance_deposits_total', 'Transfers to collection addresses by what became of them.', [
      'mode',
      'network',
      'outcome',
    ]);
    this.depositKinds = counter('quittance_deposits_detected_total', 'Transfers seen, by how they fit their session.', [
      'mode',
      'network',
      'kind',
    ]);
    this.received = counter('quittance_payments_received_coins_total', 'Units of the coin that paid sessions.', [
      'mode',
      'coin',
    ]);
    this.refunds = counter(
      'quittance_refunds_total',
      'Refunds requested, completed and failed; reverted: a completed payout left its chain and is sent again.',
      ['mode', 'outcome'],
    );
    this.followFailures = counter(
      'quittance_money_metrics_failures_total',
      'Events that the money figures could not count.',
      [],
    );
    this.blockToPaid = new Histogram({
      name: 'quittance_block_to_paid_seconds',
      help: 'From the time of the block that holds the last transfer to the session being paid.',
      labelNames: ['mode', 'network'],
      buckets: BLOCK_TO_PAID_SEC,
      enableExemplars: true,
      registers,
    });
    this.refundDuration = new Histogram({
      name: 'quittance_refund_duration_seconds',
      help: 'From the request of a refund to its end.',
      labelNames: ['mode'],
      buckets: REFUND_SEC,
      enableExemplars: true,
      registers,
    });
    this.lastPaid = new Gauge({
      name: 'quittance_last_paid_timestamp_seconds',
      help: 'When a session was last paid, since the start.',
      labelNames: ['mode'],
      registers,
    });
    this.rateSpread = new Gauge({
      name: 'quittance_rate_spread_ratio',
      help: 'Distance between the highest and the lowest quote used for the last order in the currency, as a share of the lowest.',
      labelNames: ['currency', 'coin'],
      registers,
    });
    for (const mode of MODES) {
      this.refundDuration.zero({ mode });
      for (const outcome of OUTCOMES) this.sessions.inc({ mode, outcome }, 0);
      for (const outcome of REFUND_OUTCOMES) this.refunds.inc({ mode, outcome }, 0);
    }
  }

  /** Starts the counters of a network. */
  addNetwork(mode: Mode, network: Network): void {
    for (const outcome of DEPOSIT_OUTCOMES) this.deposits.inc({ mode, network, outcome }, 0);
    this.depositKinds.inc({ mode, network, kind: 'on_time' }, 0);
    this.blockToPaid.zero({ mode, network });
  }

  /** Adds what is in progress to the metrics. */
  addUnderWay(registry: Registry, underWay: MoneyUnderWay, clock: Clock): void {
    const registers = [registry];
    new Gauge({
      name: 'quittance_sessions_open',
      help: 'Sessions that can still be paid: open without money, processing once a transfer is seen.',
      labelNames: ['mode', 'status'],
      registers,
      collect() {
        for (const mode of MODES) for (const status of OPEN_STATUSES) this.set({ mode, status }, 0);
        for (const { mode, status } of underWay.openSessions()) this.inc({ mode, status });
      },
    });
    new Gauge({
      name: 'quittance_refunds_open',
      help: 'Refunds under way: PENDING before their bytes are signed, PROCESSING until they landed.',
      labelNames: ['mode', 'status'],
      registers,
      collect() {
        for (const mode of MODES) for (const status of REFUND_STATUSES) this.set({ mode, status }, 0);
        for (const { mode, status } of underWay.openRefunds()) this.inc({ mode, status });
      },
    });
    new Gauge({
      name: 'quittance_refund_oldest_open_age_seconds',
      help: 'Age of the oldest refund under way; 0 when there is none.',
      labelNames: ['mode'],
      registers,
      collect() {
        for (const mode of MODES) this.set({ mode }, 0);
        const nowSec = clock.nowMs() / 1000;
        const oldest = new Map<Mode, number>();
        for (const { mode, requestedAtSec } of underWay.openRefunds())
          oldest.set(mode, Math.max(oldest.get(mode) ?? 0, nowSec - requestedAtSec));
        for (const [mode, age] of oldest) this.set({ mode }, age);
      },
    });
  }
}
