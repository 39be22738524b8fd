import type { EndpointFailuresRow } from '../../../projections/webhooks/work.projection.ts';

const DAY_MS = 86_400_000;

/** When an endpoint is suspended (design, "webhook retries"). */
const SUSPENSION = {
  onlyFailuresForMs: 5 * DAY_MS,
  /** A few failures far apart are no evidence: one delivery with all its retries has six. */
  minFailures: 12,
  goneInARow: 3,
} as const;

/** Why the endpoint should be suspended now, or null. */
export function suspensionReason(failures: EndpointFailuresRow, nowMs: number): 'only_failures' | 'gone' | null {
  if (failures.gone >= SUSPENSION.goneInARow) return 'gone';
  const longEnough = nowMs - failures.failingSinceMs >= SUSPENSION.onlyFailuresForMs;
  return longEnough && failures.failures >= SUSPENSION.minFailures ? 'only_failures' : null;
}
