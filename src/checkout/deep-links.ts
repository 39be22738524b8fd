import { decimalsOf } from '../domain/money/money.ts';
import type { PaymentOption } from '../domain/events/session-events.ts';

/** Settings for the links of one payment option. */
export interface DeepLinkSettings {
  /** The payment page of the session. */
  readonly pageUrl: string;
  /**
   * False on test networks and local chains: links that name no chain are omitted there, so that none moves real money.
   */
  readonly mainNetwork: boolean;
  /** Shown by wallets next to the amount. */
  readonly label?: string;
  readonly message?: string;
}

/** Link by wallet name. */
export type DeepLinks = Readonly<Record<string, string>>;

/** SLIP-44 coin types as Trust Wallet's asset ids use them (developer.trustwallet.com, "deep linking"). */
const TRUST_ASSET = { ethereum: 60, bsc: 20000714, tron: 195, solana: 501 } as const;
const TRON_MAIN_CHAIN_ID = '728126428';

/**
 * Links that open a wallet with the transfer filled in, or the payment page in the wallet's browser. `amount` is a
 * decimal string in units of the option's coin. Links that carry base units and links that carry decimals all name
 * exactly this amount.
 */
export function deepLinks(option: PaymentOption, amount: string, settings: DeepLinkSettings): DeepLinks {
  switch (option.network) {
    case 'ethereum':
    case 'bsc':
      return evmLinks(option, amount, settings);
    case 'tron':
      return tronLinks(option, amount, settings);
    case 'solana':
      return solanaLinks(option, amount, settings);
  }
}

function evmLinks(option: PaymentOption, amount: string, settings: DeepLinkSettings): DeepLinks {
  const units = baseUnits(amount, option.decimals);
  const transfer = `${option.tokenAddress}@${option.chainId}/transfer?address=${option.address}&uint256=${units}`;
  const links: Record<string, string> = {
    eip681: `ethereum:${transfer}`,
    metamask: `https://link.metamask.io/send/${transfer}`,
  };
  if (settings.mainNetwork) {
    links.trust = trustLink(option, amount);
    links.tokenpocket = tokenPocketLink(option, amount, settings);
  }
  if (opensOnAPhone(settings.pageUrl)) {
    links.coinbase = `https://go.cb-w.com/dapp?cb_url=${encodeURIComponent(settings.pageUrl)}`;
    links.imtoken = imTokenLink(settings.pageUrl);
  }
  return links;
}

function tronLinks(option: PaymentOption, amount: string, settings: DeepLinkSettings): DeepLinks {
  const links: Record<string, string> = {};
  if (settings.mainNetwork) {
    links.trust = trustLink(option, amount);
    links.tokenpocket = tokenPocketLink(option, amount, settings);
  }
  if (opensOnAPhone(settings.pageUrl)) {
    // A TronLink transfer link needs the payer's address first, so the link opens the page instead.
    const request = JSON.stringify({ url: settings.pageUrl, action: 'open', protocol: 'TronLink', version: '1.0' });
    links.tronlink = `tronlinkoutside://pull.activity?param=${encodeURIComponent(request)}`;
    links.imtoken = imTokenLink(settings.pageUrl);
  }
  return links;
}

function solanaLinks(option: PaymentOption, amount: string, settings: DeepLinkSettings): DeepLinks {
  const links: Record<string, string> = {};
  if (settings.mainNetwork) {
    links.solana_pay = solanaPayLink(option, amount, settings);
    links.trust = trustLink(option, amount);
  }
  if (opensOnAPhone(settings.pageUrl)) {
    const origin = encodeURIComponent(new URL(settings.pageUrl).origin);
    links.phantom = `https://phantom.app/ul/browse/${encodeURIComponent(settings.pageUrl)}?ref=${origin}`;
  }
  return links;
}

/** Solana Pay 1.0: the recipient is the owner, not its token account; the amount is decimal; spaces are %20. */
function solanaPayLink(option: PaymentOption, amount: string, settings: DeepLinkSettings): string {
  const parts = [`amount=${plainDecimal(amount)}`, `spl-token=${option.tokenAddress}`];
  if (option.reference !== undefined) parts.push(`reference=${option.reference}`);
  if (settings.label !== undefined) parts.push(`label=${encodeURIComponent(settings.label)}`);
  if (settings.message !== undefined) parts.push(`message=${encodeURIComponent(settings.message)}`);
  return `solana:${option.address}?${parts.join('&')}`;
}

function trustLink(option: PaymentOption, amount: string): string {
  return `https://link.trustwallet.com/send?asset=c${TRUST_ASSET[option.network]}_t${option.tokenAddress}&address=${option.address}&amount=${plainDecimal(amount)}`;
}

function tokenPocketLink(option: PaymentOption, amount: string, settings: DeepLinkSettings): string {
  const tron = option.network === 'tron';
  const chain = tron
    ? { chainId: TRON_MAIN_CHAIN_ID, network: 'tron' }
    : { chainId: option.chainId, network: 'ethereum' };
  const request = {
    protocol: 'TokenPocket',
    version: '2.0',
    dappName: settings.label ?? 'Pay',
    action: 'transfer',
    actionId: '1',
    blockchains: [chain],
    to: option.address,
    amount: plainDecimal(amount),
    contract: option.tokenAddress,
    symbol: option.coin,
    ...(tron ? { precision: option.decimals } : { decimal: option.decimals }),
  };
  return `tpoutside://pull.activity?param=${encodeURIComponent(JSON.stringify(request))}`;
}

const imTokenLink = (pageUrl: string): string => `imtokenv2://navigate/DappView?url=${encodeURIComponent(pageUrl)}`;

/** Wallets open only https pages, and a loopback address would refer to the phone itself. */
const opensOnAPhone = (pageUrl: string): boolean => pageUrl.startsWith('https://');

/** Without trailing zeros: `12.34` rather than `12.340000`. */
const plainDecimal = (amount: string): string => (amount.includes('.') ? amount.replace(/\.?0+$/, '') : amount);

/** The amount in the token's smallest units. Throws when the token cannot express it exactly. */
export function baseUnits(amount: string, decimals: number): string {
  const exact = plainDecimal(amount);
  const missing = decimals - decimalsOf(exact);
  if (missing < 0) throw new RangeError(`${exact} has more than ${decimals} decimals`);
  return (exact.replace('.', '') + '0'.repeat(missing)).replace(/^0+(?=\d)/, '');
}
