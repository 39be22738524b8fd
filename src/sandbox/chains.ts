import { join } from 'node:path';
import type { Network } from '../domain/networks/networks.ts';
import type { Log } from '../ports/log.ts';
import { startEvmSandboxChain } from './evm-sandbox-chain.ts';
import { loadPayerKeys, type PayerKeys } from './payer-keys.ts';
import {
  SandboxPaymentFailed,
  type SandboxChain,
  type SandboxChainUnavailable,
  type SandboxFaults,
  type SandboxPaid,
  type SandboxPayment,
} from './chain.ts';
import { messageOf } from '../runtime/util/message-of.ts';

export interface SandboxChainContext {
  /** The chain's own directory, the same at every start. */
  readonly directory: string;
  readonly payerKeys: PayerKeys;
  readonly log: Log;
}

/** Starts one network's chain, or says why it is unavailable. A rejection counts as unavailable, too. */
export type SandboxChainStarter = (context: SandboxChainContext) => Promise<SandboxChain | SandboxChainUnavailable>;

export type SandboxStarters = { readonly [network in Network]?: SandboxChainStarter };

/** The chains that need nothing else installed; the caller adds further networks. */
export const EVM_STARTERS: SandboxStarters = {
  ethereum: (context) => startEvmSandboxChain('ethereum', context),
  bsc: (context) => startEvmSandboxChain('bsc', context),
};

/** How a payment is made to go wrong; null pays normally. */
export type SandboxFault = keyof SandboxFaults;

export interface SandboxChains {
  /** The running chains. */
  readonly chains: readonly SandboxChain[];
  readonly unavailable: readonly SandboxChainUnavailable[];
  /** Whether payments on the network can be made to go wrong. */
  canFault(network: Network): boolean;
  /** Rejects with `SandboxPaymentFailed`, also when the network does not run or does not support the fault. */
  pay(network: Network, payment: SandboxPayment, fault?: SandboxFault): Promise<SandboxPaid>;
  close(): Promise<void>;
}

export interface SandboxChainsOptions {
  readonly dataDir: string;
  readonly log: Log;
  readonly starters?: SandboxStarters;
}

/**
 * Starts all chains at once. An unavailable one does not affect the others: it is listed in `unavailable`, never faked.
 */
export async function startSandboxChains({
  dataDir,
  log,
  starters = EVM_STARTERS,
}: SandboxChainsOptions): Promise<SandboxChains> {
  const payerKeys = loadPayerKeys(join(dataDir, 'chains', 'payers.key'));
  const started = await Promise.all(
    (Object.entries(starters) as [Network, SandboxChainStarter][]).map(([network, start]) =>
      tryToStart(network, start, { directory: join(dataDir, 'chains', network), payerKeys, log }),
    ),
  );
  const chains = started.filter((it) => 'rpcUrl' in it);
  const chainOf = (network: Network): SandboxChain | undefined =>
    chains.find(({ settings }) => settings.network === network);
  return {
    chains,
    unavailable: started.filter((it) => 'reason' in it),
    canFault: (network) => Boolean(chainOf(network)?.faults),
    pay: async (network, payment, fault) => {
      const chain = chainOf(network);
      if (!chain) throw new SandboxPaymentFailed(`${network} does not run in this sandbox`);
      if (fault === undefined) return chain.pay(payment);
      if (!chain.faults) throw new SandboxPaymentFailed(`payments on ${network} cannot be made to fail`);
      return chain.faults[fault](payment);
    },
    close: async () => {
      await Promise.all(chains.map((chain) => chain.close()));
    },
  };
}

async function tryToStart(
  network: Network,
  start: SandboxChainStarter,
  context: SandboxChainContext,
): Promise<SandboxChain | SandboxChainUnavailable> {
  try {
    const result = await start(context);
    if ('reason' in result) context.log.warn({ ...result }, 'a network of the sandbox is unavailable');
    return result;
  } catch (error) {
    const reason = messageOf(error);
    context.log.error({ network, reason }, 'a network of the sandbox could not be started');
    return { network, reason };
  }
}
