import type { TransactionDraft } from '../../domain/events/transaction-draft.ts';
import type { OutgoingTransaction } from '../../ports/outgoing/transaction.ts';
import type { SignedBytes } from './chain-view.ts';
import { transferCall } from './evm-view.ts';
import { nonceAccountBytes, solanaTransferBytes } from './solana-bytes.ts';
import { signedTron, tronNativeBytes, tronTokenBytes } from './tron-bytes.ts';
import type { KeyPlace, SigningWallet } from '../keys/signing-wallet.ts';
import { must } from '../../domain/values/must.ts';

/** Signs exactly the draft, as the treasury or as the collection address that a sweep empties. */
export function signedBytesOf(
  draft: TransactionDraft,
  order: OutgoingTransaction,
  wallet: SigningWallet,
): Promise<SignedBytes> {
  switch (draft.kind) {
    case 'evm':
    case 'evm-native':
    case 'evm-cancel':
      return evmBytes(draft, order, wallet);
    case 'tron':
      return signedTron(tronTokenBytes(draft, order.fromAddress, order.toAddress), keyPlaceOf(order), wallet);
    case 'tron-native':
      return signedTron(tronNativeBytes(draft, order.fromAddress, order.toAddress), keyPlaceOf(order), wallet);
    case 'solana':
      return solanaTransferBytes(draft, order, wallet);
    case 'solana-nonce-account':
      return nonceAccountBytes(draft, wallet);
  }
}

const keyPlaceOf = ({ kind, derivationIndex }: OutgoingTransaction): KeyPlace =>
  kind === 'sweep' ? must(derivationIndex) : 'treasury';

type EvmDraft = Extract<TransactionDraft, { kind: 'evm' | 'evm-native' | 'evm-cancel' }>;

async function evmBytes(draft: EvmDraft, order: OutgoingTransaction, wallet: SigningWallet): Promise<SignedBytes> {
  const { getBytes, hexlify, Transaction } = await import('ethers');
  const transaction = Transaction.from({
    type: 2,
    chainId: BigInt(draft.chainId),
    nonce: draft.nonce,
    ...targetOf(draft, order, wallet),
    gasLimit: BigInt(draft.gasLimit),
    maxFeePerGas: BigInt(draft.maxFeePerGas),
    maxPriorityFeePerGas: BigInt(draft.maxPriorityFeePerGas),
  });
  transaction.signature = hexlify(
    await wallet.signDigest('evm', keyPlaceOf(order), getBytes(transaction.unsignedHash)),
  );
  return { txHash: must(transaction.hash), signedBytes: transaction.serialized };
}

function targetOf(draft: EvmDraft, { toAddress }: OutgoingTransaction, wallet: SigningWallet) {
  switch (draft.kind) {
    case 'evm':
      return { to: draft.tokenAddress, value: 0n, data: transferCall(toAddress, BigInt(draft.tokenUnits)) };
    case 'evm-native':
      return { to: toAddress, value: BigInt(draft.value), data: '0x' };
    case 'evm-cancel':
      return { to: wallet.treasury.evm, value: 0n, data: '0x' };
  }
}
