import type { MoveDraft, PayoutDraft } from '../domain/events/payout-draft.ts';
import type { MoveOrder } from '../ports/moves.ts';
import type { SignedBytes } from './chain-view.ts';
import { transferCall } from './evm-view.ts';
import { nonceAccountBytes, solanaMoveBytes } from './solana-payout-bytes.ts';
import { signedTron, tronNativeBytes, tronPayoutBytes } from './tron-payout-bytes.ts';
import type { KeyPlace, SigningWallet } from './signing-wallet.ts';

/** Signs exactly the draft, as the treasury or as the collection address that a sweep empties. */
export function signMove(draft: MoveDraft, order: MoveOrder, wallet: SigningWallet): Promise<SignedBytes> {
  switch (draft.kind) {
    case 'evm':
    case 'evm-native':
      return evmBytes(draft, order, wallet);
    case 'tron':
      return signedTron(tronPayoutBytes(draft, order.fromAddress, order.toAddress), keyPlaceOf(order), wallet);
    case 'tron-native':
      return signedTron(tronNativeBytes(draft, order.fromAddress, order.toAddress), keyPlaceOf(order), wallet);
    case 'evm-cancel':
      throw new Error('only a refund can be cancelled');
    case 'solana':
      return solanaMoveBytes(draft, order, wallet);
    case 'solana-nonce-account':
      return nonceAccountBytes(draft, wallet);
  }
}

const keyPlaceOf = ({ kind, derivationIndex }: MoveOrder): KeyPlace => (kind === 'sweep' ? derivationIndex! : 'treasury');

type EvmDraft = Extract<MoveDraft, { kind: 'evm' | 'evm-native' }>;

async function evmBytes(draft: EvmDraft, order: MoveOrder, wallet: SigningWallet): Promise<SignedBytes> {
  const { getBytes, hexlify, Transaction } = await import('ethers');
  const target = draft.kind === 'evm' ? tokenCall(draft, order) : { to: order.toAddress, value: BigInt(draft.value), data: '0x' };
  const transaction = Transaction.from({
    type: 2,
    chainId: BigInt(draft.chainId),
    nonce: draft.nonce,
    ...target,
    gasLimit: BigInt(draft.gasLimit),
    maxFeePerGas: BigInt(draft.maxFeePerGas),
    maxPriorityFeePerGas: BigInt(draft.maxPriorityFeePerGas),
  });
  transaction.signature = hexlify(await wallet.signDigest('evm', keyPlaceOf(order), getBytes(transaction.unsignedHash)));
  return { txHash: transaction.hash!, signedBytes: transaction.serialized };
}

function tokenCall({ tokenAddress, tokenUnits }: Extract<PayoutDraft, { kind: 'evm' }>, { toAddress }: MoveOrder) {
  return { to: tokenAddress, value: 0n, data: transferCall(toAddress, BigInt(tokenUnits)) };
}
