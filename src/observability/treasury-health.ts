import { keepsFailing, type Comparison } from '../features/treasury/comparisons.ts';
import type { TreasuryStatus } from '../features/payouts/refunds/refunds.process.ts';
import { needsLook } from '../ports/outgoing/transaction.ts';
import type { HealthFact } from './health.ts';

/** Treasuries that cannot pay, for the status page and for `/readyz`. */
export function treasuryHealth(treasuries: readonly TreasuryStatus[]): readonly HealthFact[] {
  return treasuries.map(({ mode, network, alarm, waiting }) => {
    const first = waiting.find(({ reason }) => needsLook(reason)) ?? waiting[0];
    const detail = alarm ?? (first ? `${waiting.length} refunds wait: ${first.detail}` : undefined);
    return {
      name: `treasury:${mode}:${network}`,
      state: detail === undefined ? 'ok' : 'degraded',
      ...(detail !== undefined && { detail }),
    };
  });
}

/** Comparisons of books and chain that keep failing, so that an outflow would go unnoticed. */
export function comparisonHealth(comparisons: readonly Comparison[]): readonly HealthFact[] {
  return comparisons.filter(keepsFailing).map(({ mode, network, kind, failures, why }) => ({
    name: `comparison:${mode}:${network}:${kind}`,
    state: 'degraded',
    detail: `books and chain could not be compared ${failures} times in a row: ${why}`,
  }));
}
