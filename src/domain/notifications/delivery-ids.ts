import type { MerchantId, NotificationId } from '../values/ids.ts';

/* An event goes to every endpoint that subscribes to it; each delivery is separate and has its own queue. */

/** A merchant's default endpoint uses the merchant's own queue. */
export type QueueId = MerchantId | (string & { readonly further: 'QueueId' });

/**
 * The id of an event's delivery: the event's own id for the default endpoint; for a further endpoint, the event's id
 * followed by the endpoint's.
 */
export const deliveryIdOf = (event: NotificationId, furtherEndpointId: string | null): NotificationId =>
  (furtherEndpointId === null ? event : `${event}.${furtherEndpointId}`) as NotificationId;

const DELIVERY_ID = /^evt_\d{19}(\.we_[a-z2-7]{1,40})?$/;
const isDeliveryId = (text: string): text is NotificationId => DELIVERY_ID.test(text);

/** Reads the id of a delivery; null when it is malformed. */
export const parseDeliveryId = (text: string): NotificationId | null => (isDeliveryId(text) ? text : null);

/** The id receivers deduplicate by. */
export const eventIdOf = (delivery: NotificationId): NotificationId => delivery.split('.', 1)[0] as NotificationId;

/** Null for the default endpoint. */
export function furtherEndpointOf(delivery: NotificationId): string | null {
  const dot = delivery.indexOf('.');
  return dot < 0 ? null : delivery.slice(dot + 1);
}

export const queueOfEndpoint = (merchantId: MerchantId, furtherEndpointId: string | null): QueueId =>
  furtherEndpointId === null ? merchantId : (`${merchantId}/${furtherEndpointId}` as QueueId);

/** The id of an endpoint's former URL, so that the old URL is told about the change. */
export const formerEndpointId = (endpointId: string, count: number): string => `${endpointId}.${count}`;
const isFormer = (endpointId: string | null): endpointId is string => endpointId?.includes('.') === true;

/** The queue a delivery waits in: that of the endpoint it was created for. */
export const queueOf = (delivery: {
  readonly merchantId: MerchantId;
  readonly notificationId: NotificationId;
  readonly endpointId: string | null;
}): QueueId => {
  const { merchantId, notificationId, endpointId } = delivery;
  return queueOfEndpoint(merchantId, isFormer(endpointId) ? endpointId : furtherEndpointOf(notificationId));
};

export const merchantOf = (queue: QueueId): MerchantId => queue.split('/', 1)[0] as MerchantId;
