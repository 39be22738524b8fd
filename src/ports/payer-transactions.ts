/** A transfer that a payer's wallet is to sign. Addresses in base58. */
export interface WantedTransfer {
  readonly payer: string;
  /** The session's owner; the money lands in its associated token account. */
  readonly owner: string;
  readonly tokenAddress: string;
  /** Token base units. */
  readonly tokenUnits: bigint;
  readonly decimals: number;
  /** Solana Pay reference key. */
  readonly reference?: string;
}

/** Makes transactions for wallets that sign but do not compose. */
export interface PayerTransactions {
  /**
   * The serialized transaction without signatures, valid for about a minute; null when `payer` is no public key. Throws
   * `ChainUnavailable` when no provider tells a recent block.
   */
  unsignedTransfer(transfer: WantedTransfer): Promise<Uint8Array | null>;
}
