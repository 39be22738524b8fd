import type { NonceAccountDraft } from '../domain/events/payout-draft.ts';
import type { PayoutDraft } from '../domain/events/payout-draft.ts';
import type { MoveOrder } from '../ports/moves.ts';
import type { PayoutOrder } from '../ports/payouts.ts';
import { base58 } from '../runtime/util/base58.ts';
import { advanceNonce, makeNonceAccount } from '../runtime/util/solana-nonce.ts';
import { tokenTransfer } from '../runtime/util/spl-token.ts';
import type { SignedBytes } from './chain-view.ts';
import type { SigningWallet } from './signing-wallet.ts';

export type SolanaDraft = Extract<PayoutDraft, { kind: 'solana' }>;

/** Enough for a new token account, a transfer and a memo. */
const COMPUTE_UNITS = 80_000;
const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';

/** A token transfer out of one of our accounts; the treasury pays fee and rent. */
interface SolanaTransfer {
  readonly fromOwner: string;
  readonly toOwner: string;
  /** What tells it apart from an equal transfer of the same moment. */
  readonly memo: string;
  /** Place of the collection address that must sign beside the treasury; null when the treasury itself sends. */
  readonly collectionIndex: number | null;
}

/**
 * Pays the owner's associated token account, which is made when it is missing; the treasury pays fee and rent. The memo
 * holds the leg, so that two equal refunds of one moment are two transactions.
 */
export const solanaPayoutBytes = (draft: SolanaDraft, order: PayoutOrder, wallet: SigningWallet): Promise<SignedBytes> =>
  transferBytes(draft, { fromOwner: wallet.treasury.solana, toOwner: order.toAddress, memo: order.legId, collectionIndex: null }, wallet);

export function solanaMoveBytes(draft: SolanaDraft, order: MoveOrder, wallet: SigningWallet): Promise<SignedBytes> {
  const collectionIndex = order.kind === 'sweep' ? order.derivationIndex : null;
  return transferBytes(draft, { fromOwner: order.fromAddress, toOwner: order.toAddress, memo: order.moveId, collectionIndex }, wallet);
}

/** No more than the base fee, and the rent. */
export async function nonceAccountBytes(draft: NonceAccountDraft, wallet: SigningWallet): Promise<SignedBytes> {
  const web3 = await import('@solana/web3.js');
  const treasury = new web3.PublicKey(wallet.treasury.solana);
  const transaction = new web3.Transaction({ feePayer: treasury, recentBlockhash: draft.blockhash });
  transaction.add(...makeNonceAccount(wallet.treasury.solana, draft.nonceIndex, BigInt(draft.lamports)));
  const signature = await wallet.signSolanaMessage('treasury', transaction.serializeMessage());
  transaction.addSignature(treasury, Buffer.from(signature));
  return { txHash: base58(signature), signedBytes: transaction.serialize().toString('base64') };
}

async function transferBytes(
  draft: SolanaDraft,
  { fromOwner, toOwner, memo, collectionIndex }: SolanaTransfer,
  wallet: SigningWallet,
): Promise<SignedBytes> {
  const web3 = await import('@solana/web3.js');
  const rentPayer = wallet.treasury.solana;
  const treasury = new web3.PublicKey(rentPayer);
  const transaction = new web3.Transaction({ feePayer: treasury, recentBlockhash: draft.nonce });
  transaction.add(
    advanceNonce(rentPayer, draft.nonceIndex),
    web3.ComputeBudgetProgram.setComputeUnitLimit({ units: COMPUTE_UNITS }),
    web3.ComputeBudgetProgram.setComputeUnitPrice({ microLamports: BigInt(draft.computeUnitPrice) }),
    ...tokenTransfer({ mint: draft.tokenAddress, fromOwner, toOwner, units: BigInt(draft.tokenUnits), decimals: draft.decimals, rentPayer }),
    new web3.TransactionInstruction({ programId: new web3.PublicKey(MEMO_PROGRAM), keys: [], data: Buffer.from(memo) }),
  );
  const message = transaction.serializeMessage();
  const signature = await wallet.signSolanaMessage('treasury', message);
  transaction.addSignature(treasury, Buffer.from(signature));
  if (collectionIndex !== null) {
    const own = await wallet.signSolanaMessage(collectionIndex, message);
    transaction.addSignature(new web3.PublicKey(fromOwner), Buffer.from(own));
  }
  return { txHash: base58(signature), signedBytes: transaction.serialize().toString('base64') };
}
