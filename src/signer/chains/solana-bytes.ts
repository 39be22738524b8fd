import type { ComputeBudgetProgram, PublicKey, Transaction } from '@solana/web3.js';
import type { NonceAccountDraft, TokenDraft } from '../../domain/events/transaction-draft.ts';
import type { OutgoingTransaction } from '../../ports/outgoing/transaction.ts';
import { base58 } from '../../chain-formats/base58.ts';
import { advanceNonce, makeNonceAccount } from '../../chain-formats/solana-nonce.ts';
import { tokenTransfer } from '../../chain-formats/spl-token.ts';
import type { SignedBytes } from './chain-view.ts';
import type { SigningWallet } from '../keys/signing-wallet.ts';
import { must } from '../../domain/values/must.ts';

type SolanaDraft = Extract<TokenDraft, { kind: 'solana' }>;

/** Enough for a new token account, a transfer and a memo. */
const COMPUTE_UNITS = 80_000;
const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';

/** `blockhash`: a recent one, or the value of a nonce account. */
function paidBy(transaction: Transaction, feePayer: PublicKey, blockhash: string): Transaction {
  return Object.assign(transaction, { feePayer, recentBlockhash: blockhash });
}

const budgetOf = (program: typeof ComputeBudgetProgram, unitPrice: string) => [
  program.setComputeUnitLimit({ units: COMPUTE_UNITS }),
  program.setComputeUnitPrice({ microLamports: BigInt(unitPrice) }),
];

/** Pays the fee and the rent. */
export async function nonceAccountBytes(draft: NonceAccountDraft, wallet: SigningWallet): Promise<SignedBytes> {
  const web3 = await import('@solana/web3.js');
  const treasury = new web3.PublicKey(wallet.treasury.solana);
  const transaction = paidBy(new web3.Transaction(), treasury, draft.blockhash).add(
    ...(draft.computeUnitPrice === undefined ? [] : budgetOf(web3.ComputeBudgetProgram, draft.computeUnitPrice)),
    ...makeNonceAccount(wallet.treasury.solana, draft.nonceIndex, BigInt(draft.lamports)),
  );
  const signature = await wallet.signSolanaMessage('treasury', transaction.serializeMessage());
  transaction.addSignature(treasury, Buffer.from(signature));
  return { txHash: base58(signature), signedBytes: transaction.serialize().toString('base64') };
}

/**
 * Pays an account of the owner that is there, or its associated one, which is created if missing, or SOL to the owner
 * itself. The treasury pays
 * fee and rent. The memo contains the id, so that two equal simultaneous transfers are two transactions.
 */
export async function solanaTransferBytes(
  draft: SolanaDraft,
  order: OutgoingTransaction,
  wallet: SigningWallet,
): Promise<SignedBytes> {
  const { id, kind, fromAddress: fromOwner, toAddress: toOwner, derivationIndex } = order;
  const web3 = await import('@solana/web3.js');
  const rentPayer = wallet.treasury.solana;
  const treasury = new web3.PublicKey(rentPayer);
  const transaction = paidBy(new web3.Transaction(), treasury, draft.nonce).add(
    advanceNonce(rentPayer, draft.nonceIndex),
    ...budgetOf(web3.ComputeBudgetProgram, draft.computeUnitPrice),
    ...(draft.tokenAddress === null
      ? [
          web3.SystemProgram.transfer({
            fromPubkey: treasury,
            toPubkey: new web3.PublicKey(toOwner),
            lamports: BigInt(draft.tokenUnits),
          }),
        ]
      : tokenTransfer({
          mint: draft.tokenAddress,
          fromOwner,
          toOwner,
          units: BigInt(draft.tokenUnits),
          decimals: draft.decimals,
          rentPayer,
          toAccount: draft.toAccount,
          fromAccounts: draft.fromAccounts?.map(({ account, units }) => ({ account, units: BigInt(units) })),
        })),
    new web3.TransactionInstruction({ programId: new web3.PublicKey(MEMO_PROGRAM), keys: [], data: Buffer.from(id) }),
  );
  const message = transaction.serializeMessage();
  const signature = await wallet.signSolanaMessage('treasury', message);
  transaction.addSignature(treasury, Buffer.from(signature));
  // The collection address that a sweep empties must sign next to the treasury.
  if (kind === 'sweep') {
    const own = await wallet.signSolanaMessage(must(derivationIndex), message);
    transaction.addSignature(new web3.PublicKey(fromOwner), Buffer.from(own));
  }
  return { txHash: base58(signature), signedBytes: transaction.serialize().toString('base64') };
}
