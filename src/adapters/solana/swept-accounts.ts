import { amountOf, toTokenUnits } from '../../domain/money/money.ts';
import type { Token } from '../../domain/networks/networks.ts';
import type { OutgoingTransaction } from '../../ports/outgoing/transaction.ts';
import type { RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { associatedTokenAccount, MOST_SWEPT_ACCOUNTS } from '../../chain-formats/spl-token.ts';
import { holdingsOf, tokenAccount } from './payee-account.ts';

export interface SweptAccount {
  readonly account: string;
  readonly units: bigint;
}

/**
 * From which accounts of an address a sweep takes how much; null where its usual account has enough, as nearly always.
 * Anyone may make another account of an address and pay into it.
 */
export async function sweptAccounts(
  provider: RpcProvider,
  { fromAddress, amount }: Pick<OutgoingTransaction, 'fromAddress' | 'amount'>,
  token: Token,
): Promise<readonly SweptAccount[] | null> {
  const usual = associatedTokenAccount(fromAddress, token.address);
  const wanted = toTokenUnits(amountOf(amount), token.decimals);
  const own = await tokenAccount(provider, usual, fromAddress, token);
  if ((own?.units ?? 0n) >= wanted) return null;
  const held = (await holdingsOf(provider, fromAddress)).filter(
    ({ mint, isFrozen, units }) => mint === token.address && !isFrozen && units > 0n,
  );
  const usualFirst = held.toSorted(
    (one, other) => Number(other.account === usual) - Number(one.account === usual) || Number(other.units - one.units),
  );
  const taken: SweptAccount[] = [];
  let missing = wanted;
  for (const { account, units } of usualFirst.slice(0, MOST_SWEPT_ACCOUNTS)) {
    const part = units < missing ? units : missing;
    if (part > 0n) taken.push({ account, units: part });
    missing -= part;
  }
  return taken;
}
