/** The groups of operations in the OpenAPI document, with what each is for. */
export const TAGS = {
  'Payment sessions': 'Create, read, list and cancel the payment of an order, and see why it stands where it does.',
  Transactions: 'Every movement of money on chain: deposits, payouts and fees.',
  Refunds: 'Give paid money back to the address that paid it, or to whom a proven claim of its payer names.',
  Webhooks: 'Deliveries and their attempts, redelivery, test notifications, and the same events to pull.',
  Merchant: 'Settings of the merchant whom the key belongs to.',
  Ledger: 'The books of the merchant: double entry over the same events.',
  Audit: 'Signed checkpoints of the event log, and proofs that an event is in it.',
  Sandbox:
    'Payments from a test wallet, in test mode only. Every other operation of a sandbox takes the header `Quittance-Sandbox-Error`, too: a request with an error code there is answered with that error and does nothing.',
} as const;

export type Tag = keyof typeof TAGS;
