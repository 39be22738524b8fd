import { ApiError, ConnectionError } from '@quittance/client/errors';

/** The types of Medusa's errors whose message it shows; the others become "An unknown error occurred." */
type ShownType = 'invalid_data' | 'not_allowed' | 'not_found' | 'payment_authorization_error' | 'unexpected_state';

/** An error as Medusa knows its own (`MedusaError.isMedusaError`), without a dependency on Medusa. */
export class ShopError extends Error {
  override readonly name = 'MedusaError';
  readonly __isMedusaError = true;
  readonly type: ShownType;
  readonly code: string | undefined;
  readonly date = new Date();

  constructor(type: ShownType, message: string, cause?: unknown) {
    super(`quittance: ${message}`, { cause });
    this.type = type;
    this.code = cause instanceof ApiError ? cause.code : undefined;
  }
}

export const notAllowed = (message: string): ShopError => new ShopError('not_allowed', message);

/** Whether the service may have done what it was asked for, though it did not say so. */
export const leavesDoubt = (error: unknown): boolean =>
  error instanceof ConnectionError ||
  (error instanceof ApiError && (error.status >= 500 || error.status === 408)) ||
  (error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError'));

export const isCode = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof ApiError && codes.includes(error.code);

/** What the service answered, as an error that Medusa shows. */
export function shown(error: unknown): unknown {
  if (error instanceof ShopError) return error;
  // Such as a currency that has no rate now.
  if (error instanceof ApiError && error.status >= 500 && error.code !== 'unknown')
    return new ShopError('unexpected_state', error.message, error);
  if (leavesDoubt(error))
    return new ShopError(
      'unexpected_state',
      'the payment service gave no answer, so nothing has changed; try again in a moment',
      error,
    );
  if (!(error instanceof ApiError)) return error;
  if (error.status === 401)
    return new ShopError('unexpected_state', 'the payment service refused the credentials of the shop', error);
  const field = error.param === undefined ? '' : `${error.param}: `;
  return new ShopError(error.status === 404 ? 'not_found' : 'not_allowed', `${field}${error.message}`, error);
}
