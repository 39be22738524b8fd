import { z } from 'zod';
import type { UnknownPayer } from '../../domain/networks/unknown-payer.ts';
import { TOKEN_PROGRAM } from '../../chain-formats/spl-token.ts';
import type { FoundDeposit } from './chain-view.ts';

/* What the signer itself makes of the token balances before and after a transaction. */

export const tokenBalance = z.object({
  accountIndex: z.number(),
  mint: z.string(),
  owner: z.string().nullish(),
  programId: z.string(),
  uiTokenAmount: z.object({ amount: z.string() }),
});
type TokenBalance = z.infer<typeof tokenBalance>;

export interface Delta {
  readonly accountIndex: number;
  readonly mint: string;
  /** Before and after the transaction; null for an account that was not there, or whose owner is not named. */
  readonly owners: readonly [before: string | null, after: string | null];
  readonly isClosed: boolean;
  readonly units: bigint;
}

export function deltasOf(
  preTokenBalances: readonly TokenBalance[],
  postTokenBalances: readonly TokenBalance[],
): Delta[] {
  const [before, after] = [byAccount(preTokenBalances), byAccount(postTokenBalances)];
  return [...new Map([...before, ...after])].map(([name, { accountIndex, mint }]) => {
    const [held, holds] = [before.get(name), after.get(name)];
    return {
      ...{ accountIndex, mint, owners: [held?.owner ?? null, holds?.owner ?? null] },
      isClosed: holds === undefined,
      units: BigInt(holds?.uiTokenAmount.amount ?? 0) - BigInt(held?.uiTokenAmount.amount ?? 0),
    };
  });
}

/** By mint, too: an account can be closed and opened again for another one. */
const byAccount = (balances: readonly TokenBalance[]): Map<string, TokenBalance> =>
  new Map(
    balances
      .filter(({ programId }) => programId === TOKEN_PROGRAM)
      .map((balance) => [`${balance.accountIndex} ${balance.mint}`, balance]),
  );

/**
 * The one owner whose balance fell. Nobody when an account that lost money changed its owner or was closed: its new
 * owner signed nothing.
 */
export function payerOf(deltas: readonly Delta[], mint: string): Pick<FoundDeposit, 'payer' | 'unknownPayer'> {
  const unknown = (unknownPayer: UnknownPayer) => ({ payer: null, unknownPayer });
  const byOwner = new Map<string | null, bigint>();
  for (const { units, mint: of, owners, isClosed } of deltas) {
    if (of !== mint) continue;
    const [before, after] = owners;
    if (units < 0n && isClosed) return unknown('account_closed');
    if (units < 0n && before !== after) return unknown('account_handed_over');
    if (units < 0n && before === null) return unknown('owner_not_named');
    byOwner.set(after, (byOwner.get(after) ?? 0n) + units);
  }
  const [fallen, ...others] = [...byOwner].filter(([, units]) => units < 0n).map(([owner]) => owner);
  if (!fallen) return unknown('nobody_paid');
  return others.length > 0 ? unknown('several_payers') : { payer: fallen };
}
