import { ERRORS, type ErrorCode } from '../domain/errors.ts';
import type { Mode } from '../domain/values/ids.ts';
import type { Answer } from './answer.ts';
import type { RequestHeaders } from './request-headers.ts';
import { refusedField } from './validation.ts';

/** With a test-mode key of a sandbox: return this error code and do nothing. */
const ORDERED_ERROR_HEADER = 'Quittance-Sandbox-Error';

const RETRY_AFTER_SEC = 1;
const isCode = (text: string): text is ErrorCode => Object.hasOwn(ERRORS, text);

/**
 * The error that a shop under test requested; null if it requested none. Evaluated after all checks of the caller, so
 * it weakens nothing.
 */
export function orderedError({ orderedError: code }: RequestHeaders, mode: Mode): Answer | null {
  if (code === undefined || mode !== 'test') return null;
  if (code === null || !isCode(code))
    return refusedField(ORDERED_ERROR_HEADER, `must be sent once, as one of ${Object.keys(ERRORS).join(', ')}`);
  return {
    ok: false,
    refusal: {
      code,
      message: `${ERRORS[code].meaning} (Requested with ${ORDERED_ERROR_HEADER}; nothing was done.)`,
    },
    retryAfterSec: RETRY_AFTER_SEC,
    ...(code === 'method_not_allowed' && { allow: [] }),
  };
}
