/** Moves nothing: it takes the nonce of a payout that must not land any more, so that what comes after it can. */
export interface CancelDraft {
  readonly kind: 'evm-cancel';
  readonly chainId: string;
  readonly nonce: number;
  readonly gasLimit: string;
  /** Wei. */
  readonly maxFeePerGas: string;
  readonly maxPriorityFeePerGas: string;
}

/**
 * A token transfer, on Solana one of SOL as well, before it is signed, complete: the signer builds exactly this
 * transaction and no other.
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
      /** Hex of the reference block, as TRON's `raw_data` wants it. */
      readonly refBlockBytes: string;
      readonly refBlockHash: string;
      readonly timestampMs: number;
      readonly expirationMs: number;
      /** Sun that the call may burn at most. */
      readonly feeLimit: number;
    }
  | {
      readonly kind: 'solana';
      /** Null for SOL itself, of which `tokenUnits` are lamports. */
      readonly tokenAddress: string | null;
      readonly tokenUnits: string;
      readonly decimals: number;
      /**
       * Which nonce account of the treasury, and the value stored there: whatever names the same excludes each other.
       */
      readonly nonceIndex: number;
      readonly nonce: string;
      /** Micro-lamports for a unit of computation. */
      readonly computeUnitPrice: string;
    };

/** The native coin itself: gas for a sweep, or what went to one of our addresses by mistake. */
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

/** Makes a nonce account of the treasury on Solana, which can be made once only. */
export interface NonceAccountDraft {
  readonly kind: 'solana-nonce-account';
  readonly nonceIndex: number;
  /** The rent that keeps the account forever. */
  readonly lamports: string;
  readonly blockhash: string;
}

/** What bounds the life of a transaction. */
export type TransactionValidity =
  | {
      readonly kind: 'evm-nonce';
      readonly nonce: number;
      readonly maxFeePerGas: string;
      /** It moves nothing and takes the nonce of the payout before it. */
      readonly cancels?: true;
    }
  | { readonly kind: 'tron-expiration'; readonly expirationMs: number }
  | { readonly kind: 'solana-nonce'; readonly nonceIndex: number; readonly nonce: string }
  /** Nothing but a nonce account is made this way. */
  | { readonly kind: 'solana-blockhash'; readonly blockhash: string };

/** Whatever the treasury or a collection address sends. */
export type TransactionDraft = TokenDraft | CancelDraft | NativeDraft | NonceAccountDraft;

/** A place in the signer's journal: entries are numbered from 1 and chained by hash. */
export interface JournalPlace {
  readonly seq: number;
  readonly hash: string;
}

/** Whether it moves nothing and only takes the nonce of the payout before it. */
export const isCancelling = ({ validity }: { readonly validity: TransactionValidity }): boolean =>
  validity.kind === 'evm-nonce' && validity.cancels === true;

/**
 * Why another transaction is signed in the place of one. `cancel`: the deposit is gone, and nothing is moved in the
 * place of the payout.
 */
export type ReplacementReason = 'fee_bump' | 'can_never_land' | 'cancel';
