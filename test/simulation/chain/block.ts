/**
 * Accounts and tokens are 20 bytes in lower-case hex behind `0x`, and on Solana the base58 text of owners and mints;
 * the asset of the chain's own coin is `native`.
 */
export interface Movement {
  readonly kind: 'transfer' | 'mint';
  readonly asset: string;
  readonly from: string;
  readonly to: string;
  readonly units: bigint;
}

export interface PoolTransaction<Signed> {
  readonly txHash: string;
  /** Null for payments and funding, whose accounts are no concern of the model. */
  readonly signed: Signed | null;
  /** What it moves if it succeeds. */
  readonly movements: readonly Movement[];
}

/** What became of a signed transaction in its block. */
export interface Executed<Receipt> {
  readonly succeeded: boolean;
  readonly receipt: Receipt;
  /** Whether accounts hold what it moved already. */
  readonly hasMoved?: boolean;
}

export interface Included<Signed, Receipt> extends Executed<Receipt> {
  readonly transaction: PoolTransaction<Signed>;
  /** Token movements, one log each. */
  readonly movements: readonly Movement[];
  /** By which the service names each of them within its transaction or block. */
  readonly logIndexes: readonly number[];
}

export interface ChainBlock<Signed, Receipt> {
  readonly number: number;
  readonly hash: string;
  readonly parentHash: string;
  /** A slot whose producer made no block: it holds the place of its number, and nothing else. */
  readonly isSkipped: boolean;
  readonly timeSec: number;
  /** Of the world's own clock. */
  readonly minedMs: number;
  /** What a unit of computing costs: the base fee in wei, or sun for energy. */
  readonly price: bigint;
  readonly included: readonly Included<Signed, Receipt>[];
  /** What accounts hold after the block, where it changed that. */
  readonly changes: Map<string, bigint>;
}

/** A head as it was at some moment: what a provider that lags still shows. */
export interface ChainView<Block> {
  readonly branch: readonly Block[];
  readonly height: number;
}

/** Who paid where the chain does not say it. */
export const NOBODY = 'nobody';

export const ZERO_ACCOUNT = `0x${'0'.repeat(40)}`;

/** The call data of a token transfer and of nothing else. */
const TRANSFER_CALL = /^(?:0x)?a9059cbb0{24}([0-9a-f]{40})([0-9a-f]{64})$/i;

/** What a call of a token moves; null when it is no transfer. */
export function transferIn(asset: string, from: string, data: string): Movement | null {
  const [, to, units] = TRANSFER_CALL.exec(data) ?? [];
  return to === undefined
    ? null
    : { kind: 'transfer', asset, from, to: `0x${to.toLowerCase()}`, units: BigInt(`0x${units}`) };
}
