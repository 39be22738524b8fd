import type { SessionView } from '../../features/shared/views.ts';

/**
 * Where the shop wants the payer: `success_url` once the payment is complete, before that `cancel_url`; null when it
 * said nowhere. Only what the merchant set, never what a link to this page could name.
 */
export function returnUrl({ sessionId, orderId, paidAtSec, personal }: SessionView): string | null {
  const url = paidAtSec === null ? personal?.cancelUrl : personal?.successUrl;
  if (url === undefined || !/^https?:\/\//.test(url)) return null;
  const values: Readonly<Record<string, string>> = { SESSION_ID: sessionId, ORDER_ID: orderId };
  return url.replaceAll(/\{(SESSION_ID|ORDER_ID)\}/g, (_, name: string) =>
    encodeURIComponent((values[name] ?? '').toWellFormed()),
  );
}
