import type { Coin } from '../../domain/money/money.ts';
import type { SessionView } from './views.ts';

/** The session in the requested coin; in the other coin only while it can still be chosen. */
export function inCoin(session: SessionView, coin: Coin | null | undefined): SessionView {
  const { alternative, dueCoin, dueAmount, tolerance, rateLock, paymentOptions } = session;
  if (rateLock === null || alternative === null || alternative.dueCoin !== coin) return session;
  return { ...session, ...alternative, alternative: { dueCoin, dueAmount, tolerance, rateLock, paymentOptions } };
}
