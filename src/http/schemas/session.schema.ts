import { z } from 'zod';
import { lineItem } from './line-item.schema.ts';
import { SESSION_STATUS, transferStatus } from './list.schema.ts';
import {
  amountText,
  blockNumber,
  coin,
  coinCode,
  currencyCode,
  enumeration,
  explorerUrl,
  httpsUrl,
  integer,
  logIndex,
  smallTransfers,
  MAX_METADATA_KEY_LENGTH,
  MAX_METADATA_VALUE_LENGTH,
  network,
  orderId,
  plainText,
  positiveAmountText,
  sessionId,
  sessionLifetime,
  text,
  transactionHash,
  unixSeconds,
} from './words.schema.ts';

const MAX_LINE_ITEMS = 100;
const MAX_METADATA_KEYS = 50;

const METADATA_RULE = 'must be an object with string values';

/** The merchant's metadata: at most 50 keys of 40 characters, values of 500. The service adds `order_id`. */
const metadata = z
  .record(
    z.string(),
    z
      .string('must be a string')
      .max(MAX_METADATA_VALUE_LENGTH, `must be at most ${MAX_METADATA_VALUE_LENGTH} characters`),
    METADATA_RULE,
  )
  .superRefine((value, context) => {
    const keys = Object.keys(value);
    if (keys.length > MAX_METADATA_KEYS)
      context.addIssue({ code: 'custom', message: `must have at most ${MAX_METADATA_KEYS} keys` });
    for (const key of keys) {
      if (key.length === 0 || key.length > MAX_METADATA_KEY_LENGTH) {
        context.addIssue({
          code: 'custom',
          path: [key],
          message: `must be a key of 1 to ${MAX_METADATA_KEY_LENGTH} characters`,
        });
        return;
      }
    }
    if (Object.hasOwn(value, 'order_id'))
      context.addIssue({ code: 'custom', path: ['order_id'], message: 'is set by the service from `order_id`' });
  })
  .meta({
    description: 'Key-value pairs returned with the session.',
    maxProperties: MAX_METADATA_KEYS,
    examples: [{ customer: 'c-1042' }],
  });

/** Body of "create payment session". */
export const createSessionBody = z
  .strictObject({
    amount: positiveAmountText.meta({
      description:
        "The order's total, tax and shipping included; at most the currency's ISO 4217 decimals (6 for coins).",
    }),
    currency: currencyCode.meta({ description: 'Currency of the order: an ISO 4217 code or a coin, in any case.' }),
    order_id: plainText(128, { min: 1 }).meta({
      description: 'Your order id, unique per merchant and mode.',
      examples: ['order-1042'],
    }),
    merchant_domain_id: plainText(64, { min: 1 })
      .optional()
      .meta({ description: 'A domain registered for the merchant.' }),
    description: plainText(1000, { lines: true })
      .optional()
      .meta({ description: 'Description of the order, shown to the payer.' }),
    line_items: z
      .array(lineItem, 'must be an array of line items')
      .max(MAX_LINE_ITEMS, `must hold at most ${MAX_LINE_ITEMS} items`)
      .optional()
      .meta({
        description:
          'What is sold, shown to the payer. Unit prices times quantities, `tax_amount` and `shipping_amount` must add up to `amount`; each line may be rounded to the smallest unit of the currency.',
      }),
    tax_amount: amountText.optional().meta({ description: 'Tax that `amount` contains besides the line items.' }),
    shipping_amount: amountText
      .optional()
      .meta({ description: 'Shipping that `amount` contains besides the line items.' }),
    amounts_differ: z.boolean('must be true or false').optional().meta({
      description:
        'Accepts line items, tax and shipping that do not add up to `amount`, for example with a discount or with tax inside the prices. The page then shows the difference as an amount of its own.',
      default: false,
    }),
    success_url: httpsUrl.optional().meta({
      description:
        'Where the payment page takes the payer once the payment is complete: an https URL. `{SESSION_ID}` and `{ORDER_ID}` are replaced. The return proves nothing: deliver after `payment.completed`.',
    }),
    cancel_url: httpsUrl
      .optional()
      .meta({ description: 'Where *Back to the shop* leads before that: an https URL with the same placeholders.' }),
    metadata: metadata.optional(),
    expires_in: sessionLifetime
      .optional()
      .meta({ description: "Seconds that this session can be paid; by default the merchant's `session_ttl_seconds`." }),
    supersedes: sessionId.optional().meta({
      description: 'A session of the same order that expired, failed or was cancelled; this one replaces it.',
    }),
    target_currency: coinCode
      .optional()
      .meta({ description: "Settlement coin; by default the order's own coin, otherwise the merchant's policy." }),
  })
  .meta({ id: 'CreatePaymentSession' });

export const cancelSessionBody = z
  .strictObject({})
  .meta({ id: 'CancelPaymentSession', description: 'No fields; the body may be empty.' });

export const paymentOption = z
  .object({
    network,
    coin,
    token_address: z.string().meta({ description: 'The contract or mint that counts as the coin.' }),
    chain_id: text("The network's own id of its chain, such as `1` for Ethereum."),
    decimals: integer('Decimals of the token on this network.'),
    address: z.string().meta({ description: 'Collection address of this session.' }),
    amount: z.string().meta({ description: 'Units of the coin to pay.' }),
    qr_payload: z.string().meta({ description: 'Text of the QR code: the plain address, which every wallet reads.' }),
    deep_links: z.record(z.string(), z.string()).meta({ description: 'Link by wallet name.' }),
    token_account: z.string().optional().meta({ description: "Solana: the address's token account of the coin." }),
    finality: enumeration('When the payment counts.', {
      confirmations: 'after `confirmations` blocks',
      finalized: "when the chain's own finality covers it",
    }),
    confirmations: z.int().optional().meta({ description: 'Blocks needed, if finality is counted in confirmations.' }),
    simulated: z
      .boolean()
      .meta({ description: 'True on a simulated chain of the sandbox that is not the real node software.' }),
  })
  .meta({ id: 'PaymentOption' });

const alternative = z
  .object({
    exchange_rate: text('One unit of the merchant currency is this many units of this coin.'),
    target_currency: coin,
    target_amount_total: text('Units of this coin the payer pays.'),
    rate_locked_at: unixSeconds.meta({ description: 'When the rate of this coin was locked.' }),
    payment_options: z.array(paymentOption).meta({ description: 'Payment options in this coin.' }),
  })
  .meta({ id: 'AlternativeCoin' });

const sender = z
  .object({
    kind: enumeration('Who paid.', {
      wallet: 'an ordinary address',
      contract: 'a smart contract, which may not be able to receive',
      exchange: 'an exchange wallet, which may not credit a refund',
    }),
    name: text('Name of the exchange, if known.').nullable(),
  })
  .meta({ id: 'Sender' });

export const deposit = z
  .object({
    transaction_id: z.string().meta({ description: 'Its id in `/v1/transactions`, to refund exactly this deposit.' }),
    network,
    coin,
    amount: text('Units of the coin that arrived.'),
    status: transferStatus,
    kind: enumeration('What the money counts as.', {
      on_time: 'it pays the session',
      late: 'it came after the deadline and pays nothing',
      wrong_coin: 'it is another coin and pays nothing',
      wrong_network: 'it came on a network that the session does not offer and pays nothing',
      dust: 'it is too small to count',
      own: 'it came from an address of this installation, pays nothing and is refunded to nobody',
    }),
    from_address: text('Address that paid; null where the chain names no single one.').nullable(),
    sender: sender
      .nullable()
      .meta({ description: 'Kind of sender, once known: a refund to a contract or an exchange may be lost.' }),
    to_address: text('Collection address that received.'),
    tx_hash: transactionHash,
    log_index: logIndex,
    transfers: smallTransfers.optional(),
    block_number: blockNumber,
    block_time: unixSeconds.meta({ description: 'Time of the block, Unix seconds.' }),
    explorer_url: explorerUrl,
    refundable: z
      .string()
      .meta({ description: 'The most that a refund naming it can take; "0.00" without a single payer.' }),
  })
  .meta({ id: 'Deposit' });

const refundableAmount = z.object({ value: text('Decimal string in units of the coin.'), currency: coin }).meta({
  id: 'RefundableAmount',
  description: 'In the form of the `amount` of a refund.',
});

const sessionCore = {
  id: sessionId,
  amount_total: text('Total of the order, decimal string in its currency.'),
  currency: z.string().meta({ description: 'Merchant currency, lower case.' }),
  payment_status: enumeration('Whether to fulfil the order.', {
    unpaid: 'not enough is final on chain',
    paid: 'enough is final on chain',
  }),
  created: unixSeconds.meta({ description: 'When it was created, Unix seconds.' }),
  expires_at: unixSeconds.meta({
    description: 'Until when it can be paid, Unix seconds; the cancellation time once it is cancelled.',
  }),
  url: z.string().meta({ description: 'Payment page.' }),
  tax_amount: text('Tax within `amount_total`, as given at the create.').optional(),
  shipping_amount: text('Shipping within `amount_total`, as given at the create.').optional(),
  exchange_rate: z
    .string()
    .optional()
    .meta({ description: 'With conversion only: one unit of the merchant currency is this many units of the coin.' }),
  target_currency: coin
    .optional()
    .meta({ description: 'With conversion only: the coin the payer pays in, `USDT` or `USDC`.' }),
  target_amount_total: z
    .string()
    .optional()
    .meta({ description: 'With conversion only: units of the coin the payer pays.' }),
  rate_locked_at: unixSeconds.optional().meta({ description: 'With conversion only: when the rate was locked.' }),
  alternative: alternative.optional().meta({
    description:
      'Only while the payer can choose the coin (`offer_both_coins`): the session in the other coin. Once the first money counts this is gone, and the fields of the session are those of the coin that was paid.',
  }),
  order_id: orderId,
  status: enumeration('Status of the session.', SESSION_STATUS),
  settlement_currency: coin.meta({ description: 'The coin that the session is paid in: `USDT` or `USDC`.' }),
  received: z.string().meta({
    description:
      'Final on-time money of the settlement coin that you hold: neither refunded nor reserved for a refund.',
  }),
  pending: z.string().meta({ description: 'Seen on time but not final yet.' }),
  excess: z
    .string()
    .meta({ description: 'The part of `received` above what was due; zero until the session is paid.' }),
  refunded: z.string().meta({ description: 'Units of the settlement coin that refunds have paid out.' }),
  refundable: z.string().meta({
    description:
      'In the settlement coin: the most that a refund naming no deposit can take, including late and surplus money. Excludes dust and money without a single payer.',
  }),
  refundable_amounts: z
    .array(refundableAmount)
    .meta({ description: 'The same for each coin; money in another coin is refunded by naming it.' }),
  reversed: z.boolean().meta({ description: 'True when final money left the chain again.' }),
  after_expiry: z
    .boolean()
    .meta({ description: 'True when an on-time payment was found after the session had expired.' }),
  paid_at: unixSeconds.optional().meta({ description: 'When enough was final, Unix seconds.' }),
  supersedes: sessionId.optional().meta({ description: 'The previous attempt for this order.' }),
  superseded_by: sessionId
    .optional()
    .meta({ description: 'The next attempt for this order, to which the payment page redirects.' }),
  merchant_domain_id: text('The registered domain given at the create.').optional(),
  payment_options: z
    .array(paymentOption)
    .meta({ description: 'Payment options, one per network, in the order shown to the payer.' }),
  deposits: z.array(deposit).meta({ description: 'Every transfer to the session.' }),
};

/** Response of cancel: the session without the merchant's data about people and goods. */
export const cancelledSession = z.object(sessionCore).meta({ id: 'CancelledPaymentSession' });

/** Response of create and get. */
export const paymentSession = z
  .object({
    ...sessionCore,
    line_items: z.array(lineItem).optional().meta({ description: 'What is sold, as given at the create.' }),
    description: text('Description of the order, as given at the create.').optional(),
    success_url: text('Where the payer goes after the payment.').optional(),
    cancel_url: text('Where a payer goes who gives up.').optional(),
    metadata: z.record(z.string(), z.string()).meta({ description: 'Echo of the metadata, with `order_id` added.' }),
  })
  .meta({ id: 'PaymentSession' });

export type CreateSessionBody = z.input<typeof createSessionBody>;
export type PaymentOptionBody = z.output<typeof paymentOption>;
export type DepositBody = z.output<typeof deposit>;
export type CancelledSessionBody = z.output<typeof cancelledSession>;
export type PaymentSessionBody = z.output<typeof paymentSession>;
