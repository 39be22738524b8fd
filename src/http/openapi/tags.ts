/** The groups of operations in the OpenAPI document with their descriptions. */
export const TAGS = {
  'Payment sessions': 'Create, read, list and cancel the payment of an order, and see why it has its status.',
  Transactions: 'Every movement of money on chain: deposits, payouts and fees.',
  Refunds: 'Return money to the address that paid it.',
  Webhooks: 'Deliveries and their attempts, redelivery, test notifications, and the pull feed of the same events.',
  Merchant: 'Settings of the merchant that owns the key.',
  Ledger: 'The books of the merchant: double entry, derived from the same events.',
  Audit: 'Signed checkpoints of the event log, and proofs that an event is in it.',
  Sandbox:
    'Payments from a test wallet, in test mode only. In a sandbox every other operation also accepts the header `Quittance-Sandbox-Error`: a request with an error code there is answered with that error and has no effect.',
} as const;

export type Tag = keyof typeof TAGS;
