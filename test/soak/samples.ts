import { percentile } from '../../bench/section.ts';
import { directoryFigures, figuresOf, largestMetrics } from './figures.ts';
import type { SoakShop } from './shop.ts';

/** What was measured at one moment, by name. A figure that could not be had is missing. */
export interface Sample {
  readonly atSec: number;
  readonly isQuiet: boolean;
  readonly figures: Readonly<Record<string, number>>;
}

export interface Sampled {
  readonly service: number;
  readonly signer: number;
  readonly opsUrl: string;
  readonly dataDir: string;
  readonly shop: SoakShop;
}

/** Figures that the service's metrics give, by name of the curve. */
const METRICS = {
  'heap MB': { metric: 'nodejs_heap_size_used_bytes', unit: 2 ** 20 },
  'events behind': { metric: 'quittance_projection_lag_events', unit: 1 },
  'scan lag s': { metric: 'quittance_chain_scan_lag_seconds', unit: 1 },
  'event loop p99 ms': { metric: 'nodejs_eventloop_lag_p99_seconds', unit: 0.001 },
  'error lines': { metric: 'quittance_log_lines_total', unit: 1 },
} as const;

export async function sampleOf(
  { service, signer, opsUrl, dataDir, shop }: Sampled,
  atSec: number,
  isQuiet: boolean,
): Promise<Sample> {
  const figures: Record<string, number> = {};
  for (const [name, pid] of [
    ['service', service],
    ['signer', signer],
  ] as const) {
    const found = figuresOf(pid);
    if (found === null) throw new Error(`the ${name} has ended`);
    figures[`${name} memory MB`] = found.memoryMb;
    figures[`${name} handles`] = found.handles;
    figures[`${name} threads`] = found.threads;
    figures[`${name} CPU s`] = found.cpuSec;
  }
  const metrics = await largestMetrics(opsUrl).catch(() => new Map<string, number>());
  for (const [name, { metric, unit }] of Object.entries(METRICS)) {
    const value = metrics.get(metric);
    if (value !== undefined) figures[name] = value / unit;
  }
  const { files, bytes } = directoryFigures(dataDir);
  const { createMs, paidMs, heldBack, faults } = shop.take();
  Object.assign(figures, {
    files,
    'data MB': bytes / 2 ** 20,
    orders: shop.orders,
    'held back': heldBack,
    faults: faults.length,
    waiting: shop.waiting.length,
  });
  for (const [name, times] of [
    ['create ms', createMs],
    ['paid ms', paidMs],
  ] as const) {
    if (times.length === 0) continue;
    figures[`${name} p50`] = percentile(times, 0.5);
    figures[`${name} p99`] = percentile(times, 0.99);
  }
  for (const fault of new Set(faults)) console.log(`soak: ${fault}`);
  return { atSec, isQuiet, figures };
}
