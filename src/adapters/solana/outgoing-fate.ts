import { z } from 'zod';
import type { Token } from '../../domain/networks/networks.ts';
import { formatAmount } from '../../domain/money/money.ts';
import { OUTCOMES } from '../../domain/networks/outcomes.ts';
import type { Fate, Funding, SentTransaction } from '../../ports/outgoing/transaction.ts';
import { ProviderFault, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { receivingAccount } from '../../chain-formats/spl-token.ts';
import { nonceAt } from './nonces.ts';
import { ask, blockAtSlot, listedIn, readStatuses, readTransaction, slotOf } from './rpc.ts';
import { tokenDeltas, type TokenDelta, type TransactionWithMeta } from './token-balances.ts';
import { must } from '../../domain/values/must.ts';

export const LAMPORT = 10n ** 9n;

const isValid = z.object({ value: z.boolean() });

interface Asked {
  readonly sent: readonly SentTransaction[];
  /** Owner of the nonce accounts. */
  readonly treasury: string;
  /** The required token transfer; or what it takes of SOL itself besides the fee, in 10^-18 units. */
  readonly expected:
    | { readonly token: Token; readonly from: string; readonly to: string; readonly units: bigint }
    | { readonly native: bigint };
}

/** One provider's view of everything signed for one order. */
export async function fateAt(provider: RpcProvider, asked: Asked): Promise<Fate> {
  // The slot is read first: what has no status in an answer at or past it was in no block up to there.
  const slot = await slotOf(provider, 'finalized');
  const txHashes = asked.sent.map(({ txHash }) => txHash);
  const statuses = await readStatuses(provider, txHashes);
  if (statuses.slot < slot) throw new ProviderFault('behind', 'knows fewer slots than it said before');
  const seen = txHashes.flatMap((txHash, index) => {
    const status = statuses.found[index];
    return status ? [{ txHash, status }] : [];
  });
  const included = seen.find(({ status }) => OUTCOMES.solana(status) === 'moved') ?? seen.at(-1);
  if (!included) return unseenAt(provider, asked, slot);
  if (included.status.confirmationStatus !== 'finalized') return { kind: 'pending', inBlock: true };
  const { txHash } = included;
  const transaction =
    (await readTransaction(provider, txHash, 'finalized')) ?? (await listedIn(provider, included.status.slot, txHash));
  if (!transaction) return { kind: 'pending', inBlock: true };
  if (OUTCOMES.solana(transaction.meta) === 'nothing')
    return { kind: 'ineffective', txHash, networkFee: formatAmount(lamportsOf(transaction) * LAMPORT) };
  const { signedBytes } = must(asked.sent.find((one) => one.txHash === txHash));
  const fee = feeOf(transaction, asked.expected, signedBytes);
  if (fee === null) return { kind: 'alarm', detail: `${txHash} succeeded without the transfer it was signed for` };
  const block = await blockAtSlot(provider, transaction.slot, 'finalized');
  if (!block) throw new ProviderFault('behind', `has no block at slot ${transaction.slot}`);
  const landed = {
    txHash,
    blockNumber: block.number,
    blockHash: block.hash,
    blockTimeSec: block.timeSec,
    networkFee: formatAmount(fee),
  };
  return { kind: 'landed', landed, final: true };
}

/** In no block up to the slot. */
async function unseenAt(provider: RpcProvider, { sent, treasury }: Asked, slot: number): Promise<Fate> {
  const { validity } = must(sent.at(-1));
  if (validity.kind === 'solana-blockhash') {
    const { blockhash } = validity;
    const { value } = await ask(provider, isValid, 'isBlockhashValid', [blockhash, { commitment: 'confirmed' }]);
    return value ? { kind: 'absent' } : { kind: 'never' };
  }
  if (await nonceAt(provider, treasury, validity, slot)) return { kind: 'absent' };
  // Something landed that is not visible yet, or not any more. What it was remains unknown until somebody shows it.
  const unseen = `its nonce was used, and ${provider.name} does not show the transaction that used it: name a provider that keeps the whole chain`;
  return { kind: 'pending', inBlock: true, unseen };
}

/** Whether all are in final blocks of this provider's chain, with effect. */
export async function areHeldAt(provider: RpcProvider, funding: readonly Funding[]): Promise<boolean> {
  const { found } = await readStatuses(
    provider,
    funding.map(({ txHash }) => txHash),
  );
  for (const [index, { txHash, blockNumber }] of funding.entries()) {
    const status = found[index];
    if (status && status.confirmationStatus !== 'finalized') return false;
    const seen =
      status ?? (blockNumber === undefined ? null : ((await listedIn(provider, blockNumber, txHash))?.meta ?? null));
    if (seen === null || OUTCOMES.solana(seen) !== 'moved') return false;
  }
  return true;
}

/** Its cost in 10^-18 SOL; null if it did not do what it was signed for. */
function feeOf(transaction: TransactionWithMeta, expected: Asked['expected'], signedBytes: string): bigint | null {
  const cost = lamportsOf(transaction) * LAMPORT;
  if ('native' in expected) return cost - expected.native;
  const { token, from, to, units } = expected;
  const deltas = tokenDeltas(transaction, [token]);
  // A payee may hand the account over before the payout lands; then it is known by its address.
  const isReceiver = ({ owner, account }: TokenDelta): boolean =>
    owner === to || account === receivingAccount(Buffer.from(signedBytes, 'base64'));
  const taken = deltas.reduce((sum, delta) => (delta.owner === from ? sum + delta.units : sum), 0n);
  const moved = taken === -units && deltas.some((delta) => delta.units === units && isReceiver(delta));
  return moved ? cost : null;
}

/** What the fee payer, the first account, lost: fee and rent. */
function lamportsOf({ meta }: TransactionWithMeta): bigint {
  const [before, after] = [meta.preBalances[0], meta.postBalances[0]];
  if (before === undefined || after === undefined)
    throw new ProviderFault('incapable', 'does not say what the fee payer paid');
  return BigInt(before - after);
}
