import type * as Web3 from '@solana/web3.js';
import { base58 } from './base58.ts';
import { web3 } from './solana-web3.ts';

/** The classic SPL Token program; accepted coins are its mints, never those of Token-2022. */
export const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const ASSOCIATED_TOKEN_PROGRAM = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL';

/**
 * Instruction numbers in their programs (SPL Token `TokenInstruction`, SPL Associated Token Account
 * `AssociatedTokenAccountInstruction`).
 */
const TRANSFER_CHECKED = 12;
const CREATE_IDEMPOTENT = 1;

/** The account in which an owner receives a mint by convention (base58). Takes about a third of a millisecond. */
export function associatedTokenAccount(owner: string, mint: string): string {
  const { PublicKey } = web3();
  const seeds = [new PublicKey(owner), new PublicKey(TOKEN_PROGRAM), new PublicKey(mint)].map((key) => key.toBuffer());
  return PublicKey.findProgramAddressSync(seeds, new PublicKey(ASSOCIATED_TOKEN_PROGRAM))[0].toBase58();
}

const [TOKEN_ACCOUNT_BYTES, OWNER_AT, AMOUNT_AT, STATE_AT] = [165, 32, 64, 108];
/** Mints and multisigs, the program's other accounts. */
const OTHER_BYTES = [82, 355];
const [UNUSED, INITIALISED] = [0, 1];

export interface HeldTokens {
  readonly mint: string;
  readonly owner: string;
  readonly units: bigint;
  readonly isFrozen: boolean;
}

/**
 * What the data of an account under the token program says; null for a mint or a multisig, undefined for what the
 * program never wrote.
 */
export function heldIn(data: Buffer): HeldTokens | null | undefined {
  if (OTHER_BYTES.includes(data.length)) return null;
  if (data.length !== TOKEN_ACCOUNT_BYTES) return undefined;
  if (data[STATE_AT] === UNUSED) return null;
  return {
    mint: base58(data.subarray(0, OWNER_AT)),
    owner: base58(data.subarray(OWNER_AT, AMOUNT_AT)),
    units: data.readBigUInt64LE(AMOUNT_AT),
    isFrozen: data[STATE_AT] !== INITIALISED,
  };
}

/** As many as one transaction has room and computing time for. */
export const MOST_SWEPT_ACCOUNTS = 4;

/** Addresses are base58. */
export interface TokenTransfer {
  readonly mint: string;
  readonly fromOwner: string;
  readonly toOwner: string;
  /** In the mint's smallest unit. */
  readonly units: bigint;
  /** Decimals of the mint; the program refuses a wrong value. */
  readonly decimals: number;
  /** Pays the rent if the receiver has no account yet. */
  readonly rentPayer: string;
  /** Pays into this account of the receiver and creates none. */
  readonly toAccount?: string | undefined;
  /** Takes the units from these accounts of the sender instead of the associated one. */
  readonly fromAccounts?: readonly { readonly account: string; readonly units: bigint }[] | undefined;
}

/**
 * Creates the receiver's associated token account if it is missing and no account is named, then moves tokens. The
 * sender's owner signs the transfer, the rent payer the creation.
 */
export function tokenTransfer({
  mint,
  fromOwner,
  toOwner,
  units,
  decimals,
  rentPayer,
  toAccount,
  fromAccounts = [{ account: associatedTokenAccount(fromOwner, mint), units }],
}: TokenTransfer): Web3.TransactionInstruction[] {
  const { PublicKey, SystemProgram, TransactionInstruction } = web3();
  const to = toAccount ?? associatedTokenAccount(toOwner, mint);
  const make = new TransactionInstruction({
    programId: new PublicKey(ASSOCIATED_TOKEN_PROGRAM),
    keys: [
      signs(rentPayer, true),
      changes(to),
      reads(toOwner),
      reads(mint),
      reads(SystemProgram.programId.toBase58()),
      reads(TOKEN_PROGRAM),
    ],
    data: Buffer.from([CREATE_IDEMPOTENT]),
  });
  const moves = fromAccounts.map(({ account: from, units: part }) => {
    const data = Buffer.alloc(10);
    data.writeUInt8(TRANSFER_CHECKED, 0);
    data.writeBigUInt64LE(part, 1);
    data.writeUInt8(decimals, 9);
    return new TransactionInstruction({
      programId: new PublicKey(TOKEN_PROGRAM),
      keys: [changes(from), reads(mint), changes(to), signs(fromOwner, false)],
      data,
    });
  });
  return toAccount === undefined ? [make, ...moves] : moves;
}

/** The account that a signed transfer pays into; null for other transactions. */
export function receivingAccount(transaction: Uint8Array): string | null {
  try {
    const move = web3()
      .Transaction.from(transaction)
      .instructions.find(
        ({ programId, data }) => programId.toBase58() === TOKEN_PROGRAM && data[0] === TRANSFER_CHECKED,
      );
    return move?.keys[2]?.pubkey.toBase58() ?? null;
  } catch {
    return null;
  }
}

const account = (address: string, isSigner: boolean, isWritable: boolean): Web3.AccountMeta => ({
  pubkey: new (web3().PublicKey)(address),
  isSigner,
  isWritable,
});
const reads = (address: string): Web3.AccountMeta => account(address, false, false);
const changes = (address: string): Web3.AccountMeta => account(address, false, true);
const signs = (address: string, isWritable: boolean): Web3.AccountMeta => account(address, true, isWritable);
