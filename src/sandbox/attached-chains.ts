import { readFileSync } from 'node:fs';
import type { NetworkSettings } from '../domain/networks/networks.ts';
import { SandboxPaymentFailed, type SandboxChain } from './chain.ts';
import type { SandboxStarters } from './chains.ts';

/** A local chain that another process runs. */
export interface AttachedChain {
  readonly settings: NetworkSettings;
  readonly rpcUrl: string;
  readonly genesis: string;
}

/** Chains that outlive this process, for tests that kill it: whoever runs them also stops them. */
export function attachedStarters(file: string): SandboxStarters {
  const chains = JSON.parse(readFileSync(file, 'utf8')) as readonly AttachedChain[];
  const foreign = chains.find(({ rpcUrl }) => new URL(rpcUrl).hostname !== '127.0.0.1');
  if (foreign) throw new Error(`${foreign.rpcUrl} is no chain of this machine`);
  return Object.fromEntries(chains.map((chain) => [chain.settings.network, () => Promise.resolve(sandboxOf(chain))]));
}

function sandboxOf({ settings, rpcUrl, genesis }: AttachedChain): SandboxChain & { readonly previousGenesis: null } {
  return {
    settings,
    rpcUrl,
    genesis,
    // A chain that keeps running when we stop is the same at every start.
    previousGenesis: null,
    faults: null,
    pay: () => Promise.reject(new SandboxPaymentFailed(`who runs the ${settings.network} chain pays on it`)),
    close: () => Promise.resolve(),
  };
}
