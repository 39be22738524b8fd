/** Moves nothing: uses up the nonce of a payout that must no longer land, so that later ones can. */
export interface CancelDraft {
  readonly kind: 'evm-cancel';
  readonly chainId: string;
  readonly nonce: number;
  readonly gasLimit: string;
  /** Wei. */
  readonly maxFeePerGas: string;
  readonly maxPriorityFeePerGas: string;
}

/** What a sweep takes from one token account, in the mint's smallest unit. */
export interface TakenAccount {
  readonly account: string;
  readonly units: string;
}

/**
 * A complete token transfer before signing (on Solana also of SOL): the signer builds exactly this transaction and no
 * other.
 */
export type TokenDraft =
  | {
      readonly kind: 'evm';
      readonly chainId: string;
      readonly nonce: number;
      readonly tokenAddress: string;
      /** Token base units. */
      readonly tokenUnits: string;
      readonly gasLimit: string;
      /** Wei. */
      readonly maxFeePerGas: string;
      readonly maxPriorityFeePerGas: string;
    }
  | {
      readonly kind: 'tron';
      readonly tokenAddress: string;
      readonly tokenUnits: string;
      /** Hex of the reference block, as TRON's `raw_data` requires it. */
      readonly refBlockBytes: string;
      readonly refBlockHash: string;
      readonly timestampMs: number;
      readonly expirationMs: number;
      /** The most sun the call may burn. */
      readonly feeLimit: number;
    }
  | {
      readonly kind: 'solana';
      /** Null for SOL itself; `tokenUnits` are then lamports. */
      readonly tokenAddress: string | null;
      readonly tokenUnits: string;
      readonly decimals: number;
      /**
       * An account of the payee that takes the token as it is. Absent: the payee's associated account, which is created
       * if missing.
       */
      readonly toAccount?: string;
      /** The owner's accounts that a sweep empties. Absent: the associated one alone. */
      readonly fromAccounts?: readonly TakenAccount[];
      /**
       * The treasury's nonce account and the value stored in it: transactions that name the same value exclude each
       * other.
       */
      readonly nonceIndex: number;
      readonly nonce: string;
      /** Micro-lamports per compute unit. */
      readonly computeUnitPrice: string;
    };

/** The native coin itself: gas for a sweep, or the return of coin that was sent to one of our addresses by mistake. */
export type NativeDraft =
  | {
      readonly kind: 'evm-native';
      readonly chainId: string;
      readonly nonce: number;
      /** Wei. */
      readonly value: string;
      readonly gasLimit: string;
      readonly maxFeePerGas: string;
      readonly maxPriorityFeePerGas: string;
    }
  | {
      readonly kind: 'tron-native';
      readonly sun: string;
      readonly refBlockBytes: string;
      readonly refBlockHash: string;
      readonly timestampMs: number;
      readonly expirationMs: number;
    };

/** Creates a nonce account of the treasury on Solana, which is possible only once. */
export interface NonceAccountDraft {
  readonly kind: 'solana-nonce-account';
  readonly nonceIndex: number;
  /** The rent that keeps the account permanently. */
  readonly lamports: string;
  readonly blockhash: string;
  /** Micro-lamports per compute unit; absent: only the base fee is paid. */
  readonly computeUnitPrice?: string;
}

/** What limits the lifetime of a transaction. */
export type TransactionValidity =
  | {
      readonly kind: 'evm-nonce';
      readonly nonce: number;
      readonly maxFeePerGas: string;
      /** It moves nothing and uses up the nonce of the payout before it. */
      readonly cancels?: true;
    }
  | { readonly kind: 'tron-expiration'; readonly expirationMs: number }
  | { readonly kind: 'solana-nonce'; readonly nonceIndex: number; readonly nonce: string }
  /** Only a nonce account is created this way. */
  | { readonly kind: 'solana-blockhash'; readonly blockhash: string };

/** Every transaction the treasury or a collection address sends. */
export type TransactionDraft = TokenDraft | CancelDraft | NativeDraft | NonceAccountDraft;

/** A position in the signer's journal: entries are numbered from 1 and chained by hash. */
export interface JournalPlace {
  readonly seq: number;
  readonly hash: string;
}

/** Whether it moves nothing and only uses up the nonce of the payout before it. */
export const isCancelling = ({ validity }: { readonly validity: TransactionValidity }): boolean =>
  validity.kind === 'evm-nonce' && validity.cancels === true;

/**
 * Why one transaction is signed in place of another. `cancel`: the deposit is gone, so the replacement moves nothing.
 */
export type ReplacementReason = 'fee_bump' | 'can_never_land' | 'cancel';
