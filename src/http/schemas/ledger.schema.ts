import { z } from 'zod';
import { isDay } from '../../domain/values/calendar.ts';
import { MERCHANT_ACCOUNTS, type LedgerClock } from '../../domain/money/ledger.ts';
import { pagingFields, pagination } from './list.schema.ts';
import {
  blockNumber,
  enumeration,
  logIndex,
  network,
  orderId,
  refundId,
  sessionId,
  text,
  transactionHash,
  unixSeconds,
} from './words.schema.ts';

const DAY_RULE = 'must be a day such as 2026-10-31';
const day = (description: string) =>
  z
    .string()
    .refine(isDay, DAY_RULE)
    .optional()
    .meta({ description, override: { type: 'string', format: 'date' } });

const ledgerClock = enumeration('The clock that determines days.', {
  recorded: 'when the service recorded the fact',
  chain: 'the time of its block',
} satisfies Record<LedgerClock, string>);

const clock = ledgerClock.optional().meta({ default: 'recorded' });

const rangeFields = {
  from: day('First day (UTC), inclusive.'),
  to: day('Last day (UTC), inclusive.'),
  clock,
  cursor: pagingFields.cursor.meta({
    description: 'Empty or absent for the first page, then `next_cursor` of the previous page.',
  }),
  page_size: pagingFields.page_size,
};

export const ledgerBalancesQuery = z.strictObject({ as_of: day('The end of this day (UTC); now when absent.'), clock });
export const ledgerRangeQuery = z.strictObject(rangeFields);

const signedAmount = (description: string) => z.string().meta({ description, examples: ['10.01', '-10.01'] });

const coinName = text('The coin, such as `USDT`.');

const owed = {
  payable: signedAmount('From paid orders; yours.'),
  unapplied: signedAmount('Money that pays no order: too little, too much, late, or another coin.'),
  refunds_reserved: signedAmount('Refunds accepted and not yet paid out.'),
  total: signedAmount('All three together.'),
};

export const owedBalance = z.object({ network, coin: coinName, ...owed }).meta({ id: 'LedgerBalance' });

export const ledgerBalances = z
  .object({
    as_of: z.string().nullable().meta({ description: 'Null for now.' }),
    clock: ledgerClock,
    data: z.array(owedBalance).meta({ description: 'What you are owed, per network and coin.' }),
  })
  .meta({ id: 'LedgerBalances' });

export const fiatValue = z
  .object({
    currency: text('Currency of the order.'),
    at_locked_rate: text('Value of the coin at the rate of the session.'),
    at_settlement_quote: z.string().nullable().meta({ description: 'Null when there was no quote.' }),
    difference: z
      .string()
      .nullable()
      .meta({ description: 'Value at the settlement quote less value at the locked rate.' }),
  })
  .meta({ id: 'LedgerFiatValue', description: 'Value in the currency of the order.' });

const KINDS = [
  'deposit_seen',
  'deposit_lost',
  'deposit',
  'deposit_reversed',
  'payment',
  'payment_restored',
  'service_fee',
  'service_fee_reversed',
  'refund_reserved',
  'refund_paid',
  'refund_unpaid',
  'refund_released',
  'refund_valued',
  'settlement',
  'transfer_set_aside',
  'transfer_put_back',
  'transfer_credited',
  'transfer_credit_reversed',
  'adjustment',
] as const;

const entryFields = {
  id: z.string().meta({
    description:
      'Id of the event behind the entry; several entries may share it, such as a payment and its service fee.',
  }),
  kind: z.string().meta({ description: `What happened: ${KINDS.join(', ')}; more may follow.`, examples: ['deposit'] }),
  recorded_at: unixSeconds,
  recorded_day: z.string().meta({ description: 'Day of the books by recording time.' }),
  chain_time: unixSeconds.nullable().meta({ description: 'Block time; null when the fact is not one of a chain.' }),
  chain_day: z
    .string()
    .meta({ description: 'Day of the books by block time; in a later period if its own was closed.' }),
  order_id: orderId.nullable(),
  session_id: sessionId.nullable(),
  refund_id: refundId.nullable(),
  tx_hash: transactionHash.nullable(),
  log_index: logIndex.nullable(),
  block_number: blockNumber.nullable(),
  block_hash: text('Hash of that block.').nullable(),
  reverses: z
    .string()
    .nullable()
    .meta({ description: 'Id of the entry that this one reverses; for `service_fee_reversed`, its `service_fee`.' }),
  value: fiatValue.nullable().meta({ description: 'Value in the currency of the order; null without conversion.' }),
};

export const ledgerEntry = z
  .object({
    number: z.int().meta({ description: 'From 1, without gaps, in recording order.' }),
    ...entryFields,
    memo: z
      .object({ network: network.nullable(), coin: coinName, amount: signedAmount('Units of the coin.') })
      .nullable()
      .meta({ description: 'An amount that changes no account, such as a transfer that is seen and not final.' }),
    lines: z
      .array(
        z.object({
          account: z.enum(MERCHANT_ACCOUNTS.map((name) => name.replaceAll('-', '_'))).meta({
            description:
              'The account that changes. `payable`: from paid orders, yours; `unapplied`: money that pays no order; `refunds_reserved`: refunds accepted and not yet paid out.',
          }),
          network,
          coin: coinName,
          amount: signedAmount('Positive: you are owed more.'),
          balance: signedAmount(
            'Balance of the account in this coin on this network after the line, in recording order.',
          ),
        }),
      )
      .meta({ description: 'Its lines; the sum is zero unless money came or went.' }),
  })
  .meta({ id: 'LedgerEntry' });

export const settlementLine = z
  .object({ ...entryFields, network: network.nullable(), coin: coinName, ...owed })
  .meta({ id: 'LedgerSettlementLine' });

export const ledgerEntries = z
  .object({ data: z.array(ledgerEntry).meta({ description: 'Entries in recording order.' }), pagination })
  .meta({ id: 'LedgerEntries' });

export const settlementReport = z
  .object({
    from: text('First day, as requested; null for the beginning.').nullable(),
    to: text('Last day, as requested; null for now.').nullable(),
    clock: ledgerClock,
    opening: z.array(owedBalance).meta({ description: 'Before the first day.' }),
    closing: z.array(owedBalance).meta({ description: 'After the last day: opening plus every line of every page.' }),
    data: z.array(settlementLine).meta({ description: 'Every line of the days, oldest first.' }),
    pagination,
  })
  .meta({ id: 'LedgerSettlementReport' });

export type LedgerBalancesBody = z.output<typeof ledgerBalances>;
export type OwedBalanceBody = z.output<typeof owedBalance>;
export type LedgerEntryBody = z.output<typeof ledgerEntry>;
export type SettlementLineBody = z.output<typeof settlementLine>;
export type SettlementReportBody = z.output<typeof settlementReport>;
export type FiatValueBody = z.output<typeof fiatValue>;
export type LedgerRangeQuery = z.output<typeof ledgerRangeQuery>;
