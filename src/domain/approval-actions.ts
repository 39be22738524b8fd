/** What an approval is for, as the signer writes it and the approver's command expects it. */
export const TRANSACTION_ACTIONS = {
  refund: 'pay a refund',
  sweep: 'sweep a collection address',
  gas_top_up: 'give gas to a collection address',
  withdrawal: 'withdraw to a cold address',
  settlement: 'settle with a merchant',
  return: 'return an unmatched transfer to who sent it',
  native_return: 'return native coin to who sent it',
  nonce_account: 'make a nonce account',
} as const;

export const OTHER_ACTIONS = {
  settlementAddress: 'change the address that a merchant is settled with',
  /** Followed by who stopped it. */
  resume: 'let the signer sign again, which ',
  adjustment: 'post an entry to the books by hand',
  reversal: 'take an entry by hand back',
  acknowledge: 'acknowledge money that left without an order, and pay again',
  takeOver: 'write a payment that was signed into an event log that lost it',
  limits: 'put new limits into force',
} as const;
