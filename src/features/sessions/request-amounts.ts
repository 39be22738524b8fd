import { amountOf, formatAmount } from '../../domain/money/money.ts';
import type { LineItem } from '../../domain/events/session-personal-data.ts';
import type { CreateSessionInput } from '../shared/merchant-api.ts';

/* Normalises requests, so that two notations of one amount are the same request. */

export const normalAmount = (text: string): string => formatAmount(amountOf(text), 0);

/** The create request with amounts and line item currencies in canonical form. */
export function normalCreate(input: CreateSessionInput): object {
  const { mismatch: _, ...request } = input;
  const { amount, taxAmount, shippingAmount, lineItems } = request;
  return {
    ...request,
    amount: normalAmount(amount),
    taxAmount: taxAmount && normalAmount(taxAmount),
    shippingAmount: shippingAmount && normalAmount(shippingAmount),
    lineItems: lineItems?.map(normalLineItem),
  };
}

function normalLineItem({ price_data, ...others }: LineItem): object {
  const { currency, unit_amount } = price_data;
  return {
    ...others,
    price_data: { ...price_data, currency: currency.toUpperCase(), unit_amount: normalAmount(unit_amount) },
  };
}
