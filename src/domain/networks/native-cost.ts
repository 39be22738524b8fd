import type { TransactionDraft } from '../events/transaction-draft.ts';

/** 10^-18 units per sun and per lamport. */
const SUN = 10n ** 12n;
const LAMPORT = 10n ** 9n;
/** TRON's fee limit covers energy only; a transfer of the coin may also have to create the account. */
const TRON_BANDWIDTH_SUN = 500_000n;
const TRON_ACTIVATION_SUN = 1_100_000n;
const SOLANA_SIGNATURE_LAMPORTS = 5_000n;
/** Rent of the receiver's token account, which the receiver may close and keep. */
const SOLANA_TOKEN_ACCOUNT_LAMPORTS = 2_039_280n;
const SOLANA_COMPUTE_UNITS = 80_000n;
const MICRO = 1_000_000n;

/** The most native coin that a transaction can use, in 10^-18 units. */
export function mostNative(draft: TransactionDraft): bigint {
  switch (draft.kind) {
    case 'evm':
    case 'evm-cancel':
      return BigInt(draft.gasLimit) * BigInt(draft.maxFeePerGas);
    case 'evm-native':
      return BigInt(draft.value) + BigInt(draft.gasLimit) * BigInt(draft.maxFeePerGas);
    case 'tron':
      return (BigInt(draft.feeLimit) + TRON_BANDWIDTH_SUN) * SUN;
    case 'tron-native':
      return (BigInt(draft.sun) + TRON_ACTIVATION_SUN + TRON_BANDWIDTH_SUN) * SUN;
    case 'solana-nonce-account':
      return (BigInt(draft.lamports) + SOLANA_SIGNATURE_LAMPORTS + priorityLamports(draft)) * LAMPORT;
    case 'solana':
      if (draft.tokenAddress === null)
        return (BigInt(draft.tokenUnits) + SOLANA_SIGNATURE_LAMPORTS + priorityLamports(draft)) * LAMPORT;
      return (2n * SOLANA_SIGNATURE_LAMPORTS + rentOf(draft) + priorityLamports(draft)) * LAMPORT;
  }
}

const rentOf = ({ toAccount }: { readonly toAccount?: string }): bigint =>
  toAccount === undefined ? SOLANA_TOKEN_ACCOUNT_LAMPORTS : 0n;

const priorityLamports = ({ computeUnitPrice = '0' }: { readonly computeUnitPrice?: string }): bigint =>
  (SOLANA_COMPUTE_UNITS * BigInt(computeUnitPrice) + MICRO - 1n) / MICRO;
