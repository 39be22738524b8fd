/** Why a token transfer can never be made as ordered, whatever the balances and fees. */
export type ImpossibleReason =
  /** Needs more decimals than the token has on this network. */
  | 'amount_not_payable'
  /** The network has no token of the coin. */
  | 'token_not_supported'
  /** The token contract rejects it, although the sender's balance suffices. */
  | 'transfer_rejected';

/** Why a refund, or one of its payouts, ended without being paid. */
export type RefundFailureReason =
  | 'recipient_frozen'
  | 'token_paused'
  | 'treasury_frozen'
  | 'payer_ambiguous'
  | 'insufficient_gas'
  | 'rejected_by_policy'
  | 'execution_reverted'
  | 'rejected_by_operator'
  /** A reorganisation removed the deposits it was to return, and they did not reappear in time. */
  | 'deposit_reverted'
  | ImpossibleReason;
