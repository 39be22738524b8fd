import type { Wallet } from 'ethers';

export interface EvmTransaction {
  readonly chainId: number;
  readonly nonce: number;
  /** Null creates a contract. */
  readonly to: string | null;
  readonly data: string;
  readonly gasLimit: bigint;
}

/** Fees that no congestion of a local chain reaches, and below what a node passes on (geth: 1 ETH for a transaction). */
const MAX_FEE_PER_GAS = 3n * 10n ** 11n;
const MAX_PRIORITY_FEE_PER_GAS = 10n ** 9n;

/** The signed bytes (hex) of a type 2 transaction without value. */
export function signTransaction(wallet: Wallet, transaction: EvmTransaction): Promise<string> {
  return wallet.signTransaction({
    type: 2,
    maxFeePerGas: MAX_FEE_PER_GAS,
    maxPriorityFeePerGas: MAX_PRIORITY_FEE_PER_GAS,
    value: 0n,
    ...transaction,
  });
}
