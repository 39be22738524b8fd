import type { PayoutDraft } from '../domain/events/treasury-events.ts';
import type { PayoutOrder } from '../ports/payouts.ts';
import { base58 } from '../runtime/base58.ts';
import type { Wallet } from './wallet.ts';

export type SolanaDraft = Extract<PayoutDraft, { kind: 'solana' }>;

/** Enough for a new token account, a transfer and a memo. */
const COMPUTE_UNITS = 80_000;
const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';

/**
 * Pays the owner's associated token account, which is made when it is missing; the treasury pays fee and rent. The memo
 * holds the leg, so that two equal refunds of one moment are two transactions.
 */
export async function solanaPayoutBytes(draft: SolanaDraft, order: PayoutOrder, wallet: Wallet): Promise<{ txHash: string; signedBytes: string }> {
  const [web3, token] = await Promise.all([import('@solana/web3.js'), import('@solana/spl-token')]);
  const treasury = new web3.PublicKey(wallet.treasury.solana);
  const mint = new web3.PublicKey(draft.tokenAddress);
  const owner = new web3.PublicKey(order.toAddress);
  const from = token.getAssociatedTokenAddressSync(mint, treasury);
  const to = token.getAssociatedTokenAddressSync(mint, owner, true);
  const transaction = new web3.Transaction({ feePayer: treasury, blockhash: draft.blockhash, lastValidBlockHeight: draft.lastValidBlockHeight });
  transaction.add(
    web3.ComputeBudgetProgram.setComputeUnitLimit({ units: COMPUTE_UNITS }),
    web3.ComputeBudgetProgram.setComputeUnitPrice({ microLamports: BigInt(draft.computeUnitPrice) }),
    token.createAssociatedTokenAccountIdempotentInstruction(treasury, to, owner, mint),
    token.createTransferCheckedInstruction(from, mint, to, treasury, BigInt(draft.tokenUnits), draft.decimals),
    new web3.TransactionInstruction({ programId: new web3.PublicKey(MEMO_PROGRAM), keys: [], data: Buffer.from(order.legId) }),
  );
  const signature = wallet.signForSolanaTreasury(transaction.serializeMessage());
  transaction.addSignature(treasury, Buffer.from(signature));
  return { txHash: base58(signature), signedBytes: transaction.serialize().toString('base64') };
}
