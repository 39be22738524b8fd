import type { DoctorLine } from '../cli/host.ts';

/**
 * `warning`: works now, and will cause trouble. `fault`: does not work, or loses money. `skipped`: could not be
 * checked.
 */
export type Finding = DoctorLine;

export const ok = (check: string, why: string): Finding => ({ check, state: 'ok', why, action: '' });
export const skipped = (check: string, why: string): Finding => ({ check, state: 'skipped', why, action: '' });
export const warning = (check: string, why: string, action: string): Finding => ({
  check,
  state: 'warning',
  why,
  action,
});
export const fault = (check: string, why: string, action: string): Finding => ({ check, state: 'fault', why, action });
