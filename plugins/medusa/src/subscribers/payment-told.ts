import { compareSession } from '../compare.ts';
import type { WebhookPayload } from '../medusa.ts';
import { providerIn, type Scope } from '../scope.ts';

interface Received {
  readonly provider: string;
  readonly payload: WebhookPayload & { readonly rawData: unknown };
}

/** Money that pays nothing is said when it arrives. Medusa's own subscriber of the event completes the cart. */
// oxlint-disable-next-line import/no-default-export -- Medusa runs the default export.
export default async function paymentTold({
  event: { data },
  container,
}: {
  readonly event: { readonly data: Received };
  readonly container: Scope;
}): Promise<void> {
  const provider = await providerIn(container, `pp_${data.provider}`);
  if (provider === undefined) return;
  const event = await provider.verified(bytesOf(data.payload.rawData), data.payload.headers, { atItsOwnTime: true });
  const { session_id: sessionId } = event.data.object as { readonly session_id?: unknown };
  if (typeof sessionId !== 'string') return;
  await compareSession(container, provider, await provider.quittance.sessions.get(sessionId));
}

/** A bus that stores events writes bytes as JSON. */
function bytesOf(raw: unknown): string | Uint8Array {
  if (typeof raw === 'string' || raw instanceof Uint8Array) return raw;
  const bytes: unknown = typeof raw === 'object' && raw !== null ? Reflect.get(raw, 'data') : undefined;
  if (Array.isArray(bytes)) return Uint8Array.from(bytes, Number);
  throw new TypeError('the event holds no raw body');
}

export const config = {
  event: 'payment.webhook_received',
  context: { subscriberId: 'quittance-payment-told' },
};
