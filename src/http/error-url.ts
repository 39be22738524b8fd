import type { ErrorCode } from '../domain/errors.ts';

/** Where an error code is explained: stable, and the same for every request. */
export const errorUrl = (publicUrl: string, code: ErrorCode): string => `${publicUrl}/docs/errors#${code}`;
