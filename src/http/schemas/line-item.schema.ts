import { z } from 'zod';
import { isQuantity, MAX_QUANTITY_DECIMALS } from '../../domain/money/order-parts.ts';
import { amountText, currencyCode, plainText } from './words.schema.ts';

const MAX_QUANTITY = 1e9;

const productData = z.strictObject({
  name: plainText(250, { min: 1 }).meta({
    description: 'Name of the product, shown to the payer.',
    examples: ['Mug'],
  }),
  description: plainText(1000, { lines: true }).optional().meta({ description: 'What the product is, in a sentence.' }),
});

const priceData = z.strictObject({
  currency: currencyCode.meta({ description: 'Currency of the price.' }),
  unit_amount: amountText.meta({ description: 'Unit price, decimal string.' }),
  product_data: productData.meta({ description: 'What is sold.' }),
});

const QUANTITY_RULE = 'must be a number above zero';

/** What one line of an order sells. */
export const lineItem = z
  .strictObject({
    price_data: priceData.meta({ description: 'What one unit costs and what it is.' }),
    quantity: z
      .number(QUANTITY_RULE)
      .positive(QUANTITY_RULE)
      .max(MAX_QUANTITY, `must be at most ${MAX_QUANTITY}`)
      .refine(isQuantity, `must have at most ${MAX_QUANTITY_DECIMALS} decimals`)
      .optional()
      .meta({
        description: `How many units, with at most ${MAX_QUANTITY_DECIMALS} decimals; 1 when absent.`,
        default: 1,
      }),
  })
  .meta({ id: 'LineItem' });
