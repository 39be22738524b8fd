/** A deposit that a payout returns, with what the signer needs to find it on chain by itself. */
export interface DepositProof {
  readonly depositKey: string;
  readonly txHash: string;
  readonly logIndex: number;
  /** Where it was seen: nodes forget the hashes of old transactions and keep their blocks. */
  readonly blockNumber?: number | undefined;
  /** Our address that received it. */
  readonly toAddress: string;
  /** Derivation index of the address; null for the treasury. */
  readonly derivationIndex: number | null;
}

/** Also states how much a payout takes of it, as a decimal string in units of the coin. */
export type TakenDeposit = DepositProof & { readonly amount: string };

/** A transfer of native coin to a collection address, with what the signer needs to find it on chain by itself. */
export interface NativeTransfer {
  readonly txHash: string;
  /** The collection address that received it, and its derivation index. */
  readonly toAddress: string;
  readonly derivationIndex: number;
}

/** Identifies a transfer within its network. */
export const nativeTransferKey = ({ txHash, toAddress }: Pick<NativeTransfer, 'txHash' | 'toAddress'>): string =>
  `${txHash}:${toAddress}`;
