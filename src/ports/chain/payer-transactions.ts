/** A transfer for a payer's wallet to sign. Addresses in base58. */
export interface WantedTransfer {
  readonly payer: string;
  /** The session's owner, whose associated token account receives the money. */
  readonly owner: string;
  readonly tokenAddress: string;
  /** Token base units. */
  readonly tokenUnits: bigint;
  readonly decimals: number;
  /** Solana Pay reference key. */
  readonly reference?: string;
}

/** Composes transactions for wallets that only sign. */
export interface PayerTransactions {
  /**
   * The serialised transaction without signatures, valid for about a minute; null if `payer` is not a public key.
   * Throws `ChainUnavailable` when no provider returns a recent block.
   */
  unsignedTransfer(transfer: WantedTransfer): Promise<Uint8Array | null>;
}
