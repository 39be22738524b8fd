import type { DeliveryAttempted } from '../../domain/events/delivery-events.ts';
import type { Row } from '../../ports/read-model.ts';

/** How an endpoint has fared since its last success. Times are Unix milliseconds. */
export interface Health {
  readonly failingSinceMs: number;
  readonly failures: number;
  /** Answers 410 in a row. */
  readonly gone: number;
}

const DAY_MS = 86_400_000;

/** When an endpoint is suspended (design, "webhook retries"). */
const SUSPENSION = {
  onlyFailuresForMs: 5 * DAY_MS,
  /** A handful of failures far apart are no evidence: one delivery with all its retries is six. */
  minFailures: 12,
  goneInARow: 3,
} as const;

/** The endpoint's health after an attempt; null when there is nothing to remember. */
export function healthAfter(before: Health | null, attempt: DeliveryAttempted['data']): Health | null {
  if (attempt.failure === null) return null;
  // The endpoint had no part in these.
  if (attempt.failure === 'no_endpoint') return before;
  const failingSinceMs = before?.failingSinceMs ?? attempt.startedAtMs;
  const gone = attempt.failure === 'gone' ? (before?.gone ?? 0) + 1 : 0;
  return { failingSinceMs, failures: (before?.failures ?? 0) + 1, gone };
}

/** Why the endpoint is to be suspended now, or null. */
export function suspensionReason(health: Health, nowMs: number): 'only_failures' | 'gone' | null {
  if (health.gone >= SUSPENSION.goneInARow) return 'gone';
  const longEnough = nowMs - health.failingSinceMs >= SUSPENSION.onlyFailuresForMs;
  return longEnough && health.failures >= SUSPENSION.minFailures ? 'only_failures' : null;
}

export const healthRow = (health: Health): Row => ({ ...health });

export function readHealth(row: Row): Health {
  return { failingSinceMs: Number(row['failingSinceMs']), failures: Number(row['failures']), gone: Number(row['gone']) };
}
