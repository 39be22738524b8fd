import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deepLinks, type DeepLinkSettings } from '../../src/checkout/deep-links.ts';
import type { PaymentOption } from '../../src/domain/events/session-events.ts';
import { amountOf, formatAmount, fromTokenUnits } from '../../src/domain/money/money.ts';
import { NETWORKS, type Network } from '../../src/domain/networks/networks.ts';

/*
 * Every link that names an amount must lead back to exactly the units of the session, whichever notation the wallet
 * reads.
 */

const DECIMALS: Readonly<Record<Network, number>> = { ethereum: 6, bsc: 18, tron: 6, solana: 6 };
const CHAIN: Readonly<Record<Network, string>> = {
  ethereum: '1',
  bsc: '56',
  tron: '728126428',
  solana: '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d',
};
const TOKEN: Readonly<Record<Network, string>> = {
  ethereum: '0xdAC17F958D2ee523a2206206994597C13D831ec7',
  bsc: '0x55d398326f99059fF775485246999027B3197955',
  tron: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
  solana: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
};
const ADDRESS: Readonly<Record<Network, string>> = {
  ethereum: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  bsc: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  tron: 'TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6',
  solana: 'oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96',
};

const optionOn = (network: Network): PaymentOption => ({
  network,
  coin: network === 'solana' ? 'USDC' : 'USDT',
  tokenAddress: TOKEN[network],
  decimals: DECIMALS[network],
  chainId: CHAIN[network],
  address: ADDRESS[network],
  derivationIndex: 0,
  ...(network === 'solana' && { reference: '4fYNw3dojWmQ4dXtSGE9epjRGy9pFSx62YypT7avPYvA' }),
  finality: { kind: 'finalized' },
});

/** Amounts that the network's token can express, written with at least two decimals as sessions do. */
const amounts = (network: Network): fc.Arbitrary<string> =>
  fc
    .bigInt({ min: 1n, max: 10n ** BigInt(DECIMALS[network] + 11) })
    .map((units) => formatAmount(fromTokenUnits(units, DECIMALS[network])));

const settings: DeepLinkSettings = {
  pageUrl: 'https://pay.example/pay/cs_1',
  mainNetwork: true,
  label: 'Shop & more',
  message: 'Order 10/42',
};

interface Named {
  readonly address: string;
  readonly token: string;
  /** In 10^-18 units of the coin. */
  readonly units: bigint;
}

/** What a wallet understands from the link, by its documented grammar; null for links that only open the page. */
function understood(wallet: string, link: string, network: Network): Named | null {
  const ofBase = (units: string): bigint => fromTokenUnits(BigInt(units), DECIMALS[network]);
  switch (wallet) {
    case 'eip681':
    case 'metamask': {
      const match =
        /^(?:ethereum:|https:\/\/link\.metamask\.io\/send\/)(0x\w+)@(\d+)\/transfer\?address=(0x\w+)&uint256=(\d+)$/.exec(
          link,
        )!;
      expect(match[2]).toBe(CHAIN[network]);
      return { token: match[1]!, address: match[3]!, units: ofBase(match[4]!) };
    }
    case 'trust': {
      const query = new URL(link).searchParams;
      return {
        token: query.get('asset')!.split('_t')[1]!,
        address: query.get('address')!,
        units: amountOf(query.get('amount')!),
      };
    }
    case 'tokenpocket': {
      const request = JSON.parse(new URL(link).searchParams.get('param')!) as {
        to: string;
        amount: string;
        contract: string;
        decimal?: number;
        precision?: number;
      };
      expect(request.decimal ?? request.precision).toBe(DECIMALS[network]);
      return { token: request.contract, address: request.to, units: amountOf(request.amount) };
    }
    case 'solana_pay': {
      const url = new URL(link);
      expect(link).not.toContain('+');
      return {
        token: url.searchParams.get('spl-token')!,
        address: url.pathname,
        units: amountOf(url.searchParams.get('amount')!),
      };
    }
    default:
      return null;
  }
}

describe('wallet links', () => {
  it.each(NETWORKS)('on %s lead back to the exact units, the token and the address', (network) => {
    fc.assert(
      fc.property(amounts(network), (amount) => {
        const links = Object.entries(deepLinks(optionOn(network), amount, settings));
        const named = links
          .map(([wallet, link]) => understood(wallet, link, network))
          .filter((found) => found !== null);
        expect(named.length).toBeGreaterThan(0);
        for (const found of named)
          expect(found).toEqual({ token: TOKEN[network], address: ADDRESS[network], units: amountOf(amount) });
      }),
    );
  });

  it('that only open the page open exactly the page', () => {
    for (const network of NETWORKS) {
      const links = deepLinks(optionOn(network), '12.34', settings);
      for (const [wallet, link] of Object.entries(links)) {
        if (understood(wallet, link, network) !== null) continue;
        expect(decodeURIComponent(link)).toContain(settings.pageUrl);
      }
    }
  });

  it('that name no chain are left out on test networks, so that none moves real money', () => {
    for (const network of NETWORKS) {
      const links = deepLinks(optionOn(network), '12.34', { ...settings, mainNetwork: false });
      expect(Object.keys(links).filter((wallet) => ['trust', 'tokenpocket', 'solana_pay'].includes(wallet))).toEqual(
        [],
      );
    }
  });

  it('refuse an amount that the token cannot express', () => {
    expect(() => deepLinks(optionOn('ethereum'), '1.0000001', settings)).toThrow(RangeError);
  });

  it('are those of the published examples', () => {
    expect(deepLinks(optionOn('ethereum'), '12.34', settings).eip681).toBe(
      'ethereum:0xdAC17F958D2ee523a2206206994597C13D831ec7@1/transfer?address=0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266&uint256=12340000',
    );
    expect(deepLinks(optionOn('bsc'), '12.34', settings).trust).toBe(
      'https://link.trustwallet.com/send?asset=c20000714_t0x55d398326f99059fF775485246999027B3197955&address=0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266&amount=12.34',
    );
    expect(deepLinks(optionOn('tron'), '12.34', settings).trust).toBe(
      'https://link.trustwallet.com/send?asset=c195_tTR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t&address=TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6&amount=12.34',
    );
  });
});
