/* As much of Medusa's documented payment provider interface (2.x, from 2.3) as this provider uses. */

/** Amounts come in units of the currency, as any of Medusa's forms of a number. */
export type Amount =
  | number
  | string
  | { readonly value: string | number }
  | { readonly numeric: number }
  | { toFixed(): string };

export type ProviderData = Readonly<Record<string, unknown>>;

export type PaymentStatus = 'authorized' | 'captured' | 'pending' | 'requires_more' | 'error' | 'canceled';

export interface ProviderContext {
  /** The same for every attempt at one operation. */
  readonly idempotency_key?: string;
}

export interface ProviderInput {
  readonly data?: ProviderData;
  readonly context?: ProviderContext;
}

export interface PricedInput extends ProviderInput {
  readonly amount: Amount;
  readonly currency_code: string;
}

export interface RefundInput extends ProviderInput {
  readonly amount: Amount;
}

export interface WebhookPayload {
  readonly data: ProviderData;
  readonly rawData: string | Uint8Array;
  readonly headers: Readonly<Record<string, unknown>>;
}

export interface WebhookAction {
  readonly action: 'captured' | 'failed' | 'canceled' | 'pending' | 'not_supported';
  readonly data?: { readonly session_id: string; readonly amount: string };
}

export interface Logger {
  warn(message: string): void;
}
