/** An item of an order in the form of the API. */
export interface LineItem {
  readonly price_data: {
    readonly currency: string;
    readonly unit_amount: string;
    readonly product_data: { readonly name: string; readonly description?: string | undefined };
  };
  readonly quantity?: number | undefined;
}

/** Sealed inside `SessionCreated`: the merchant's data about people and goods. */
export interface SessionPersonalData {
  readonly description?: string;
  readonly lineItems?: readonly LineItem[];
  readonly metadata?: Readonly<Record<string, string>>;
  readonly successUrl?: string;
  readonly cancelUrl?: string;
}
