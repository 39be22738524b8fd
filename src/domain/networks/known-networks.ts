import type { Mode } from '../values/ids.ts';
import type { Network, NetworkSettings } from './networks.ts';

/*
 * Main networks: chain ids, issuers' contracts and decimals as constants, since symbols and token lists cannot be
 * trusted. Sources: tether.to "supported protocols", developers.circle.com "USDC contract addresses", docs.bnbchain.org
 * (Binance-Peg tokens, 18 decimals), TRON and Solana documentation for chain id and genesis hash. Circle discontinued
 * USDC on TRON; a merchant must enable it.
 */

type Known = Omit<NetworkSettings, 'mode'>;

const main = { simulated: false, mainNetwork: true } as const;

const MAIN_NETWORKS: Readonly<Record<Network, Known>> = {
  ethereum: {
    ...main,
    network: 'ethereum',
    chainId: '1',
    tokens: [
      { coin: 'USDT', address: '0xdAC17F958D2ee523a2206206994597C13D831ec7', decimals: 6 },
      { coin: 'USDC', address: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', decimals: 6 },
    ],
    explorerTransactionUrl: 'https://etherscan.io/tx/{hash}',
  },
  bsc: {
    ...main,
    network: 'bsc',
    chainId: '56',
    tokens: [
      { coin: 'USDT', address: '0x55d398326f99059fF775485246999027B3197955', decimals: 18 },
      { coin: 'USDC', address: '0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d', decimals: 18 },
    ],
    explorerTransactionUrl: 'https://bscscan.com/tx/{hash}',
  },
  tron: {
    ...main,
    network: 'tron',
    chainId: '728126428',
    tokens: [
      { coin: 'USDT', address: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', decimals: 6 },
      { coin: 'USDC', address: 'TEkxiTehnzSmSe2XqrBj4w32RUN966rdz8', decimals: 6 },
    ],
    explorerTransactionUrl: 'https://tronscan.org/#/transaction/{hash}',
  },
  solana: {
    ...main,
    network: 'solana',
    chainId: '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d',
    tokens: [
      { coin: 'USDT', address: 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB', decimals: 6 },
      { coin: 'USDC', address: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', decimals: 6 },
    ],
    explorerTransactionUrl: 'https://solscan.io/tx/{hash}',
  },
};

const test = { simulated: false, mainNetwork: false } as const;

/**
 * Public test networks with the issuers' faucet tokens where they exist, mock tokens elsewhere. Mocks come and go:
 * `TEST_NETWORKS` replaces any of these settings.
 */
const TEST_NETWORKS: Readonly<Record<Network, Known>> = {
  ethereum: {
    ...test,
    network: 'ethereum',
    chainId: '11155111',
    tokens: [
      { coin: 'USDT', address: '0xaA8E23Fb1079EA71e0a56F48a2aA51851D8433D0', decimals: 6 },
      { coin: 'USDC', address: '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238', decimals: 6 },
    ],
    explorerTransactionUrl: 'https://sepolia.etherscan.io/tx/{hash}',
  },
  bsc: {
    ...test,
    network: 'bsc',
    chainId: '97',
    tokens: [
      { coin: 'USDT', address: '0x337610d27c682E347C9cD60BD4b3b107C9d34dDd', decimals: 18 },
      { coin: 'USDC', address: '0x64544969ed7EBf5f083679233325356EbE738930', decimals: 18 },
    ],
    explorerTransactionUrl: 'https://testnet.bscscan.com/tx/{hash}',
  },
  tron: {
    ...test,
    network: 'tron',
    chainId: '3448148188',
    tokens: [{ coin: 'USDT', address: 'TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf', decimals: 6 }],
    explorerTransactionUrl: 'https://nile.tronscan.org/#/transaction/{hash}',
  },
  solana: {
    ...test,
    network: 'solana',
    chainId: 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG',
    tokens: [{ coin: 'USDC', address: '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU', decimals: 6 }],
    explorerTransactionUrl: 'https://explorer.solana.com/tx/{hash}?cluster=devnet',
  },
};

/** The settings of a public network: the main network in live mode, a test network in test mode. */
export function knownNetwork(mode: Mode, network: Network): NetworkSettings {
  return { ...(mode === 'live' ? MAIN_NETWORKS : TEST_NETWORKS)[network], mode };
}
