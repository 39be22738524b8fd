import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The parts of a compiled contract that the sandbox needs; committed next to its source (`contracts/compile.ts`
 * generates it).
 */
export interface ContractArtifact {
  readonly contractName: string;
  readonly compiler: string;
  readonly abi: readonly unknown[];
  /** Creation code, hex with 0x. */
  readonly bytecode: string;
}

/** File name of each source and the contract in it. */
export const CONTRACT_SOURCES = {
  'sandbox-usdt': 'SandboxUsdt',
  'sandbox-usdc': 'SandboxUsdc',
  'sandbox-contract-wallet': 'SandboxContractWallet',
} as const;
export type ContractSource = keyof typeof CONTRACT_SOURCES;

export const artifactPath = (source: ContractSource): string =>
  join(import.meta.dirname, 'contracts', `${source}.json`);

export function readArtifact(source: ContractSource): ContractArtifact {
  return JSON.parse(readFileSync(artifactPath(source), 'utf8')) as ContractArtifact;
}
