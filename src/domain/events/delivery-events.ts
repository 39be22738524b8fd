import type { MerchantId, Mode, NotificationId } from '../ids.ts';

/* The storage format of the `delivery-<event id>` streams: one notification's way to its endpoint. */

export interface DeliveryScheduled {
  readonly type: 'DeliveryScheduled';
  readonly data: {
    readonly notificationId: NotificationId;
    readonly merchantId: MerchantId;
    readonly mode: Mode;
    readonly endpointId: string;
    readonly eventType: string;
    /** What the notification is about: first attempts of one subject reach the endpoint in order. */
    readonly sessionId: string;
    /** The exact bytes of every attempt and replay, as text. */
    readonly body: string;
    readonly scheduledAtMs: number;
    /** Present when the merchant asked for a sample: no fact of a session stands behind it. */
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
    /** The endpoint as it stood at this attempt; null when the merchant had none. */
    readonly endpointId: string | null;
    /** 1 for the first. */
    readonly attempt: number;
    /** The nonce that was sent: tells attempts apart, and finds them in a receiver's log. */
    readonly nonce: string;
    readonly startedAtMs: number;
    readonly durationMs: number;
    /** IP address the attempt was pinned to. */
    readonly address: string | null;
    readonly status: number | null;
    readonly failure: AttemptFailure | null;
    /** What went wrong in the words of the network, such as `ECONNREFUSED`: short, printable ASCII, no secret. */
    readonly detail: string | null;
    /** True when the answer's body was cut: too long, too slow, or the connection broke after the head. */
    readonly answerIncomplete: boolean;
    /** SHA-256 (hex) of the kept answer; the answer itself lives in a table with a lifetime. */
    readonly answerHash: string | null;
    /** When the next attempt is due; null when none is. */
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

/** An answer that is not worth a quick retry. */
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
    /** True for one of many: sent at the pace of a recovering endpoint. */
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
