import type { FaultKind, NotedRefusal, ProviderStatus, ReportedBlock } from '../../ports/chain/rpc-pool.ts';

/** All times are parameters in milliseconds of a monotonic clock. */
export interface ProviderHealth {
  succeeded(): void;
  failed(kind: FaultKind, nowMs: number, retryAfterMs?: number): void;
  /** 0 if it may be asked now. */
  waitMs(nowMs: number): number;
  saw(what: ReportedBlock, blockNumber: number, nowMs: number): void;
  refused(refusal: NotedRefusal, nowMs: number): void;
  refusal(nowMs: number): ProviderStatus['refusal'];
  /** Null if it has not reported one recently. */
  head(nowMs: number): number | null;
  reported(nowMs: number): ProviderStatus['reported'];
  readonly consecutiveFaults: number;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 15_000;
const RATE_LIMIT_PAUSE_MS = 1_000;
/** Longer pauses are capped, so that `Retry-After: 86400` does not exclude a provider for a day. */
const LONGEST_WISH_MS = 120_000;
const WRONG_CHAIN_PAUSE_MS = 60_000;
/** Its calls are used up for hours. Asked again within them, as somebody may have bought more. */
const QUOTA_PAUSE_MS = 600_000;
const REFUSAL_LIFETIME_MS = 3_600_000;
/** An older head tells nothing about the current lag. */
const HEAD_LIFETIME_MS = 60_000;

export function createProviderHealth(): ProviderHealth {
  let consecutiveFaults = 0;
  let readyAtMs = 0;
  let lastRefusal: { readonly refusal: NotedRefusal; readonly atMs: number } | null = null;
  const seen: Partial<Record<ReportedBlock, { readonly number: number; readonly atMs: number }>> = {};

  function pauseMs(kind: FaultKind, retryAfterMs: number | undefined): number {
    const growing = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(consecutiveFaults - 1, 10));
    if (kind === 'wrong-chain') return WRONG_CHAIN_PAUSE_MS;
    if (kind === 'quota-used') return QUOTA_PAUSE_MS;
    if (kind === 'rate-limited')
      return Math.min(LONGEST_WISH_MS, retryAfterMs ?? Math.max(RATE_LIMIT_PAUSE_MS, growing));
    return kind === 'unreachable' || kind === 'unknown' ? growing : 0;
  }

  return {
    get consecutiveFaults() {
      return consecutiveFaults;
    },
    succeeded() {
      consecutiveFaults = 0;
    },
    failed(kind, nowMs, retryAfterMs) {
      consecutiveFaults += 1;
      readyAtMs = Math.max(readyAtMs, nowMs + pauseMs(kind, retryAfterMs));
    },
    waitMs: (nowMs) => Math.max(0, readyAtMs - nowMs),
    saw(what, number, nowMs) {
      seen[what] = { number, atMs: nowMs };
    },
    refused(refusal, nowMs) {
      lastRefusal = { refusal, atMs: nowMs };
    },
    refusal: (nowMs) =>
      lastRefusal !== null && nowMs - lastRefusal.atMs < REFUSAL_LIFETIME_MS
        ? { ...lastRefusal.refusal, ageSec: Math.floor((nowMs - lastRefusal.atMs) / 1000) }
        : null,
    head: (nowMs) => (seen.head && nowMs - seen.head.atMs < HEAD_LIFETIME_MS ? seen.head.number : null),
    reported: (nowMs) => ({
      head: aged(seen.head, nowMs),
      final: aged(seen.final, nowMs),
      read: aged(seen.read, nowMs),
    }),
  };
}

const aged = (
  seen: { readonly number: number; readonly atMs: number } | undefined,
  nowMs: number,
): ProviderStatus['reported']['head'] =>
  seen ? { block: seen.number, ageSec: Math.floor((nowMs - seen.atMs) / 1000) } : null;

/**
 * The head to measure lag against: the highest, or with three or more reports the second highest, so that a single
 * provider that invents blocks cannot make all others look behind.
 */
export function referenceHead(heads: readonly (number | null)[]): number | null {
  const known = heads.filter((head): head is number => head !== null).sort((a, b) => b - a);
  return known[known.length >= 3 ? 1 : 0] ?? null;
}
