import type { Mode } from '../values/ids.ts';
import type { Coin } from '../money/money.ts';
import { oneOf } from '../values/one-of.ts';

export const NETWORKS = ['ethereum', 'bsc', 'tron', 'solana'] as const;
export type Network = (typeof NETWORKS)[number];

export const isNetwork = oneOf(NETWORKS);

/** Networks of one family share addresses: one EVM address serves Ethereum and BSC. */
export const ADDRESS_FAMILIES = ['evm', 'tron', 'solana'] as const;
export type AddressFamily = (typeof ADDRESS_FAMILIES)[number];

export function addressFamilyOf(network: Network): AddressFamily {
  return network === 'ethereum' || network === 'bsc' ? 'evm' : network;
}

/** A comparable form of an address: EVM addresses ignore letter case, the others do not. */
export const comparableAddress = (family: AddressFamily, address: string): string =>
  family === 'evm' ? address.toLowerCase() : address;

/** The coin fees are paid in. */
export const NATIVE_COIN = { ethereum: 'ETH', bsc: 'BNB', tron: 'TRX', solana: 'SOL' } as const satisfies Record<
  Network,
  string
>;
export type NativeCoin = (typeof NATIVE_COIN)[Network];
export const NATIVE_DECIMALS: Readonly<Record<Network, number>> = { ethereum: 18, bsc: 18, tron: 6, solana: 9 };

/** A token contract (or mint) that counts as the coin. Nothing else ever counts, whatever its symbol. */
export interface Token {
  readonly coin: Coin;
  /** EVM: checksummed hex. TRON: base58. Solana: the mint in base58. */
  readonly address: string;
  readonly decimals: number;
}

/** One chain as this installation uses it; test mode and live mode each have their own. */
export interface NetworkSettings {
  readonly network: Network;
  readonly mode: Mode;
  /** EVM and TRON: the decimal chain id. Solana: the genesis hash. */
  readonly chainId: string;
  readonly tokens: readonly Token[];
  /**
   * True for the sandbox's simulated chains, which do not run the real node software; shown wherever the network is
   * shown.
   */
  readonly simulated: boolean;
  /** Wallet links that only know main networks are left out elsewhere, so that a test page never moves real money. */
  readonly mainNetwork: boolean;
  /** Public explorer with `{hash}` for the transaction; null where there is none (local chains). */
  readonly explorerTransactionUrl: string | null;
  /** Set where it differs from the main network's. */
  readonly usualFinality?: UsualFinality;
}

/** How long a payment usually waits until its block is final; shown to payers as "about", never used as a rule. */
export interface UsualFinality {
  readonly blocks: number;
  readonly seconds: number;
}

/** Ethereum: two epochs and the one in progress. BSC: fast finality. TRON: 19 of 27 producers. Solana: 32 slots. */
const USUAL_FINALITY: Readonly<Record<Network, UsualFinality>> = {
  ethereum: { blocks: 75, seconds: 900 },
  bsc: { blocks: 3, seconds: 2 },
  tron: { blocks: 20, seconds: 60 },
  solana: { blocks: 32, seconds: 13 },
};

export const usualFinalityOf = (network: Network, settings: NetworkSettings | undefined): UsualFinality =>
  settings?.usualFinality ?? USUAL_FINALITY[network];

export function tokenOf(settings: NetworkSettings, coin: Coin): Token | undefined {
  return settings.tokens.find((token) => token.coin === coin);
}
