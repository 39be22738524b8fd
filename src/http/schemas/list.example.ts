import type { Pagination, TransactionBody } from './list.schema.ts';

export const PAGINATION_EXAMPLE = {
  page: 1,
  page_size: 20,
  total: 1,
  total_pages: 1,
  has_more: false,
  next_cursor: null,
} satisfies Pagination;

export const TRANSACTION_EXAMPLE = {
  id: 'txn_k7w2q5m4n6p3r7s2t5v4x6y3z7',
  type: 'deposit',
  status: 'final',
  session_id: 'cs_k7w2q5m4n6p3r7s2t5v4x6y3z7a2b5c4',
  order_id: 'order-1042',
  refund_id: null,
  network: 'ethereum',
  coin: 'USDT',
  amount: '10.01',
  from_address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  to_address: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  tx_hash: '0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060',
  log_index: 3,
  block_number: 24200000,
  block_time: 1767225660,
  confirmations: 12,
  explorer_url: 'https://etherscan.io/tx/0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060',
  created: 1767225660,
} satisfies TransactionBody;
