import type { TableSchema } from '../../ports/read-model/table-file.ts';

/*
 * The tables of the books for analysts, described in `docs/ledger.md`. Names and meanings never change; new columns are
 * added at the end.
 */

/** An exact amount as text, and a column with the suffix `_real` that holds the nearest float for sums and charts. */
const money = <Name extends string>(name: Name) =>
  ({ [name]: 'TEXT', [`${name}_real`]: 'REAL' }) as Record<Name, 'TEXT'> & Record<`${Name}_real`, 'REAL'>;

export const BOOKS_TABLES = {
  about: { columns: { name: 'TEXT', value: 'TEXT' }, key: 1 },
  entries: {
    columns: {
      ...{ mode: 'TEXT', entry: 'INTEGER', kind: 'TEXT', event_id: 'TEXT', stream: 'TEXT', revision: 'INTEGER' },
      ...{ recorded_at: 'INTEGER', recorded_day: 'TEXT', chain_time: 'INTEGER', chain_day: 'TEXT' },
      merchant_id: 'TEXT',
      order_id: 'TEXT',
      session_id: 'TEXT',
      refund_id: 'TEXT',
      move_id: 'TEXT',
      reverses: 'TEXT',
      ...{ network: 'TEXT', tx_hash: 'TEXT', log_index: 'INTEGER', block_number: 'INTEGER', block_hash: 'TEXT' },
      fiat_currency: 'TEXT',
      fiat_at_locked_rate: 'TEXT',
      fiat_at_settlement_quote: 'TEXT',
      fiat_difference: 'TEXT',
    },
    key: 2,
    indexes: [['session_id'], ['recorded_day'], ['chain_day']],
  },
  lines: {
    columns: {
      ...{ mode: 'TEXT', entry: 'INTEGER', line: 'INTEGER', account: 'TEXT', network: 'TEXT', coin: 'TEXT' },
      ...money('amount'),
      ...money('balance'),
      address: 'TEXT',
    },
    key: 3,
    indexes: [['account', 'network', 'coin']],
  },
  balances: { columns: { mode: 'TEXT', account: 'TEXT', network: 'TEXT', coin: 'TEXT', ...money('balance') }, key: 4 },
  totals: {
    columns: { mode: 'TEXT', network: 'TEXT', coin: 'TEXT', debits: 'TEXT', credits: 'TEXT', lines: 'INTEGER' },
    key: 3,
  },
  payments: {
    columns: {
      session_id: 'TEXT',
      mode: 'TEXT',
      merchant_id: 'TEXT',
      order_id: 'TEXT',
      status: 'TEXT',
      currency: 'TEXT',
      amount: 'TEXT',
      ...{ tax_amount: 'TEXT', shipping_amount: 'TEXT', rate: 'TEXT', coin: 'TEXT' },
      ...money('due'),
      ...money('received'),
      excess: 'TEXT',
      created_at: 'INTEGER',
      expires_at: 'INTEGER',
      paid_at: 'INTEGER',
      after_expiry: 'INTEGER',
      supersedes: 'TEXT',
    },
    key: 1,
    indexes: [['merchant_id', 'order_id'], ['paid_at']],
  },
  deposits: {
    columns: {
      ...{ session_id: 'TEXT', deposit: 'TEXT', status: 'TEXT', kind: 'TEXT', network: 'TEXT', coin: 'TEXT' },
      ...money('amount'),
      from_address: 'TEXT',
      to_address: 'TEXT',
      tx_hash: 'TEXT',
      log_index: 'INTEGER',
      block_number: 'INTEGER',
      block_time: 'INTEGER',
    },
    key: 2,
    indexes: [['tx_hash']],
  },
  refunds: {
    columns: {
      ...{ refund_id: 'TEXT', leg: 'TEXT', session_id: 'TEXT', status: 'TEXT', network: 'TEXT', coin: 'TEXT' },
      ...money('amount'),
      to_address: 'TEXT',
      requested_at: 'INTEGER',
      tx_hash: 'TEXT',
      block_time: 'INTEGER',
      network_fee: 'TEXT',
      failure: 'TEXT',
    },
    key: 2,
    indexes: [['session_id']],
  },
} as const satisfies Record<string, Omit<TableSchema, 'name'>>;

export type BooksTable = keyof typeof BOOKS_TABLES;

export const BOOKS_SCHEMAS: readonly TableSchema[] = Object.entries(BOOKS_TABLES).map(([name, schema]) => ({
  name,
  ...schema,
}));
