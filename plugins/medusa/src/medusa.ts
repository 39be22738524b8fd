/* As much of Medusa's documented payment provider interface (2.x) as this provider uses. */

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
  /** The same for every attempt at one operation: Medusa's own id of the session, the payment or the refund. */
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

export interface ProviderOutput {
  readonly data: ProviderData;
}

export interface StatusOutput extends ProviderOutput {
  readonly status: PaymentStatus;
}

export interface WebhookPayload {
  readonly data: ProviderData;
  readonly rawData: string | Uint8Array;
  readonly headers: Readonly<Record<string, unknown>>;
}

export interface WebhookAction {
  readonly action: 'authorized' | 'failed' | 'canceled' | 'pending' | 'not_supported';
  readonly data?: { readonly session_id: string; readonly amount: string };
}

export interface Logger {
  warn(message: string): void;
  error(message: string): void;
}

/** A payment session of Medusa; its collection belongs to one cart or one order. */
export interface SessionRow {
  readonly id: string;
  readonly provider_id: string;
  readonly payment_collection_id: string;
  readonly amount: Amount;
  readonly currency_code: string;
  readonly data?: ProviderData | null;
}

export interface CollectionRow {
  readonly id: string;
  readonly amount: Amount;
  readonly currency_code: string;
}

export interface PaymentRow {
  readonly id: string;
  readonly payment_collection_id: string;
  readonly amount: Amount;
  readonly metadata?: ProviderData | null;
}

export interface RefundRow {
  readonly id: string;
  readonly payment_id: string;
  readonly amount: Amount;
  readonly metadata?: ProviderData | null;
}

/** A service of the payment module for the rows of one table. */
interface Rows<Row> {
  list(filters: object, config?: object): Promise<Row[]>;
}

/** What the payment module hands to its providers. */
export interface PaymentContainer {
  readonly logger?: Logger;
  readonly paymentSessionService: Rows<SessionRow>;
  readonly paymentCollectionService: Rows<CollectionRow>;
  readonly paymentService: Rows<PaymentRow>;
  readonly refundService: Rows<RefundRow> & { update(row: object): Promise<unknown> };
}
