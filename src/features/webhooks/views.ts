import type { AttemptFailure } from '../../domain/events/delivery-events.ts';
import type { NotificationId } from '../../domain/values/ids.ts';
import type { DeliveryStatus } from '../../../projections/webhooks/deliveries.projection.ts';

/** A webhook delivery as a list shows it. */
export interface DeliverySummary {
  readonly notificationId: NotificationId;
  readonly eventType: string;
  readonly sessionId: string;
  /** Empty if the merchant had none. */
  readonly endpointId: string;
  readonly status: DeliveryStatus;
  /** True when the merchant asked for a sample. */
  readonly sample: boolean;
  readonly attempts: number;
  /** HTTP status of the last answer. */
  readonly lastStatus: number | null;
  readonly lastFailure: AttemptFailure | null;
  readonly nextAttemptAtMs: number | null;
  readonly createdSec: number;
}

export interface DeliveryAttemptView {
  readonly attempt: number;
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly status: number | null;
  readonly failure: AttemptFailure | null;
  readonly detail: string | null;
  readonly address: string | null;
  readonly nonce: string;
  readonly trigger: 'automatic' | 'durable' | 'manual';
  /** Null if it was empty or is no longer kept; otherwise inert UTF-8 text (see `inertText`). */
  readonly answer: Uint8Array | null;
}

export interface DeliveryView extends DeliverySummary {
  /** The bytes of every attempt, as text. */
  readonly body: string;
  readonly log: readonly DeliveryAttemptView[];
}

/**
 * Control characters except tab and line feed, and marks that reverse text: harmless in JSON, dangerous on a terminal.
 */
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const ACTIVE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** A receiver's answer as UTF-8 text without active characters: anything else becomes a visible escape or U+FFFD. */
export function inertText(answer: Uint8Array): Uint8Array {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(answer);
  return new TextEncoder().encode(
    text.replace(ACTIVE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
}
