import { createHash, createPrivateKey, createPublicKey, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Coin } from '../../domain/money/money.ts';
import { base58, fromBase58 } from '../../chain-formats/base58.ts';
import { TOKEN_PROGRAM } from '../../chain-formats/spl-token.ts';
import type { Surfnet } from './addon.ts';
import { must } from '../../domain/values/must.ts';

/** What all chains of one sandbox directory share, although each start creates a new chain. */
export interface SolanaGenesis {
  /** Ed25519 seeds of the test payers in the order of `KEY_PAYERS`, hex. Worth nothing outside the sandbox. */
  readonly payerSeeds: readonly [string, string, string, string];
  /** Base58. */
  readonly mints: Readonly<Record<Coin, string>>;
}

export const TOKEN_DECIMALS = 6;
/**
 * Off the curve, like all addresses that a program signs for, so nobody has its key (a program address of the Token
 * program, from `sandbox-contract-payer`).
 */
export const CONTRACT_PAYER = 'EoZg6NbrFtdMNNuSNEdrCr7PYbTk3oQeArixQDqaW7vK';
const MINT_LAMPORTS = 1_461_600;
const TOKEN_ACCOUNT_LAMPORTS = 2_039_280;
const PAYER_LAMPORTS = 1_000_000_000_000;
const PAYER_TOKEN_UNITS = 1_000_000_000_000_000;
/** PKCS #8 wrapping of a raw Ed25519 seed (RFC 8410). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

export function loadSolanaGenesis(directory: string): SolanaGenesis {
  const file = join(directory, 'genesis.json');
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as SolanaGenesis;
  mkdirSync(directory, { recursive: true });
  const seed = (): string => randomBytes(32).toString('hex');
  const genesis: SolanaGenesis = {
    payerSeeds: [seed(), seed(), seed(), seed()],
    mints: { USDT: base58(randomBytes(32)), USDC: base58(randomBytes(32)) },
  };
  writeFileSync(`${file}.new`, JSON.stringify(genesis), { mode: 0o600 });
  renameSync(`${file}.new`, file);
  return genesis;
}

/** Adds the two mints and the funded payers to a newly started chain. */
export function foundSolanaChain(net: Surfnet, genesis: SolanaGenesis): void {
  const authority = publicKeyOfSeed(genesis.payerSeeds[0]);
  const holders = BigInt(genesis.payerSeeds.length + 1);
  for (const mint of Object.values(genesis.mints)) {
    net.setAccount(mint, MINT_LAMPORTS, [...mintData(authority, BigInt(PAYER_TOKEN_UNITS) * holders)], TOKEN_PROGRAM);
    net.setAccount(
      contractTokenAccount(mint),
      TOKEN_ACCOUNT_LAMPORTS,
      [...contractAccountData(mint, authority)],
      TOKEN_PROGRAM,
    );
  }
  for (const seed of genesis.payerSeeds) {
    const payer = base58(publicKeyOfSeed(seed));
    net.fundSol(payer, PAYER_LAMPORTS);
    for (const mint of Object.values(genesis.mints)) net.setTokenBalance(payer, mint, PAYER_TOKEN_UNITS);
  }
}

export function publicKeyOfSeed(seedHex: string): Uint8Array {
  const key = createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, Buffer.from(seedHex, 'hex')]),
    format: 'der',
    type: 'pkcs8',
  });
  return createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32);
}

/**
 * A mint account of the SPL Token program, 82 bytes; the authority may mint and freeze, as the issuers of the real
 * coins can.
 */
function mintData(authority: Uint8Array, supply: bigint): Uint8Array {
  const data = Buffer.alloc(82);
  data.writeUInt32LE(1, 0);
  data.set(authority, 4);
  data.writeBigUInt64LE(supply, 36);
  data.writeUInt8(TOKEN_DECIMALS, 44);
  data.writeUInt8(1, 45);
  data.writeUInt32LE(1, 46);
  data.set(authority, 50);
  return data;
}

/** The contract's account for a mint. */
export const contractTokenAccount = (mint: string): string =>
  base58(createHash('sha256').update(`${CONTRACT_PAYER}/${mint}`).digest());

/**
 * A token account of the SPL Token program, 165 bytes: the contract owns it, and the delegate may spend from it as the
 * program would.
 */
function contractAccountData(mint: string, delegate: Uint8Array): Uint8Array {
  const data = Buffer.alloc(165);
  data.set(must(fromBase58(mint)), 0);
  data.set(must(fromBase58(CONTRACT_PAYER)), 32);
  data.writeBigUInt64LE(BigInt(PAYER_TOKEN_UNITS), 64);
  data.writeUInt32LE(1, 72);
  data.set(delegate, 76);
  data.writeUInt8(1, 108);
  data.writeBigUInt64LE(2n ** 64n - 1n, 121);
  return data;
}

/** 64 bytes: the seed and its public key, the secret key format of Solana libraries. */
export const secretKeyOfSeed = (seedHex: string): Uint8Array =>
  Buffer.concat([Buffer.from(seedHex, 'hex'), publicKeyOfSeed(seedHex)]);

/** True for the base58 form of 32 bytes. */
export const isPublicKey = (text: string): boolean => text.length <= 44 && fromBase58(text)?.length === 32;
