import { refuse } from '../domain/values/result.ts';
import type { RateDecision } from '../ports/rate-limiter.ts';
import { POSITION_HEADER, type Answer } from './answer.ts';
import { refusedField } from './validation.ts';

/* What is answered the same to every request. */

/** Largest request body (not in the specification; design, "limits"). */
export const MAX_BODY_BYTES = 256 * 1024;

/** A person has to look, so nothing changes within seconds. */
const READ_ONLY_RETRY_SEC = 60;

export const BODY_TOO_LARGE: Answer = refuse(
  'body_too_large',
  `The body must be at most ${MAX_BODY_BYTES} bytes.`,
  'body',
);
export const CONTENT_TYPE_MISSING: Answer = refuse(
  'unsupported_media_type',
  'Content-Type must be application/json.',
  'Content-Type',
);
export const IDEMPOTENCY_KEY_MALFORMED: Answer = refusedField(
  'Idempotency-Key',
  'must be sent once, with 1 to 255 printable ASCII characters',
);
export const READ_ONLY: Answer = {
  ok: false,
  refusal: {
    code: 'read_only',
    message: 'The service is read-only while its records are checked. Nothing was stored.',
  },
  retryAfterSec: READ_ONLY_RETRY_SEC,
};
export const SERVICE_UNAVAILABLE: Answer = refuse('service_unavailable', 'The service cannot handle the request now.');
export const POSITION_MALFORMED: Answer = refusedField(
  POSITION_HEADER,
  'must be sent once, unchanged from an earlier response',
);
export const BEHIND: Answer = {
  ok: false,
  refusal: {
    code: 'service_unavailable',
    message: 'This node has not yet read everything that another node showed you.',
  },
  retryAfterSec: 1,
};
export const INTERNAL_ERROR: Answer = refuse(
  'internal_error',
  'The service failed. Whether the request took effect is unknown.',
);

export const rateLimited = (rate: RateDecision): Answer => ({
  ok: false,
  refusal: { code: 'rate_limited', message: `This key may send at most ${rate.limit} requests in a burst.` },
  retryAfterSec: rate.retryAfterSec,
});
