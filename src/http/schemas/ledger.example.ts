import type { LedgerBalancesBody, LedgerEntryBody, SettlementReportBody } from './ledger.schema.ts';

const OWED = {
  network: 'ethereum',
  coin: 'USDT',
  payable: '13.50',
  unapplied: '0.00',
  refunds_reserved: '0.00',
  total: '13.50',
} as const;
const PAGINATION = { page_size: 20, has_more: false, next_cursor: null };

const ENTRY = {
  id: '0b8e5a52-6d0e-4c3e-9a55-3c9f0d3f8f11',
  kind: 'payment',
  recorded_at: 1767225723,
  recorded_day: '2026-01-01',
  chain_time: 1767225660,
  chain_day: '2026-01-01',
  order_id: 'order-1042',
  session_id: 'cs_k7w2q5m4n6p3r7s2t5v4x6y3z7a2b5c4',
  refund_id: null,
  tx_hash: null,
  log_index: null,
  block_number: null,
  block_hash: null,
  reverses: null,
  value: { currency: 'EUR', at_locked_rate: '12.50', at_settlement_quote: '12.48', difference: '-0.02' },
};

export const LEDGER_BALANCES_EXAMPLE = {
  as_of: '2026-01-31',
  clock: 'recorded',
  data: [OWED],
} satisfies LedgerBalancesBody;

const LEDGER_ENTRY_EXAMPLE = {
  ...ENTRY,
  number: 3,
  memo: null,
  lines: [
    { account: 'payable', network: 'ethereum', coin: 'USDT', amount: '13.50', balance: '13.50' },
    { account: 'unapplied', network: 'ethereum', coin: 'USDT', amount: '-13.50', balance: '0.00' },
  ],
} satisfies LedgerEntryBody;

export const LEDGER_ENTRIES_EXAMPLE = { data: [LEDGER_ENTRY_EXAMPLE], pagination: PAGINATION };

export const SETTLEMENT_REPORT_EXAMPLE = {
  from: '2026-01-01',
  to: '2026-01-31',
  clock: 'recorded',
  opening: [{ ...OWED, payable: '0.00', unapplied: '13.50' }],
  closing: [OWED],
  data: [
    {
      ...ENTRY,
      network: 'ethereum',
      coin: 'USDT',
      payable: '13.50',
      unapplied: '-13.50',
      refunds_reserved: '0.00',
      total: '0.00',
    },
  ],
  pagination: PAGINATION,
} satisfies SettlementReportBody;
