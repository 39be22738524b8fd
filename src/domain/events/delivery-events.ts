import type { MerchantId, Mode, NotificationId } from '../values/ids.ts';

/* The storage format of the `delivery-<event id>` streams: the delivery of one notification to its endpoint. */

export interface DeliveryScheduled {
  readonly type: 'DeliveryScheduled';
  readonly data: {
    readonly notificationId: NotificationId;
    readonly merchantId: MerchantId;
    readonly mode: Mode;
    readonly endpointId: string;
    readonly eventType: string;
    /** The subject of the notification: first attempts for one subject reach the endpoint in order. */
    readonly sessionId: string;
    /** The exact bytes of every attempt and replay, as text. */
    readonly body: string;
    readonly scheduledAtMs: number;
    /** Present when the merchant asked for a sample, which describes no real session. */
    readonly sample?: true;
  };
}

export type AttemptFailure =
  | 'network'
  | 'dns'
  | 'tls'
  | 'timeout'
  | 'http_429'
  | 'http_5xx'
  | 'http_4xx'
  | 'redirect'
  | 'gone'
  | 'invalid_response'
  | 'blocked'
  | 'no_endpoint';

export interface DeliveryAttempted {
  readonly type: 'DeliveryAttempted';
  readonly data: {
    readonly notificationId: NotificationId;
    readonly merchantId: MerchantId;
    /** The endpoint at the time of this attempt; null when the merchant had none. */
    readonly endpointId: string | null;
    /** 1 for the first. */
    readonly attempt: number;
    /** The nonce that was sent: distinguishes attempts, and finds them in a receiver's log. */
    readonly nonce: string;
    readonly startedAtMs: number;
    readonly durationMs: number;
    /** IP address the attempt was pinned to. */
    readonly address: string | null;
    readonly status: number | null;
    readonly failure: AttemptFailure | null;
    /** The network error, such as `ECONNREFUSED`: short, printable ASCII, no secret. */
    readonly detail: string | null;
    /** True when the response body was cut off: too long, too slow, or the connection broke after the headers. */
    readonly answerIncomplete: boolean;
    /** SHA-256 (hex) of the stored response; the response itself is in a table with a retention period. */
    readonly answerHash: string | null;
    /** When the next attempt is due; null when there is none. */
    readonly nextAttemptAtMs: number | null;
    readonly trigger: 'automatic' | 'durable' | 'manual';
  };
}

export interface DeliverySucceeded {
  readonly type: 'DeliverySucceeded';
  readonly data: { readonly notificationId: NotificationId; readonly attempt: number };
}

/** The five quick retries are used up. */
export interface DeliveryExhausted {
  readonly type: 'DeliveryExhausted';
  readonly data: { readonly notificationId: NotificationId; readonly attempt: number };
}

/** The response rules out a quick retry. */
export interface DeliveryRejected {
  readonly type: 'DeliveryRejected';
  readonly data: {
    readonly notificationId: NotificationId;
    readonly attempt: number;
    readonly failure: AttemptFailure;
  };
}

/** The endpoint's address is forbidden (SSRF). */
export interface DeliveryBlocked {
  readonly type: 'DeliveryBlocked';
  readonly data: { readonly notificationId: NotificationId; readonly attempt: number };
}

export interface RedeliveryRequested {
  readonly type: 'RedeliveryRequested';
  readonly data: {
    readonly notificationId: NotificationId;
    readonly merchantId: MerchantId;
    readonly endpointId: string;
    readonly sessionId: string;
    readonly by: string;
    readonly requestedAtMs: number;
    /** True for one of a bulk replay: sent at the pace of a recovering endpoint. */
    readonly bulk: boolean;
  };
}

export type DeliveryEvent =
  | DeliveryScheduled
  | DeliveryAttempted
  | DeliverySucceeded
  | DeliveryExhausted
  | DeliveryRejected
  | DeliveryBlocked
  | RedeliveryRequested;
