import type { CreateSessionInput } from '../../features/shared/merchant-api.ts';
import type { LineItem } from '../../domain/events/session-personal-data.ts';
import { maxDecimals, shownDecimals } from '../../domain/money/currencies.ts';
import { amountOf, decimalsOf, formatAmount, isCoin, type Coin } from '../../domain/money/money.ts';
import { unlistedAmount, type OrderParts } from '../../domain/money/order-parts.ts';
import { parseSessionId, type Mode, type SessionId } from '../../domain/values/ids.ts';
import { refuse, type Refusal } from '../../domain/values/result.ts';
import { paddedAmount } from '../presenters/amount-text.ts';
import type { CreateSessionBody } from '../schemas/session.schema.ts';
import { refusedField, type Validated } from '../validation.ts';

/**
 * Rules across fields: decimals by currency, parts that add up to the total, return URLs by mode. Amounts get their
 * padded form, so `10.5` and `10.50` are the same request.
 */
export function createInput(body: CreateSessionBody, mode: Mode): Validated<CreateSessionInput> {
  const currency = body.currency.toUpperCase();
  for (const name of ['amount', 'tax_amount', 'shipping_amount'] as const) {
    const text = body[name];
    if (text !== undefined && decimalsOf(text) > maxDecimals(currency))
      return refusedField(name, `must have at most ${maxDecimals(currency)} decimals in ${currency}`);
  }
  for (const name of ['success_url', 'cancel_url'] as const) {
    if (mode === 'live' && body[name] !== undefined && !/^https:/i.test(body[name]))
      return refusedField(name, 'must start with https:// in live mode');
  }
  const decimals = shownDecimals(currency);
  const amount = paddedAmount(body.amount, decimals);
  const taxAmount = body.tax_amount && paddedAmount(body.tax_amount, decimals);
  const shippingAmount = body.shipping_amount && paddedAmount(body.shipping_amount, decimals);
  const lineItems = body.line_items?.map((item): LineItem => ({ ...item, quantity: item.quantity ?? 1 }));
  const parts = {
    ...{ amount, currency, lineItems: lineItems ?? [] },
    ...{ taxAmount: taxAmount ?? null, shippingAmount: shippingAmount ?? null },
  };
  const mismatch = body.amounts_differ ? null : mismatchOf(parts);
  const target = body.target_currency?.toUpperCase();
  return {
    ok: true,
    value: {
      amount,
      currency,
      orderId: body.order_id,
      ...(body.merchant_domain_id === undefined ? undefined : { merchantDomainId: body.merchant_domain_id }),
      ...(body.description === undefined ? undefined : { description: body.description }),
      ...(lineItems === undefined ? undefined : { lineItems }),
      ...(taxAmount === undefined ? undefined : { taxAmount }),
      ...(shippingAmount === undefined ? undefined : { shippingAmount }),
      ...(body.success_url === undefined ? undefined : { successUrl: body.success_url }),
      ...(body.cancel_url === undefined ? undefined : { cancelUrl: body.cancel_url }),
      ...(body.metadata === undefined ? undefined : { metadata: body.metadata }),
      ...(body.expires_in === undefined ? undefined : { lifetimeSec: body.expires_in }),
      ...(body.supersedes === undefined
        ? undefined
        : { supersedes: parseSessionId(body.supersedes) ?? (body.supersedes as SessionId) }),
      ...(mismatch && { mismatch }),
      ...(target !== undefined && isCoin(target) ? { targetCurrency: target satisfies Coin } : undefined),
    },
  };
}

/** Null when the parts add up to the total, or cannot be added up. */
function mismatchOf(parts: OrderParts): Refusal | null {
  const { amount, currency, taxAmount, lineItems } = parts;
  const anyway = 'Set amounts_differ to true if that is meant.';
  const unlisted = unlistedAmount(parts);
  if (unlisted === null || unlisted === 0n) return null;
  const param = lineItems.length > 0 ? 'line_items' : taxAmount === null ? 'shipping_amount' : 'tax_amount';
  const sum = formatAmount(amountOf(amount) - unlisted, shownDecimals(currency));
  const named = lineItems.length > 0 ? 'line_items, tax_amount and shipping_amount' : 'tax_amount and shipping_amount';
  return refuse('line_items_mismatch', `${named} add up to ${sum}, not to the amount ${amount}. ${anyway}`, param)
    .refusal;
}
