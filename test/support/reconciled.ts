/** What `quittance treasury reconcile` answers of one network, as far as tests look at it. */
export interface Reconciled {
  readonly network: string;
  readonly accounts: readonly { readonly account: string; readonly coin: string; readonly difference: string }[];
  readonly unknown: readonly { readonly outflowKey: string }[];
}

/** Why books and chain differ; null when every account has what the books say and nothing left that nobody ordered. */
export function disagreementOf({ network, accounts, unknown }: Reconciled): string | null {
  if (unknown.length > 0) return `${network}: nobody ordered ${unknown.map(({ outflowKey }) => outflowKey).join(', ')}`;
  const differing = accounts.filter(({ difference }) => Number(difference) !== 0);
  if (differing.length === 0) return null;
  return `${network}: ${differing.map(({ account, coin, difference }) => `${account} differs by ${difference} ${coin}`).join(', ')}`;
}
