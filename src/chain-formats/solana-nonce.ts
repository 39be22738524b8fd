import { hash } from 'node:crypto';
import type * as Web3 from '@solana/web3.js';
import { base58, fromBase58 } from './base58.ts';
import { web3 } from './solana-web3.ts';
import { must } from '../domain/values/must.ts';

/*
 * Durable nonces: a transaction that names the value stored in a nonce account instead of a recent blockhash, and
 * advances the account with its first instruction, is valid until that value is used. At most one of all transactions
 * naming the same value can land.
 */

const SYSTEM_PROGRAM = '11111111111111111111111111111111';
/** Size of `nonce::state::Versions` with an initialised `Current`. */
export const NONCE_ACCOUNT_BYTES = 80;
const [CURRENT_VERSION, INITIALISED] = [1, 1];
const [AUTHORITY_AT, NONCE_AT, FEE_AT] = [8, 40, 72];

/** Number of nonce accounts, and so of a treasury's transactions in flight. */
export const NONCE_ACCOUNTS = 8;

const seedOf = (index: number): string => `quittance nonce ${index}`;

/** The treasury's nonce account with this number, derived from its address. */
export function nonceAccountOf(treasury: string, index: number): string {
  return base58(
    hash(
      'sha256',
      Buffer.concat([must(fromBase58(treasury)), Buffer.from(seedOf(index)), must(fromBase58(SYSTEM_PROGRAM))]),
      'buffer',
    ),
  );
}

/** The value (base58) of a nonce account of this treasury; null for any other account. */
export function storedNonce(
  account: { readonly owner: string; readonly data: Uint8Array },
  treasury: string,
): string | null {
  const data = Buffer.from(account.data);
  if (account.owner !== SYSTEM_PROGRAM || data.length !== NONCE_ACCOUNT_BYTES) return null;
  if (data.readUInt32LE(0) !== CURRENT_VERSION || data.readUInt32LE(4) !== INITIALISED) return null;
  if (base58(data.subarray(AUTHORITY_AT, NONCE_AT)) !== treasury) return null;
  return base58(data.subarray(NONCE_AT, FEE_AT));
}

/** Must be a transaction's first instruction. */
export function advanceNonce(treasury: string, index: number): Web3.TransactionInstruction {
  const { PublicKey, SystemProgram } = web3();
  const [noncePubkey, authorizedPubkey] = [new PublicKey(nonceAccountOf(treasury, index)), new PublicKey(treasury)];
  return SystemProgram.nonceAdvance({ noncePubkey, authorizedPubkey });
}

/**
 * Creates the account. Its space can be allocated only once, so at most one of all transactions that do so lands.
 * `createAccount` in one step would fail forever after a stranger sent coin to the address.
 */
export function makeNonceAccount(treasury: string, index: number, lamports: bigint): Web3.TransactionInstruction[] {
  const { PublicKey, SystemProgram } = web3();
  const [noncePubkey, base] = [new PublicKey(nonceAccountOf(treasury, index)), new PublicKey(treasury)];
  return [
    SystemProgram.transfer({ fromPubkey: base, toPubkey: noncePubkey, lamports }),
    SystemProgram.allocate({
      ...{ accountPubkey: noncePubkey, basePubkey: base, seed: seedOf(index) },
      ...{ space: NONCE_ACCOUNT_BYTES, programId: SystemProgram.programId },
    }),
    SystemProgram.nonceInitialize({ noncePubkey, authorizedPubkey: base }),
  ];
}

/** The nonce account that this transaction advances first; null for other transactions. */
export function advancedBy(transaction: Uint8Array): string | null {
  const { PublicKey, SystemInstruction, SystemProgram, Transaction } = web3();
  try {
    const [first] = Transaction.from(transaction).instructions;
    if (
      !first?.programId.equals(SystemProgram.programId) ||
      SystemInstruction.decodeInstructionType(first) !== 'AdvanceNonceAccount'
    )
      return null;
    return new PublicKey(must(first.keys[0]).pubkey).toBase58();
  } catch {
    return null;
  }
}

/** A nonce account's data with another value. */
export function withNonce(data: Uint8Array, nonce: Uint8Array): Buffer {
  const changed = Buffer.from(data);
  changed.set(nonce, NONCE_AT);
  return changed;
}
