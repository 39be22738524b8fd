import type { Coin } from '../../domain/money.ts';
import type { SessionView } from './views.ts';

/** The session as it is in the coin that somebody asks for: in the other one only as long as it can be chosen. */
export function inCoin(session: SessionView, coin: Coin | null | undefined): SessionView {
  const { alternative, dueCoin, dueAmount, tolerance, rateLock, paymentOptions } = session;
  if (rateLock === null || alternative === null || alternative.dueCoin !== coin) return session;
  return { ...session, ...alternative, alternative: { dueCoin, dueAmount, tolerance, rateLock, paymentOptions } };
}
