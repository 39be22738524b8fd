import type { DepositFacts } from '../../domain/events/session-events.ts';
import { formatAmount, fromTokenUnits } from '../../domain/money/money.ts';
import type { NetworkSettings } from '../../domain/networks/networks.ts';
import type { Disproof } from '../../ports/chain/chain.ts';
import { ProviderFault, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { associatedTokenAccount } from '../../chain-formats/spl-token.ts';
import { firstFinalizedFrom, hasStatus, readBalances, readHistory, readTransaction, slotOf } from './rpc.ts';
import { tokenDeltas, type SolanaTransaction } from './token-balances.ts';

/** A transaction that left its block may return in another one while its blockhash is valid. */
const BLOCKHASH_SLOTS = 150;
/** The history of an account with more transactions is not added up, so its balance proves nothing. */
const MAX_HISTORY = 200;

/**
 * Why one provider's own finalised state cannot contain a recorded transfer: the finalised block of its slot does not
 * list the transaction, or the slot has no block according to the next one; and the account's finalised history
 * explains its finalised balance without it. An answer of `null` is never enough. Null if this is not proven. Throws
 * `ProviderFault` for a lagging provider.
 */
export async function solanaDisproof(
  provider: RpcProvider,
  settings: NetworkSettings,
  deposit: DepositFacts,
  finalizedSeen: number,
): Promise<Disproof | null> {
  const { txHash, blockNumber: slot, blockHash } = deposit;
  const finalized = await slotOf(provider, 'finalized');
  if (finalized < finalizedSeen)
    throw new ProviderFault('behind', `is ${finalizedSeen - finalized} finalized slots behind`);
  if (finalized < slot + BLOCKHASH_SLOTS) return null;
  const block = await firstFinalizedFrom(provider, slot);
  const shown = await readTransaction(provider, txHash, 'finalized');
  // The same block cannot contain it with two effects, but the earlier report may have been wrong.
  if (shown?.slot === slot && block.slot === slot && block.hash === blockHash)
    return shown.meta.err === null && !movesTheSame(shown, settings, deposit) ? 'not_in_block' : null;
  if (shown !== null) return shown.meta.err === null ? 'reorg' : 'failed';
  if (block.slot === slot ? block.signatures.has(txHash) : block.parentSlot >= slot) return null;
  if (await hasStatus(provider, txHash, finalized))
    throw new ProviderFault('behind', `knows ${txHash} but does not show it yet`);
  return (await isExplainedWithout(provider, settings, deposit, finalized)) ? 'reorg' : null;
}

function movesTheSame(
  shown: SolanaTransaction,
  { tokens }: NetworkSettings,
  { logIndex, tokenAddress, toAddress, amount }: DepositFacts,
): boolean {
  const own = tokenDeltas(shown, tokens).find((delta) => delta.accountIndex === logIndex);
  return (
    own !== undefined &&
    own.token.address === tokenAddress &&
    own.owner === toAddress &&
    own.units > 0n &&
    formatAmount(fromTokenUnits(own.units, own.token.decimals)) === amount
  );
}

async function isExplainedWithout(
  provider: RpcProvider,
  settings: NetworkSettings,
  { txHash, toAddress, tokenAddress }: DepositFacts,
  finalized: number,
): Promise<boolean> {
  const token = settings.tokens.find(({ address }) => address === tokenAddress);
  if (token === undefined) return false;
  const account = { account: associatedTokenAccount(toAddress, tokenAddress), owner: toAddress, token };
  const entries = await readHistory(provider, account.account, { commitment: 'finalized', minSlot: finalized });
  if (entries.length > MAX_HISTORY || entries.some((entry) => entry.txHash === txHash)) return false;
  let explained = 0n;
  for (const { txHash: other, failed } of entries) {
    if (failed) continue;
    const transaction = await readTransaction(provider, other, 'finalized');
    if (transaction === null) throw new ProviderFault('behind', `does not show ${other}, which it listed`);
    explained += tokenDeltas(transaction, [token]).find((delta) => delta.account === account.account)?.units ?? 0n;
  }
  const { units, slot } = await readBalances(provider, [account], 'finalized');
  if (slot < finalized) throw new ProviderFault('behind', 'knows fewer slots than it said before');
  return units[0] === explained;
}
