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

/** A transfer of native coin to a collection address, with what the signer needs to find it on chain by itself. */
export interface NativeTransfer {
  readonly txHash: string;
  /** The collection address that received it, and its place in the wallet. */
  readonly toAddress: string;
  readonly derivationIndex: number;
}

/** Tells the transfers of one network apart. */
export const nativeTransferKey = ({ txHash, toAddress }: Pick<NativeTransfer, 'txHash' | 'toAddress'>): string =>
  `${txHash}:${toAddress}`;
