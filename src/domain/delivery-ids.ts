import type { MerchantId, NotificationId } from './ids.ts';

/* An event goes to every endpoint that asks for it, each time as a delivery of its own, in a queue of its own. */

/** A merchant's default endpoint has the merchant's own queue. */
export type QueueId = MerchantId | (string & { readonly further: 'QueueId' });

/**
 * Names the delivery of an event: to the default endpoint it bears the event's own id, to a further one the endpoint's
 * beside it.
 */
export const deliveryIdOf = (event: NotificationId, furtherEndpointId: string | null): NotificationId =>
  (furtherEndpointId === null ? event : `${event}.${furtherEndpointId}`) as NotificationId;

/** What receivers deduplicate by. */
export const eventIdOf = (delivery: NotificationId): NotificationId => delivery.split('.', 1)[0] as NotificationId;

/** Null for the default endpoint. */
export function furtherEndpointOf(delivery: NotificationId): string | null {
  const dot = delivery.indexOf('.');
  return dot < 0 ? null : delivery.slice(dot + 1);
}

export const queueOfEndpoint = (merchantId: MerchantId, furtherEndpointId: string | null): QueueId =>
  furtherEndpointId === null ? merchantId : (`${merchantId}/${furtherEndpointId}` as QueueId);

/** Names where an endpoint was reached before its URL changed, so that this is told there. */
export const formerEndpointId = (endpointId: string, count: number): string => `${endpointId}.${count}`;
const isFormer = (endpointId: string | null): endpointId is string => endpointId?.includes('.') === true;

/** The queue that the delivery waits in: that of the endpoint it was decided for. */
export const queueOf = (delivery: {
  readonly merchantId: MerchantId;
  readonly notificationId: NotificationId;
  readonly endpointId: string | null;
}): QueueId => {
  const { merchantId, notificationId, endpointId } = delivery;
  return queueOfEndpoint(merchantId, isFormer(endpointId) ? endpointId : furtherEndpointOf(notificationId));
};

export const merchantOf = (queue: QueueId): MerchantId => queue.split('/', 1)[0] as MerchantId;
