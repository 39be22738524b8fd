import type { MoveDraft, NativeDraft, PayoutDraft } from '../domain/events/treasury-events.ts';
import { amountOf, toTokenUnits } from '../domain/money.ts';
import type { MoveOrder } from '../ports/moves.ts';
import type { SignedBytes } from './chain-view.ts';
import { MAX_FEE_PER_GAS, MAX_GAS, TRANSFER_CALL } from './evm-view.ts';
import { solanaMoveBytes } from './solana-payout-bytes.ts';
import { MAX_LIFETIME_MS } from './tron-view.ts';
import { tronNativeBytes, tronPayoutBytes, type TronRaw } from './tron-payout-bytes.ts';
import type { Wallet } from './wallet.ts';

const SUN_DECIMALS = 6;

/** Why the draft is not the native transfer that was ordered; null when it is exactly that. */
export function nativeFault(draft: NativeDraft, order: MoveOrder): string | null {
  if (order.kind !== 'gas_top_up') return 'the draft moves another coin';
  if (draft.kind === 'evm-native') {
    if (BigInt(draft.value) !== amountOf(order.amount)) return 'the draft moves another amount';
    return BigInt(draft.gasLimit) > MAX_GAS || BigInt(draft.maxFeePerGas) > MAX_FEE_PER_GAS ? 'the draft could burn too much gas' : null;
  }
  if (BigInt(draft.sun) !== toTokenUnits(amountOf(order.amount), SUN_DECIMALS)) return 'the draft moves another amount';
  return draft.expirationMs - draft.timestampMs > MAX_LIFETIME_MS ? 'the draft lives too long' : null;
}

/** Signs exactly the draft, as the treasury or as the collection address that a sweep empties. */
export function signMove(draft: MoveDraft, order: MoveOrder, wallet: Wallet): Promise<SignedBytes> {
  switch (draft.kind) {
    case 'evm':
    case 'evm-native':
      return evmBytes(draft, order, wallet);
    case 'tron':
      return tronBytes(tronPayoutBytes(draft, order.fromAddress, order.toAddress), keyOf('tron', order, wallet));
    case 'tron-native':
      return tronBytes(tronNativeBytes(draft, order.fromAddress, order.toAddress), keyOf('tron', order, wallet));
    case 'solana':
      return solanaMoveBytes(draft, order, wallet);
  }
}

const keyOf = (family: 'evm' | 'tron', { kind, derivationIndex }: MoveOrder, wallet: Wallet): Uint8Array =>
  kind === 'sweep' ? wallet.collectionKey(family, derivationIndex!) : wallet.treasuryKey(family);

type EvmDraft = Extract<MoveDraft, { kind: 'evm' | 'evm-native' }>;

async function evmBytes(draft: EvmDraft, order: MoveOrder, wallet: Wallet): Promise<SignedBytes> {
  const { SigningKey, Transaction } = await import('ethers');
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
  transaction.signature = new SigningKey(keyOf('evm', order, wallet)).sign(transaction.unsignedHash);
  return { txHash: transaction.hash!, signedBytes: transaction.serialized };
}

function tokenCall({ tokenAddress, tokenUnits }: Extract<PayoutDraft, { kind: 'evm' }>, { toAddress }: MoveOrder) {
  const data = TRANSFER_CALL + toAddress.slice(2).toLowerCase().padStart(64, '0') + BigInt(tokenUnits).toString(16).padStart(64, '0');
  return { to: tokenAddress, value: 0n, data };
}

async function tronBytes({ rawHex, rawData, txId }: TronRaw, key: Uint8Array): Promise<SignedBytes> {
  const { SigningKey } = await import('ethers');
  const signature = new SigningKey(key).sign(`0x${txId}`).serialized.slice(2);
  const signedBytes = JSON.stringify({ visible: false, txID: txId, raw_data: rawData, raw_data_hex: rawHex, signature: [signature] });
  return { txHash: txId, signedBytes };
}
