import { getAddress } from 'ethers';
import { addressHexOf, base58Of } from '../../src/sandbox/tron-facade/tron-codec.ts';
import { MODEL_WALLET } from '../support/model-chains/model-chain.ts';
import type { ChainOptions, SimulatedChain } from './chain/simulated-chain.ts';
import type { SimulatedProvider } from './chain/simulated-provider.ts';
import { EvmChain } from './chain/evm-chain.ts';
import { EvmProvider } from './chain/evm-provider.ts';
import { accountOfHex, hexOfAccount } from './chain/tron-block.ts';
import { TronChain } from './chain/tron-chain.ts';
import { TronProvider } from './chain/tron-provider.ts';
import type { ModelledNetwork } from './plan/plan.ts';
import type { Prng } from './time/prng.ts';
import type { Scheduler } from './time/scheduler.ts';

export const TOKENS = {
  ethereum: { USDT: `0x${'a1'.repeat(20)}`, USDC: `0x${'a2'.repeat(20)}`, spam: `0x${'ee'.repeat(20)}` },
  bsc: { USDT: `0x${'b1'.repeat(20)}`, USDC: `0x${'b2'.repeat(20)}`, spam: `0x${'ee'.repeat(20)}` },
  tron: { USDT: `0x${'c1'.repeat(20)}`, USDC: `0x${'c2'.repeat(20)}`, spam: `0x${'ee'.repeat(20)}` },
} as const satisfies Record<ModelledNetwork, object>;
export const TOKEN_DECIMALS = 6;

const GWEI = 10n ** 9n;
const CHAINS: Readonly<Record<ModelledNetwork, Omit<ChainOptions, 'name' | 'tokens'>>> = {
  ethereum: { chainId: '31337', blockSec: 12, finality: 64, usualPrice: 10n * GWEI },
  bsc: { chainId: '31338', blockSec: 3, finality: 3, usualPrice: 10n * GWEI },
  // 19 of 27 producers have built on a block; energy costs 100 sun.
  tron: { chainId: '728126428', blockSec: 3, finality: 19, usualPrice: 100n },
};

/** A price as plans write it. */
export const priceOf = (network: ModelledNetwork, price: number): bigint =>
  network === 'tron' ? BigInt(price) : BigInt(price) * GWEI;

/** Of the chain's own coin, for the fees of a whole run. */
export const GAS_FLOAT: Readonly<Record<ModelledNetwork, bigint>> = {
  ethereum: 10n ** 20n,
  bsc: 10n ** 20n,
  tron: 10n ** 11n,
};

export function openNetwork(
  name: ModelledNetwork,
  providers: number,
  { scheduler, prng }: { readonly scheduler: Scheduler; readonly prng: Prng },
): { readonly chain: SimulatedChain; readonly providers: readonly SimulatedProvider[] } {
  const { USDT, USDC } = TOKENS[name];
  const options = { name, ...CHAINS[name], tokens: [USDT, USDC] };
  const each = <Provider>(open: (prng: Prng) => Provider): Provider[] =>
    Array.from({ length: providers }, (_, number) => open(prng.fork(`provider ${number}`)));
  if (name === 'tron') {
    const chain = new TronChain(options, scheduler, prng);
    return { chain, providers: each((own) => new TronProvider(chain, own)) };
  }
  const chain = new EvmChain(options, scheduler, prng);
  return { chain, providers: each((own) => new EvmProvider(chain, own)) };
}

/** The account of an address in any form in which networks write one: 20 bytes in lower-case hex behind `0x`. */
export function accountOf(address: string): string {
  const hex = address.startsWith('T') ? addressHexOf(address) : null;
  if (hex !== null) return accountOfHex(hex);
  if (!/^0x[0-9a-f]{40}$/i.test(address)) throw new Error(`no account has the address ${address}`);
  return address.toLowerCase();
}

/** The form in which a network writes an account. */
export const addressOf = (network: ModelledNetwork, account: string): string =>
  network === 'tron' ? base58Of(hexOfAccount(account)) : getAddress(account);

export const treasuryOn = (network: ModelledNetwork): string =>
  accountOf(MODEL_WALLET.treasury[network === 'tron' ? 'tron' : 'evm']);
