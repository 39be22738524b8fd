import { z } from 'zod';
import { parseSessionId } from '../../domain/values/ids.ts';
import { COINS } from '../../domain/money/money.ts';
import { NATIVE_COIN } from '../../domain/networks/networks.ts';
import {
  blockNumber,
  coinCode,
  enumeration,
  explorerUrl,
  flag,
  integer,
  logIndex,
  smallTransfers,
  MAX_METADATA_KEY_LENGTH,
  MAX_METADATA_VALUE_LENGTH,
  network,
  orderId,
  plainText,
  refundId,
  sessionId,
  text,
  transactionHash,
  unixSeconds,
} from './words.schema.ts';
import { must } from '../../domain/values/must.ts';

export const MAX_PAGE_SIZE = 100;
export const DEFAULT_PAGE_SIZE = 20;

function wholeNumber(rule: string, from: number, to: number) {
  return z.string().refine((text) => /^\d{1,12}$/.test(text) && Number(text) >= from && Number(text) <= to, rule);
}

const page = wholeNumber('must be a whole number from 1', 1, 1e9)
  .optional()
  .meta({ override: { type: 'integer', minimum: 1, default: 1 }, description: 'Page number, from 1.' });
const pageSize = wholeNumber(`must be a whole number from 1 to ${MAX_PAGE_SIZE}`, 1, MAX_PAGE_SIZE)
  .optional()
  .meta({
    override: { type: 'integer', minimum: 1, maximum: MAX_PAGE_SIZE, default: DEFAULT_PAGE_SIZE },
    description: 'Records per page.',
  });
export const secondsParameter = wholeNumber('must be Unix seconds', 0, 1e11)
  .optional()
  .meta({ override: { type: 'integer', minimum: 0 }, description: 'Unix seconds, inclusive.' });

export const pagingFields = {
  page,
  page_size: pageSize,
  cursor: z
    .string()
    .max(512, 'must be a cursor of this list')
    .optional()
    .meta({ description: 'Chooses cursor mode: empty for the first page, then `next_cursor` of the previous page.' }),
};

const filterFields = {
  order_id: plainText(128).optional().meta({ description: 'Only records of this order.' }),
  network: network.optional().meta({ description: 'Only records of this network.' }),
  created_from: secondsParameter,
  created_to: secondsParameter,
};

export const SESSION_STATUS = {
  open: 'it waits for money',
  processing: 'on-time money was seen and is not final yet',
  paid: 'enough is final',
  expired: 'the deadline passed without enough money',
  failed: 'a payment that would have sufficed was seen and is permanently lost',
  cancelled: 'you cancelled it',
} as const;

export const refundStatus = enumeration('Current state.', {
  PENDING: 'accepted, and nothing was sent yet',
  PROCESSING: 'a payment to the payer is being made, or is not final yet',
  COMPLETED: 'the money reached the payer',
  FAILED: 'it could not be paid out',
});

export const transferStatus = enumeration('Where it stands on chain.', {
  detected: 'seen in a block that can still be reverted',
  final: 'it can no longer be reverted',
  reverted: 'a reorganisation removed it',
  failed: 'it was seen and never became final',
});

const coinFilter = coinCode.optional().meta({ description: 'Only records in this coin: USDT or USDC, in any case.' });

const sessionOf = plainText(64)
  .refine((text) => parseSessionId(text) !== null, 'must be the id of a session')
  .optional()
  .meta({ description: 'Only records of this session.' });

const transactionType = enumeration('What moved the money.', {
  deposit: 'a payer to the session',
  refund: 'the service to a payer',
  fee: 'the network fee, in its native coin',
  sweep: 'a collection address to the treasury',
});
const TRANSACTION_COINS: readonly string[] = [...COINS, ...Object.values(NATIVE_COIN)];
const TRANSACTION_COIN_RULE = `must be one of ${TRANSACTION_COINS.join(', ')}`;

const MAX_METADATA_FILTERS = 10;
const METADATA_FILTER_RULE = 'must be written as `metadata[key]=value`';

const metadataFilter = z
  .record(z.string(), z.string(), METADATA_FILTER_RULE)
  .superRefine((value, context) => {
    const keys = Object.keys(value);
    if (keys.length > MAX_METADATA_FILTERS)
      context.addIssue({ code: 'custom', message: `must name at most ${MAX_METADATA_FILTERS} keys` });
    for (const key of keys) {
      const rule = metadataFilterRule(key, must(value[key]));
      if (rule !== null) context.addIssue({ code: 'custom', path: [key], message: rule });
    }
  })
  .optional()
  .meta({
    param: { style: 'deepObject', explode: true },
    description:
      'Only sessions with exactly this metadata: `metadata[customer]=c-1042`, at most 10 keys, all of which must match.',
    examples: [{ customer: 'c-1042' }],
  });

function metadataFilterRule(key: string, value: string): string | null {
  if (key === 'order_id') return 'is found with the filter `order_id`';
  if (key.length === 0 || key.length > MAX_METADATA_KEY_LENGTH)
    return `must name a key of 1 to ${MAX_METADATA_KEY_LENGTH} characters`;
  return value.length > MAX_METADATA_VALUE_LENGTH ? `must be at most ${MAX_METADATA_VALUE_LENGTH} characters` : null;
}

export const listSessionsQuery = z.strictObject({
  ...pagingFields,
  ...filterFields,
  coin: coinFilter,
  metadata: metadataFilter,
  status: enumeration('Only sessions with this status.', {
    ...SESSION_STATUS,
    unpaid: 'all but the paid ones',
  }).optional(),
});

export const listRefundsQuery = z.strictObject({
  ...pagingFields,
  ...filterFields,
  coin: coinFilter,
  status: refundStatus.optional(),
  session_id: sessionOf,
});

export const listTransactionsQuery = z.strictObject({
  ...pagingFields,
  ...filterFields,
  coin: z
    .string()
    .refine((code) => TRANSACTION_COINS.includes(code.toUpperCase()), TRANSACTION_COIN_RULE)
    .optional()
    .meta({
      override: { enum: [...TRANSACTION_COINS] },
      description: "A coin, or a network's native coin for fees; in any case.",
    }),
  status: transferStatus.optional(),
  type: transactionType.optional(),
  session_id: sessionOf,
});

export const pagination = z
  .object({
    page: z.int().optional().meta({ description: 'Page mode only.' }),
    page_size: integer('Records per page, as requested.'),
    total: z.int().optional().meta({ description: 'Page mode only.' }),
    total_pages: z.int().optional().meta({ description: 'Page mode only.' }),
    has_more: flag('Whether another page follows.'),
    next_cursor: z
      .string()
      .nullable()
      .meta({ description: 'Cursor of the next page in cursor mode; null at the end.' }),
  })
  .meta({ id: 'Pagination', description: 'Position of this page in the list.' });

export const listOf = <Record extends z.ZodType>(record: Record) =>
  z.object({ data: z.array(record).meta({ description: 'The records of this page, newest first.' }), pagination });

export const transaction = z
  .object({
    id: z.string().meta({ description: 'Id of the transaction.', examples: ['txn_k7w2q5m4n6p3r7s2t5v4x6y3z7'] }),
    type: transactionType,
    status: transferStatus,
    session_id: sessionId.nullable(),
    order_id: orderId.nullable(),
    refund_id: refundId.nullable(),
    network,
    coin: z.string().meta({ description: "The coin, or the network's native coin for a fee." }),
    amount: text('Units of `coin`, decimal string.'),
    from_address: text('Address that paid; null where the chain names no single one.').nullable(),
    to_address: text('Address that received; null if there is none, as for a fee.').nullable(),
    tx_hash: transactionHash,
    log_index: logIndex.nullable(),
    transfers: smallTransfers.optional(),
    block_number: blockNumber.nullable(),
    block_time: unixSeconds
      .nullable()
      .meta({ description: 'Time of the block, Unix seconds; null before it is in one.' }),
    confirmations: integer('Blocks from its own to the newest one seen; null where they are not counted.').nullable(),
    explorer_url: explorerUrl,
    created: unixSeconds.meta({ description: 'When it was first seen or sent, Unix seconds.' }),
  })
  .meta({ id: 'Transaction' });

export type Pagination = z.output<typeof pagination>;
export type TransactionBody = z.output<typeof transaction>;
