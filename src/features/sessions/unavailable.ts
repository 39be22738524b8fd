import type { Outcome } from '../shared/merchant-api.ts';

export type Refused = Outcome<never> & { ok: false };

const RETRY_AFTER_SEC = 5;

/** Temporarily refused: the same request may be repeated. */
export const unavailable = (
  code: 'addresses_unconfirmed' | 'clock_in_doubt' | 'rate_unavailable' | 'service_unavailable',
  message: string,
): Refused => ({
  ok: false,
  refusal: { code, message },
  retryAfterSec: RETRY_AFTER_SEC,
});
