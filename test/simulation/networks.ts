import { getAddress } from 'ethers';
import { addressFamilyOf } from '../../src/domain/networks/networks.ts';
import { fromBase58 } from '../../src/chain-formats/base58.ts';
import { addressHexOf, base58Of } from '../../src/sandbox/tron-facade/tron-codec.ts';
import { MODEL_WALLET } from '../support/model-chains/model-chain.ts';
import type { ChainOptions, SimulatedChain } from './chain/simulated-chain.ts';
import type { SimulatedProvider } from './chain/simulated-provider.ts';
import { EvmChain } from './chain/evm-chain.ts';
import { EvmProvider } from './chain/evm-provider.ts';
import { addressNamed } from './chain/solana-addresses.ts';
import { SolanaChain } from './chain/solana-chain.ts';
import { SolanaProvider } from './chain/solana-provider.ts';
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
  solana: { USDT: addressNamed('mint of USDT'), USDC: addressNamed('mint of USDC'), spam: addressNamed('a mint') },
} as const satisfies Record<ModelledNetwork, object>;
export const TOKEN_DECIMALS = 6;
const KEY_BYTES = 32;

const GWEI = 10n ** 9n;
const CHAINS: Readonly<Record<ModelledNetwork, Omit<ChainOptions, 'name' | 'tokens'>>> = {
  ethereum: { chainId: '31337', blockSec: 12, finality: 64, usualPrice: 10n * GWEI, skips: 0 },
  bsc: { chainId: '31338', blockSec: 3, finality: 3, usualPrice: 10n * GWEI, skips: 0 },
  // 19 of 27 producers have built on a block; energy costs 100 sun.
  tron: { chainId: '728126428', blockSec: 3, finality: 19, usualPrice: 100n, skips: 0 },
  // A free place in a block costs no priority fee.
  solana: { chainId: addressNamed('genesis'), blockSec: 0.4, finality: 32, usualPrice: 0n, skips: 0.05 },
};

/** What a price of plans is worth: gwei, sun of energy, a thousand micro-lamports of a unit of computing. */
const PRICE_UNIT: Readonly<Record<ModelledNetwork, bigint>> = { ethereum: GWEI, bsc: GWEI, tron: 1n, solana: 1_000n };

/** A price as plans write it. */
export const priceOf = (network: ModelledNetwork, price: number): bigint => BigInt(price) * PRICE_UNIT[network];

/** Of the chain's own coin, for the fees of a whole run. */
export const GAS_FLOAT: Readonly<Record<ModelledNetwork, bigint>> = {
  ethereum: 10n ** 20n,
  bsc: 10n ** 20n,
  tron: 10n ** 11n,
  solana: 10n ** 11n,
};

export function openNetwork(
  name: ModelledNetwork,
  providers: number,
  { scheduler, prng, blockSec }: { readonly scheduler: Scheduler; readonly prng: Prng; readonly blockSec?: number },
): { readonly chain: SimulatedChain; readonly providers: readonly SimulatedProvider[] } {
  const { USDT, USDC } = TOKENS[name];
  const options = { name, ...CHAINS[name], ...(blockSec !== undefined && { blockSec }), tokens: [USDT, USDC] };
  const each = <Provider>(open: (prng: Prng) => Provider): Provider[] =>
    Array.from({ length: providers }, (_, number) => open(prng.fork(`provider ${number}`)));
  if (name === 'tron') {
    const chain = new TronChain(options, scheduler, prng);
    return { chain, providers: each((own) => new TronProvider(chain, own)) };
  }
  if (name === 'solana') {
    const chain = new SolanaChain(options, scheduler, prng);
    return { chain, providers: each((own) => new SolanaProvider(chain, own)) };
  }
  const chain = new EvmChain(options, scheduler, prng);
  return { chain, providers: each((own) => new EvmProvider(chain, own)) };
}

/** The account of an address in any form in which networks write one, as the models name it. */
export function accountOf(address: string): string {
  if (/^0x[0-9a-f]{40}$/i.test(address)) return address.toLowerCase();
  if (fromBase58(address)?.length === KEY_BYTES) return address;
  const hex = addressHexOf(address);
  if (hex === null) throw new Error(`no account has the address ${address}`);
  return accountOfHex(hex);
}

/** The form in which a network writes an account. */
export function addressOf(network: ModelledNetwork, account: string): string {
  if (network === 'solana') return account;
  return network === 'tron' ? base58Of(hexOfAccount(account)) : getAddress(account);
}

export const treasuryOn = (network: ModelledNetwork): string =>
  accountOf(MODEL_WALLET.treasury[addressFamilyOf(network)]);

/** Payers by their names, each with an account of its own. */
export const payerOn = (network: ModelledNetwork, payer: string): string =>
  network === 'solana' ? addressNamed(payer) : `0x${Buffer.from(payer.padEnd(20, '.')).toString('hex').slice(0, 40)}`;

/** Where a merchant wants to be paid. */
export const shopOn = (network: ModelledNetwork, merchant: number): string => payerOn(network, `shop ${merchant}`);
