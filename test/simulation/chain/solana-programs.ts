import { base58 } from '../../../src/chain-formats/base58.ts';
import {
  ASSOCIATED_TOKEN_PROGRAM,
  bytesOf,
  COMPUTE_BUDGET_PROGRAM,
  MEMO_PROGRAM,
  seededAddress,
  SYSTEM_PROGRAM,
  TOKEN_PROGRAM,
  tokenAccountOf,
} from './solana-addresses.ts';
import type { Instruction, Message } from './solana-message.ts';

/** Places of instructions in their programs. */
export const SYSTEM = { transfer: 2, advanceNonce: 4, initializeNonce: 6, allocateWithSeed: 9 } as const;
export const TOKEN = { transfer: 3, setAuthority: 6, transferChecked: 12 } as const;
const DECIMALS = 6;
const NONCE_BYTES = 80;
export const TOKEN_ACCOUNT_BYTES = 165;

/** By the names of Agave and of the token program; what is not named is a number of the program's own. */
type Failure = string | { readonly Custom: number };
const [ALREADY_IN_USE, NO_LAMPORTS, SEED_MISMATCH] = [{ Custom: 0 }, { Custom: 1 }, { Custom: 5 }];
const [NO_FUNDS, MINT_MISMATCH, OWNER_MISMATCH, FROZEN] = [{ Custom: 1 }, { Custom: 3 }, { Custom: 4 }, { Custom: 17 }];

/** A transaction without an effect, by what `meta.err` says. */
export class Failed extends Error {
  readonly err: unknown;

  constructor(err: unknown) {
    super(JSON.stringify(err));
    this.err = err;
  }
}

export interface TokenAccount {
  readonly owner: string;
  readonly mint: string;
}

/** What instructions read and change. */
export interface State {
  get(key: string): bigint;
  set(key: string, value: bigint): void;
  /** Whose account this is or would be; null for one of another kind. */
  readonly tokenAccountAt: (address: string) => TokenAccount | null;
  /** With what it holds. */
  readonly handOver: (address: string, owner: string) => void;
  readonly isFrozen: (owner: string) => boolean;
  /** What nonce accounts that are advanced in this block hold then. */
  readonly nextNonce: bigint;
}

export const lamportsKey = (address: string): string => `native/${address}`;
export const tokensKey = ({ mint, owner }: TokenAccount): string => `${mint}/${owner}`;
export const nonceKey = (address: string): string => `nonce/${address}`;
export const authorityKey = (address: string): string => `authority/${address}`;
export const spaceKey = (address: string): string => `space/${address}`;

/** What an account of so many bytes holds at least. */
export const rentOf = (bytes: number): bigint => (128n + BigInt(bytes)) * 6_960n;
export const numberOf = (address: string): bigint => BigInt(`0x${Buffer.from(bytesOf(address)).toString('hex')}`);

/** All of it or nothing: throws `Failed` and leaves a state that must not be kept. */
export function runAll({ keys, signers, instructions }: Message, state: State): void {
  const signed = new Set(keys.slice(0, signers));
  const before = new Map(keys.map((key) => [key, state.get(lamportsKey(key))]));
  instructions.forEach((instruction, index) => {
    const failure = runOne(instruction, signed, state);
    if (failure !== null) throw new Failed({ InstructionError: [index, failure] });
  });
  for (const [index, key] of keys.entries()) {
    const lamports = state.get(lamportsKey(key));
    const least = rentOf(state.tokenAccountAt(key) ? TOKEN_ACCOUNT_BYTES : Number(state.get(spaceKey(key))));
    if (lamports !== before.get(key) && lamports > 0n && lamports < least)
      throw new Failed({ InsufficientFundsForRent: { account_index: index } });
  }
}

function runOne(instruction: Instruction, signed: ReadonlySet<string>, state: State): Failure | null {
  switch (instruction.program) {
    case SYSTEM_PROGRAM:
      return runSystem(instruction, signed, state);
    case TOKEN_PROGRAM:
      return runToken(instruction, signed, state);
    case ASSOCIATED_TOKEN_PROGRAM:
      return createTokenAccount(instruction, signed, state);
    case COMPUTE_BUDGET_PROGRAM:
    case MEMO_PROGRAM:
      return null;
    default:
      throw new Error(`this model has no program ${instruction.program}`);
  }
}

function runSystem({ accounts, data }: Instruction, signed: ReadonlySet<string>, state: State): Failure | null {
  const bytes = Buffer.from(data);
  const [first, second] = accounts;
  switch (bytes.readUInt32LE(0)) {
    case SYSTEM.transfer:
      return signed.has(first!)
        ? moveLamports(first!, second!, bytes.readBigUInt64LE(4), state)
        : 'MissingRequiredSignature';
    case SYSTEM.advanceNonce:
      // Accounts are the nonce's, a sysvar and whoever may.
      if (!signed.has(accounts[2]!) || state.get(authorityKey(first!)) !== numberOf(accounts[2]!))
        return 'MissingRequiredSignature';
      state.set(nonceKey(first!), state.nextNonce);
      return null;
    case SYSTEM.initializeNonce:
      if (state.get(spaceKey(first!)) !== BigInt(NONCE_BYTES) || state.get(nonceKey(first!)) !== 0n)
        return 'InvalidAccountData';
      if (state.get(lamportsKey(first!)) < rentOf(NONCE_BYTES)) return 'InsufficientFunds';
      state.set(nonceKey(first!), state.nextNonce);
      state.set(authorityKey(first!), BigInt(`0x${bytes.subarray(4, 36).toString('hex')}`));
      return null;
    case SYSTEM.allocateWithSeed:
      return allocate(first!, second!, bytes, signed, state);
    default:
      throw new Error(`this model has no system instruction ${bytes.readUInt32LE(0)}`);
  }
}

/** Data: base, length and text of the seed, space, owner. */
function allocate(
  address: string,
  base: string,
  bytes: Buffer,
  signed: ReadonlySet<string>,
  state: State,
): Failure | null {
  const seedEnd = 44 + Number(bytes.readBigUInt64LE(36));
  if (!signed.has(base)) return 'MissingRequiredSignature';
  if (seededAddress(base, bytes.subarray(44, seedEnd), SYSTEM_PROGRAM) !== address) return SEED_MISMATCH;
  if (state.get(spaceKey(address)) > 0n) return ALREADY_IN_USE;
  state.set(spaceKey(address), bytes.readBigUInt64LE(seedEnd));
  return null;
}

function runToken({ accounts, data }: Instruction, signed: ReadonlySet<string>, state: State): Failure | null {
  const bytes = Buffer.from(data);
  const kind = bytes[0];
  if (kind === TOKEN.setAuthority) return handOver(accounts, bytes, signed, state);
  if (kind !== TOKEN.transfer && kind !== TOKEN.transferChecked)
    throw new Error(`this model has no token instruction ${kind}`);
  const isChecked = kind === TOKEN.transferChecked;
  const [from, to, owner] = isChecked ? [accounts[0]!, accounts[2]!, accounts[3]!] : accounts;
  const [source, target] = [openAt(from!, state), openAt(to!, state)];
  if (source === null || target === null) return 'InvalidAccountData';
  if (state.isFrozen(source.owner) || state.isFrozen(target.owner)) return FROZEN;
  if (source.mint !== target.mint || (isChecked && (accounts[1] !== source.mint || bytes[9] !== DECIMALS)))
    return MINT_MISMATCH;
  if (source.owner !== owner) return OWNER_MISMATCH;
  if (!signed.has(owner)) return 'MissingRequiredSignature';
  return moveTokens(source, target, bytes.readBigUInt64LE(1), state);
}

/** Accounts: the one that is handed over, and its owner. Data: the kind of authority, and who has it from now on. */
function handOver(
  [address, owner]: readonly string[],
  bytes: Buffer,
  signed: ReadonlySet<string>,
  state: State,
): Failure | null {
  const account = openAt(address!, state);
  if (account === null) return 'InvalidAccountData';
  if (account.owner !== owner) return OWNER_MISMATCH;
  if (!signed.has(owner)) return 'MissingRequiredSignature';
  state.handOver(address!, base58(bytes.subarray(3, 35)));
  return null;
}

function moveTokens(source: TokenAccount, target: TokenAccount, units: bigint, state: State): Failure | null {
  const held = state.get(tokensKey(source));
  if (held < units) return NO_FUNDS;
  state.set(tokensKey(source), held - units);
  state.set(tokensKey(target), state.get(tokensKey(target)) + units);
  return null;
}

function moveLamports(from: string, to: string, lamports: bigint, state: State): Failure | null {
  const held = state.get(lamportsKey(from));
  if (held < lamports) return NO_LAMPORTS;
  state.set(lamportsKey(from), held - lamports);
  state.set(lamportsKey(to), state.get(lamportsKey(to)) + lamports);
  return null;
}

/** Accounts: who pays the rent, the account to be, its owner, its token, two programs. */
function createTokenAccount(
  { accounts, data }: Instruction,
  signed: ReadonlySet<string>,
  state: State,
): Failure | null {
  const [payer, address, owner, mint] = accounts as readonly [string, string, string, string];
  if (tokenAccountOf(owner, mint) !== address) return 'InvalidSeeds';
  if (openAt(address, state)) return data[0] === 1 ? null : 'IllegalOwner';
  if (!signed.has(payer)) return 'MissingRequiredSignature';
  const lack = rentOf(TOKEN_ACCOUNT_BYTES) - state.get(lamportsKey(address));
  return lack > 0n ? moveLamports(payer, address, lack, state) : null;
}

/** Null for an account that was not made yet. */
const openAt = (address: string, state: State): TokenAccount | null => {
  const account = state.tokenAccountAt(address);
  return account && state.get(lamportsKey(address)) >= rentOf(TOKEN_ACCOUNT_BYTES) ? account : null;
};
