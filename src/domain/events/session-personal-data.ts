/** Sealed inside `SessionCreated`: the merchant's data about people and goods. */
export interface SessionPersonalData {
  readonly description?: string;
  readonly lineItems?: readonly unknown[];
  readonly metadata?: Readonly<Record<string, string>>;
  readonly successUrl?: string;
  readonly cancelUrl?: string;
}
