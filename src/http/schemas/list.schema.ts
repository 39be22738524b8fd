import { z } from 'zod';
import { parseSessionId } from '../../domain/ids.ts';
import { COINS } from '../../domain/money.ts';
import { NATIVE_COIN } from '../../domain/networks.ts';
import { coinCode, network, plainText, unixSeconds } from './words.schema.ts';

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
  .meta({ override: { type: 'integer', minimum: 1, maximum: MAX_PAGE_SIZE, default: DEFAULT_PAGE_SIZE }, description: 'Records per page.' });
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
    .meta({ description: 'Chooses cursor mode: empty for the first page, then `next_cursor` of the page before.' }),
};

const filterFields = {
  order_id: plainText(128).optional(),
  network: network.optional(),
  created_from: secondsParameter,
  created_to: secondsParameter,
};

const STATUS_OF = {
  sessions: ['open', 'processing', 'paid', 'expired', 'failed', 'cancelled', 'unpaid'],
  refunds: ['PENDING', 'PROCESSING', 'COMPLETED', 'FAILED'],
  transactions: ['detected', 'final', 'reverted', 'failed'],
} as const;

const statusOf = (kind: keyof typeof STATUS_OF) => z.enum(STATUS_OF[kind], `must be one of ${STATUS_OF[kind].join(', ')}`).optional();

const sessionOf = plainText(64)
  .refine((text) => parseSessionId(text) !== null, 'must be the id of a session')
  .optional()
  .meta({ description: 'Only records of this session.' });

const TRANSACTION_TYPES = ['deposit', 'refund', 'fee', 'sweep'] as const;
const TRANSACTION_COINS: readonly string[] = [...COINS, ...Object.values(NATIVE_COIN)];
const TRANSACTION_COIN_RULE = `must be one of ${TRANSACTION_COINS.join(', ')}`;

export const listSessionsQuery = z.strictObject({ ...pagingFields, ...filterFields, coin: coinCode.optional(), status: statusOf('sessions') });

export const listRefundsQuery = z.strictObject({
  ...pagingFields,
  ...filterFields,
  coin: coinCode.optional(),
  status: statusOf('refunds'),
  session_id: sessionOf,
});

export const listTransactionsQuery = z.strictObject({
  ...pagingFields,
  ...filterFields,
  coin: z
    .string()
    .refine((code) => TRANSACTION_COINS.includes(code.toUpperCase()), TRANSACTION_COIN_RULE)
    .optional()
    .meta({ override: { enum: [...TRANSACTION_COINS] }, description: "A coin, or a network's native coin for fees; in any case." }),
  status: statusOf('transactions'),
  type: z.enum(TRANSACTION_TYPES, `must be one of ${TRANSACTION_TYPES.join(', ')}`).optional(),
  session_id: sessionOf,
});

export const pagination = z
  .object({
    page: z.int().optional().meta({ description: 'Page mode only.' }),
    page_size: z.int(),
    total: z.int().optional().meta({ description: 'Page mode only.' }),
    total_pages: z.int().optional().meta({ description: 'Page mode only.' }),
    has_more: z.boolean(),
    next_cursor: z.string().nullable().meta({ description: 'Goes on after this page in cursor mode; null at the end.' }),
  })
  .meta({ id: 'Pagination' });

export const listOf = <Record extends z.ZodType>(record: Record) => z.object({ data: z.array(record), pagination });

export const transaction = z
  .object({
    id: z.string().meta({ examples: ['txn_k7w2q5m4n6p3r7s2t5v4x6y3z7'] }),
    type: z.enum(TRANSACTION_TYPES),
    status: z.enum(STATUS_OF.transactions),
    session_id: z.string().nullable(),
    order_id: z.string().nullable(),
    refund_id: z.string().nullable(),
    network,
    coin: z.string().meta({ description: "The coin, or the network's native coin for a fee." }),
    amount: z.string(),
    from_address: z.string().nullable(),
    to_address: z.string().nullable(),
    tx_hash: z.string(),
    log_index: z.int().nullable(),
    block_number: z.int().nullable(),
    block_time: unixSeconds.nullable(),
    confirmations: z.int().nullable(),
    explorer_url: z.string().nullable(),
    created: unixSeconds,
  })
  .meta({ id: 'Transaction' });

export type Pagination = z.output<typeof pagination>;
export type TransactionBody = z.output<typeof transaction>;
