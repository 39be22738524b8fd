import { z } from 'zod';
import { coin, currencyCode, network, plainText, positiveAmountText, unixSeconds } from './words.schema.ts';

const AMOUNT_RULE = 'must be an object with `value` and `currency`';

/** Body of "create refund". */
export const createRefundBody = z
  .strictObject({
    session_id: z.string('must be the id of a session').meta({ examples: ['cs_k7w2q5m4n6p3r7s2t5v4x6y3z7a2b5c4'] }),
    amount: z
      .strictObject({ value: positiveAmountText, currency: currencyCode }, AMOUNT_RULE)
      .optional()
      .meta({
        description:
          "Units of the coin paid, or of the order's currency, which is always converted at the locked rate. Absent: all that is left, " +
          'of the deposit named or of the settlement coin.',
      }),
    transaction_id: z
      .string('must be the id of a transaction')
      .optional()
      .meta({
        description: 'The deposit to refund, as the session and `/v1/transactions` show it. Absent: first whoever paid the order, never dust.',
        examples: ['txn_k7w2q5m4n6p3r7s2t5v4x6y3z7'],
      }),
    reason: plainText(500, { lines: true }).optional(),
    acknowledge_sender: z
      .boolean('must be true or false')
      .optional()
      .meta({ description: 'Set after `sender_not_acknowledged`: the payer was asked and can receive at the paying address.' }),
  })
  .meta({ id: 'CreateRefund' });

const refundStatus = z.enum(['PENDING', 'PROCESSING', 'COMPLETED', 'FAILED']);

export const payout = z
  .object({
    network,
    coin,
    to_address: z.string(),
    amount: z.string(),
    status: refundStatus,
    tx_hash: z.string().nullable(),
    network_fee: z.string().nullable().meta({ description: "In the network's native coin; paid by the operator." }),
    network_fee_currency: z.string(),
    explorer_url: z.string().nullable(),
    failure_reason: z.string().nullable(),
  })
  .meta({ id: 'Payout' });

export const refund = z
  .object({
    id: z.string().meta({ examples: ['re_k7w2q5m4n6p3r7s2t5v4x6y3z7'] }),
    session_id: z.string(),
    order_id: z.string(),
    amount: z.object({ value: z.string(), currency: coin }),
    amount_returned: z.string().meta({ description: 'What has reached the payers.' }),
    type: z.enum(['full', 'partial']).meta({ description: '`full`: the first refund took all that paid the order, or all there was.' }),
    status: refundStatus,
    reason: z.string().nullable(),
    network: network.nullable().meta({ description: 'Of the only payout; null with several.' }),
    to_address: z.string().nullable().meta({ description: 'Of the only payout; null with several.' }),
    tx_hash: z.string().nullable().meta({ description: 'Of the only payout; null with several or before it is signed.' }),
    network_fee: z.string().nullable().meta({ description: 'Of the only payout; null with several or before it has landed.' }),
    payouts: z.array(payout),
    created: unixSeconds,
    updated: unixSeconds,
    failure_reason: z.string().nullable(),
    waiting_reason: z.string().nullable().optional().meta({
      description:
        'While it is not paid: what holds it up (`insufficient_funds`, `insufficient_gas`, `waiting_for_approval`, ...); null when nothing does.',
    }),
  })
  .meta({ id: 'Refund' });

export type CreateRefundBody = z.input<typeof createRefundBody>;
export type RefundBody = z.output<typeof refund>;
export type PayoutBody = z.output<typeof payout>;
