import type { ErrorCode } from '../domain/errors.ts';

/** The page that explains an error code: stable, and the same for every request. */
export const errorUrl = (publicUrl: string, code: ErrorCode): string => `${publicUrl}/docs/errors#${code}`;
