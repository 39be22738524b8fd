/** Solidified blocks of one TRON provider. Reads throw where it has no block. */
export interface SolidBlocks {
  readonly newest: { readonly number: number; readonly timeSec: number };
  readonly listed: (number: number) => Promise<{ readonly timeSec: number; readonly txHashes: readonly string[] }>;
}

/** Blocks read concurrently, below TronGrid's 15 requests a second. */
const AT_A_TIME = 4;

/**
 * Whether a solidified block from the transaction's lifetime lists it. Block lists are conclusive, a missing receipt is
 * not: nodes without history have none. The newest block must have passed that time.
 */
export async function isListedFrom(
  { newest, listed }: SolidBlocks,
  txHash: string,
  lifetime: { readonly fromBlock: number; readonly toMs: number },
): Promise<boolean> {
  let next = lifetime.fromBlock;
  for (let isOver = false; !isOver && next <= newest.number; next += AT_A_TIME) {
    const size = Math.min(AT_A_TIME, newest.number - next + 1);
    const read = await Promise.all(Array.from({ length: size }, (_, offset) => listed(next + offset)));
    if (read.some(({ txHashes }) => txHashes.includes(txHash))) return true;
    isOver = read.some(({ timeSec }) => timeSec * 1000 > lifetime.toMs);
  }
  return false;
}
