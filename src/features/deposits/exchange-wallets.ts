import { addressFamilyOf, comparableAddress, NETWORKS, type Network } from '../../domain/networks/networks.ts';

/** Name of the exchange by address, per network; EVM addresses in lower case. */
export type ExchangeWallets = Readonly<Partial<Record<Network, Readonly<Record<string, string>>>>>;

/** The same accounts send on every EVM network. */
const ON_EVM = {
  '0x28c6c06298d514db089934071355e5743bf21d60': 'Binance',
  '0x21a31ee1afc51d94c2efccaa2092ad1028285549': 'Binance',
  '0xdfd5293d8e347dfe59e90efd55b2956a1343963d': 'Binance',
  '0xa9d1e08c7793af67e9d92fe308d5697fb81d3e43': 'Coinbase',
} as const;

/**
 * An initial list from public labels of block explorers. Exchanges add wallets all the time, so operators add those
 * that they meet (`EXCHANGE_WALLETS`). A wrong entry costs a question to the payer, never money.
 */
const KNOWN_EXCHANGE_WALLETS: ExchangeWallets = {
  ethereum: ON_EVM,
  bsc: ON_EVM,
  tron: { TAzsQ9Gx8eqFNFSKbeXrbi45CuVPHzA8wr: 'Binance', TYASr5UV6HEcXatwdFQfmLVUqQQQMUxHLS: 'Binance' },
};

/** Merges the operator's list into ours; the operator's entries win. */
export function withExchangeWallets(own: ExchangeWallets): ExchangeWallets {
  return Object.fromEntries(
    NETWORKS.map((network) => [
      network,
      { ...KNOWN_EXCHANGE_WALLETS[network], ...normal(network, own[network] ?? {}) },
    ]),
  );
}

/** The exchange's name, or null. */
export const exchangeOf = (wallets: ExchangeWallets, network: Network, address: string): string | null =>
  wallets[network]?.[spelling(network, address)] ?? null;

const normal = (network: Network, wallets: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(wallets).map(([address, name]) => [spelling(network, address), name]));

const spelling = (network: Network, address: string): string => comparableAddress(addressFamilyOf(network), address);
