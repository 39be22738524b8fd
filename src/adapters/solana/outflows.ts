import { fromTokenUnits } from '../../domain/money/money.ts';
import { NATIVE_COIN, type NetworkSettings } from '../../domain/networks/networks.ts';
import type { SeenInflow, SeenOutflow, SoughtInflows, StrangersAmong } from '../../ports/outgoing/chain.ts';
import { ProviderFault, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { associatedTokenAccount } from '../../chain-formats/spl-token.ts';
import { LAMPORT } from './outgoing-fate.ts';
import { readTransaction, signaturesBetween } from './rpc.ts';
import { accountKeysOf, payerOf, tokenDeltas, type TransactionWithMeta } from './token-balances.ts';
import { must } from '../../domain/values/must.ts';

const SIGNATURES_A_PAGE = 1_000;
const MAX_PAGES = 200;

/**
 * What transactions that we did not sign took from an owner: those that name the owner, and those that name only its
 * token accounts, as a delegate's do. Failed ones cost their fee.
 */
export async function solanaOutflows(
  provider: RpcProvider,
  settings: NetworkSettings,
  owner: string,
  fromSlot: number,
  strangersAmong: StrangersAmong,
): Promise<SeenOutflow[]> {
  const found = await strangeTransactions(provider, settings, owner, fromSlot, strangersAmong);
  return found.flatMap(([txHash, transaction]) => takenBy(transaction, settings, owner, txHash));
}

/** What such transactions brought in, including native coin. */
export async function solanaInflows(
  provider: RpcProvider,
  settings: NetworkSettings,
  owner: string,
  { fromBlock, toBlock }: SoughtInflows,
  strangersAmong: StrangersAmong,
): Promise<SeenInflow[]> {
  const found = await strangeTransactions(provider, settings, owner, fromBlock, strangersAmong);
  return found
    .filter(([, { slot }]) => slot <= toBlock)
    .flatMap(([txHash, transaction]) => broughtBy(transaction, settings, owner, txHash));
}

async function strangeTransactions(
  provider: RpcProvider,
  settings: NetworkSettings,
  owner: string,
  fromSlot: number,
  strangersAmong: StrangersAmong,
): Promise<(readonly [txHash: string, TransactionWithMeta])[]> {
  const accounts = [owner, ...settings.tokens.map(({ address }) => associatedTokenAccount(owner, address))];
  const named = new Set<string>();
  for (const account of accounts)
    for (const signature of await signaturesSince(provider, account, fromSlot)) named.add(signature);
  if (named.size === 0) return [];
  const transactions: (readonly [string, TransactionWithMeta])[] = [];
  for (const txHash of await strangersAmong([...named])) {
    const transaction = await readTransaction(provider, txHash, 'confirmed');
    if (transaction === null) throw new ProviderFault('behind', `does not show ${txHash}, which it listed`);
    transactions.push([txHash, transaction]);
  }
  return transactions;
}

async function signaturesSince(provider: RpcProvider, account: string, fromSlot: number): Promise<string[]> {
  const found: string[] = [];
  let before: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const options = { commitment: 'confirmed', limit: SIGNATURES_A_PAGE, ...(before && { before }) };
    const page = await signaturesBetween(provider, account, options);
    if (page === null) return found;
    found.push(...page.flatMap(({ signature, slot }) => (slot >= fromSlot ? [signature] : [])));
    const last = page.at(-1);
    if (page.length < SIGNATURES_A_PAGE || last === undefined || last.slot < fromSlot) return found;
    before = last.signature;
  }
  throw new ProviderFault('too-large', `${account} has over ${MAX_PAGES * SIGNATURES_A_PAGE} transactions`);
}

function broughtBy(
  transaction: TransactionWithMeta,
  settings: NetworkSettings,
  owner: string,
  txHash: string,
): SeenInflow[] {
  const shared = { txHash, blockNumber: transaction.slot };
  const deltas = tokenDeltas(transaction, settings.tokens);
  const tokens = deltas.flatMap(({ owner: of, token, units, accountIndex }): SeenInflow[] => {
    if (of !== owner || units <= 0n) return [];
    return [
      {
        ...shared,
        coin: token.coin,
        units: fromTokenUnits(units, token.decimals),
        fromAddress: payerOf(deltas, token.address).fromAddress,
        logIndex: accountIndex,
      },
    ];
  });
  const gained = gainOf(transaction, owner);
  if (gained <= 0) return tokens;
  return [
    ...tokens,
    {
      ...shared,
      coin: NATIVE_COIN[settings.network],
      units: BigInt(gained) * LAMPORT,
      fromAddress: null,
      logIndex: null,
    },
  ];
}

/** In lamports; negative for a loss. */
function gainOf(transaction: TransactionWithMeta, owner: string): number {
  const keys = accountKeysOf(transaction);
  const index = keys.indexOf(owner);
  const { preBalances, postBalances } = transaction.meta;
  if (preBalances.length !== keys.length || postBalances.length !== keys.length)
    throw new ProviderFault('inconsistent', 'left out accounts of a transaction, or what they hold');
  return index < 0 ? 0 : must(postBalances[index]) - must(preBalances[index]);
}

function takenBy(
  transaction: TransactionWithMeta,
  settings: NetworkSettings,
  owner: string,
  txHash: string,
): SeenOutflow[] {
  const shared = { txHash, blockNumber: transaction.slot };
  const deltas = tokenDeltas(transaction, settings.tokens);
  const tokens = deltas.flatMap(({ owner: of, token, units, accountIndex }): SeenOutflow[] => {
    if (of !== owner || units >= 0n) return [];
    const winners = deltas.filter((other) => other.token === token && other.units > 0n);
    const toAddress = winners.length === 1 ? must(winners[0]).owner : null;
    return [
      {
        ...shared,
        coin: token.coin,
        units: fromTokenUnits(-units, token.decimals),
        toAddress,
        part: String(accountIndex),
      },
    ];
  });
  const index = accountKeysOf(transaction).indexOf(owner);
  const lost = -gainOf(transaction, owner);
  const native: SeenOutflow = {
    ...shared,
    coin: NATIVE_COIN[settings.network],
    units: BigInt(lost) * LAMPORT,
    toAddress: null,
    part: 'native',
  };
  if (lost > 0) return [...tokens, native];
  if (tokens.length > 0 || index < 0) return tokens;
  const { header } = transaction.transaction.message;
  if (!header) throw new ProviderFault('incapable', `does not say who signed ${txHash}`);
  return index >= header.numRequiredSignatures
    ? tokens
    : [{ ...shared, coin: null, units: null, toAddress: null, part: 'nothing' }];
}
