import { z } from 'zod';
import { refundStatus } from './list.schema.ts';
import {
  coin,
  currencyCode,
  enumeration,
  explorerUrl,
  network,
  orderId,
  plainText,
  positiveAmountText,
  refundId,
  sessionId,
  text,
  transactionHash,
  unixSeconds,
} from './words.schema.ts';

const AMOUNT_RULE = 'must be an object with `value` and `currency`';

/** Body of "create refund". */
export const createRefundBody = z
  .strictObject({
    session_id: z
      .string('must be the id of a session')
      .meta({ description: 'The session to refund.', examples: ['cs_k7w2q5m4n6p3r7s2t5v4x6y3z7a2b5c4'] }),
    amount: z
      .strictObject({ value: positiveAmountText, currency: currencyCode }, AMOUNT_RULE)
      .optional()
      .meta({
        description:
          "Units of the coin paid, or of the order's currency, which is always converted at the locked rate. Absent: everything that is left, " +
          'of the named deposit or in the settlement coin.',
      }),
    transaction_id: z
      .string('must be the id of a transaction')
      .optional()
      .meta({
        description:
          'The deposit to refund, as shown in the session and in `/v1/transactions`. Absent: the payers of the order come first, and dust is never taken.',
        examples: ['txn_k7w2q5m4n6p3r7s2t5v4x6y3z7'],
      }),
    reason: plainText(500, { lines: true }).optional().meta({ description: 'Why, for your own records.' }),
    acknowledge_sender: z.boolean('must be true or false').optional().meta({
      description: 'Set after `sender_not_acknowledged`: you asked the payer, who can receive at the paying address.',
    }),
  })
  .meta({ id: 'CreateRefund' });

const whyFailed = text('Why it could not be paid out; null unless it failed.').nullable();

export const payout = z
  .object({
    network,
    coin,
    to_address: text('Receiving address: the payer’s.'),
    amount: text('Units of the coin, decimal string.'),
    status: refundStatus,
    tx_hash: transactionHash.nullable(),
    network_fee: z.string().nullable().meta({ description: "In the network's native coin; paid by the operator." }),
    network_fee_currency: text('Native coin of the network, such as `ETH`.'),
    explorer_url: explorerUrl,
    failure_reason: whyFailed,
  })
  .meta({ id: 'Payout' });

export const refund = z
  .object({
    id: refundId,
    session_id: sessionId,
    order_id: orderId,
    amount: z
      .object({ value: text('Decimal string in units of the coin.'), currency: coin })
      .meta({ description: 'Amount refunded.' }),
    amount_returned: z.string().meta({ description: 'Amount that has reached the payers.' }),
    type: enumeration('Whether it is full or partial.', {
      full: 'it is the first and took everything that paid the order, or everything there was',
      partial: 'any other',
    }),
    status: refundStatus,
    reason: text('The reason given, or null.').nullable(),
    network: network.nullable().meta({ description: 'From the only payout; null with several.' }),
    to_address: z.string().nullable().meta({ description: 'From the only payout; null with several.' }),
    tx_hash: z
      .string()
      .nullable()
      .meta({ description: 'From the only payout; null with several or before it is signed.' }),
    network_fee: z
      .string()
      .nullable()
      .meta({ description: 'From the only payout; null with several or before it has landed.' }),
    payouts: z.array(payout).meta({ description: 'Its payouts, one per payer and network.' }),
    created: unixSeconds.meta({ description: 'When it was requested, Unix seconds.' }),
    updated: unixSeconds.meta({ description: 'When it last changed, Unix seconds.' }),
    failure_reason: whyFailed,
    waiting_reason: z.string().nullable().optional().meta({
      description:
        'Why it is not paid yet (`insufficient_funds`, `waiting_for_approval`, ...); otherwise null. `exceeds_account`: your account with the operator does not cover it, and it is paid once new payments do, or the operator approves it.',
    }),
  })
  .meta({ id: 'Refund' });

export type CreateRefundBody = z.input<typeof createRefundBody>;
export type RefundBody = z.output<typeof refund>;
export type PayoutBody = z.output<typeof payout>;
