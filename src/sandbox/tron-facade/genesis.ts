import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SigningKey, computeAddress } from 'ethers';
import type { Coin } from '../../domain/money/money.ts';
import artefacts from './contracts/sandbox-trc20.json' with { type: 'json' };
import { readArtifact } from '../contract-artifact.ts';
import type { EvmNode } from './evm-node.ts';
import { base58Of, tronAddressOf } from './tron-codec.ts';

/** What defines this chain; written once and kept. */
export interface FacadeGenesis {
  readonly seed: string;
  /** Private keys of the test payers in the order of `KEY_PAYERS`, hex. Worth nothing outside the sandbox. */
  readonly payerKeys: readonly [string, string, string, string];
}

export interface FacadeContracts {
  /** 41-hex addresses. */
  readonly tokens: Readonly<Record<Coin, string>>;
  readonly batchSender: string;
  /** The paying contract. */
  readonly wallet: string;
}

/** Owns the tokens; nobody holds its key, and the facade sends on its behalf. */
const ISSUER = '0x00000000000000000000000000000000155e4001';
const CREATION_GAS = 10_000_000n;
const PAYER_SUN = 1_000_000_000_000n;
const PAYER_TOKEN_UNITS = 1_000_000_000_000_000n;

export function loadGenesis(directory: string): FacadeGenesis {
  const file = join(directory, 'genesis.json');
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as FacadeGenesis;
  mkdirSync(directory, { recursive: true });
  const key = (): string => randomBytes(32).toString('hex');
  const genesis: FacadeGenesis = { seed: key(), payerKeys: [key(), key(), key(), key()] };
  writeFileSync(`${file}.new`, JSON.stringify(genesis), { mode: 0o600 });
  renameSync(`${file}.new`, file);
  return genesis;
}

/** Adds tokens and funded payers to an empty EVM. The same genesis always gives the same addresses. */
export async function foundChain(evm: EvmNode, genesis: FacadeGenesis): Promise<FacadeContracts> {
  const tether = await create(evm, artefacts.contracts.SandboxTrc20.bytecode + word(1n));
  const circle = await create(evm, artefacts.contracts.SandboxTrc20.bytecode + word(0n));
  const batchSender = await create(evm, artefacts.contracts.SandboxBatchSender.bytecode);
  const wallet = await create(evm, readArtifact('sandbox-contract-wallet').bytecode.slice(2));
  const payers = genesis.payerKeys.map(payerAddress);
  for (const payer of payers) await evm.setBalance(payer, PAYER_SUN);
  for (const payer of [...payers, wallet])
    for (const token of [tether, circle]) await mint(evm, token, payer, PAYER_TOKEN_UNITS);
  return {
    tokens: { USDT: tronAddressOf(tether), USDC: tronAddressOf(circle) },
    batchSender: tronAddressOf(batchSender),
    wallet: tronAddressOf(wallet),
  };
}

/** The EVM address of a private key. */
export const payerAddress = (privateKeyHex: string): string => computeAddress(new SigningKey(`0x${privateKeyHex}`));

export const payerBase58 = (privateKeyHex: string): string => base58Of(tronAddressOf(payerAddress(privateKeyHex)));

/** `mint(address,uint256)` on behalf of the issuer. */
async function mint(evm: EvmNode, token: string, to: string, units: bigint): Promise<void> {
  await asIssuer(evm, token, `0x40c10f19${to.slice(2).toLowerCase().padStart(64, '0')}${word(units)}`);
}

/** Calldata of `setBlackListed(address,bool)`: a frozen account cannot send. */
export const freezeCall = (account: string, frozen: boolean): string =>
  `0x5cd8c072${account.slice(2).toLowerCase().padStart(64, '0')}${word(frozen ? 1n : 0n)}`;

/** Calldata of `setPaused(bool)`: nobody can send. */
export const pauseCall = (paused: boolean): string => `0x16c38b3c${word(paused ? 1n : 0n)}`;

/** Calls a token on behalf of its issuer. */
export async function asIssuer(evm: EvmNode, token: string, data: string): Promise<void> {
  const outcome = await evm.execute({ from: ISSUER, to: token, data, value: 0n, executionGas: CREATION_GAS });
  if (!outcome.ok) throw new Error('the sandbox token refused its issuer');
}

async function create(evm: EvmNode, bytecode: string): Promise<string> {
  const outcome = await evm.execute({
    from: ISSUER,
    to: null,
    data: `0x${bytecode}`,
    value: 0n,
    executionGas: CREATION_GAS,
  });
  if (!outcome.ok || outcome.contractAddress === null) throw new Error('a sandbox contract was not created');
  return outcome.contractAddress;
}

const word = (value: bigint): string => value.toString(16).padStart(64, '0');
