import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Keypair } from '@solana/web3.js';
import { Wallet } from 'ethers';
import { startEvmSandboxChain } from '../../src/sandbox/evm-sandbox-chain.ts';
import { loadPayerKeys } from '../../src/sandbox/payer-keys.ts';
import type { SandboxChain } from '../../src/sandbox/chain.ts';
import { startSurfpool } from '../../src/sandbox/surfpool/start-surfpool.ts';
import { base58Of } from '../../src/sandbox/tron-facade/tron-codec.ts';
import { startTronFacade } from '../../src/sandbox/tron-facade/start-tron-facade.ts';
import type { KilledNetwork } from './crash-plans.ts';

/** Blocks come quickly, for the tests wait for many of them. */
const EVM_CADENCE = { busyMs: 120, idleMs: 500, busyBlocks: 24, blocksPerRun: 4_000 };
const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, fatal: () => {} };

/** One network's node in this process, as the sandbox starts it. */
export async function startLocalChain(network: KilledNetwork, directory: string): Promise<SandboxChain> {
  const started = await startedChain(network, directory);
  if ('reason' in started) throw new Error(started.reason);
  return started;
}

function startedChain(network: KilledNetwork, directory: string): ReturnType<typeof startEvmSandboxChain> {
  switch (network) {
    case 'ethereum':
    case 'bsc':
      return startEvmSandboxChain(network, {
        directory,
        payerKeys: loadPayerKeys(join(directory, 'payers.key')),
        log: SILENT,
        cadence: EVM_CADENCE,
      });
    case 'tron':
      return startTronFacade({ directory });
    case 'solana':
      return startSurfpool({ directory });
  }
}

/** An account that nobody used before. */
export function newAddress(network: KilledNetwork): string {
  if (network === 'solana') return Keypair.generate().publicKey.toBase58();
  return network === 'tron' ? base58Of(`41${randomBytes(20).toString('hex')}`) : Wallet.createRandom().address;
}
