/** A deposit that a payout gives back, with what the signer needs to find it on chain by itself. */
export interface DepositProof {
  readonly depositKey: string;
  readonly txHash: string;
  readonly logIndex: number;
  /** Our address that received it. */
  readonly toAddress: string;
  /** Its place in the wallet; null for the treasury. */
  readonly derivationIndex: number | null;
}

/** With what a payout takes of it, a decimal string in units of the coin. */
export type TakenDeposit = DepositProof & { readonly amount: string };
