/** Why a token transfer can never be made as it was ordered, whatever becomes of balances and fees. */
export type ImpossibleReason =
  /** Finer than the token's units on this network. */
  | 'amount_not_payable'
  /** The network has no token of the coin. */
  | 'token_not_supported'
  /** The token's own code refuses it, though the sender holds enough. */
  | 'transfer_rejected';

/** Why a refund, or one payout of it, ended without being paid. */
export type RefundFailureReason =
  | 'recipient_frozen'
  | 'token_paused'
  | 'treasury_frozen'
  | 'payer_ambiguous'
  | 'insufficient_gas'
  | 'rejected_by_policy'
  | 'execution_reverted'
  | 'rejected_by_operator'
  /** The claim that it was to pay was withdrawn within its waiting time. */
  | 'claim_rejected'
  /** A reorganisation took the deposits that it was to pay back, and they did not come again in time. */
  | 'deposit_reverted'
  | ImpossibleReason;
