import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deepLinks } from '../../src/checkout/deep-links.ts';
import type { PaymentOption } from '../../src/domain/events/session-events.ts';
import { amountOf, formatAmount, fromTokenUnits, toTokenUnits } from '../../src/domain/money/money.ts';
import type { Network } from '../../src/domain/networks/networks.ts';

const EVM = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266';
const OPTIONS: Readonly<Record<Network, PaymentOption>> = {
  ethereum: option('ethereum', '0xdAC17F958D2ee523a2206206994597C13D831ec7', EVM, 6, '1'),
  bsc: option('bsc', '0x55d398326f99059fF775485246999027B3197955', EVM, 18, '56'),
  tron: option('tron', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', 'TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6', 6, '728126428'),
  solana: option(
    'solana',
    'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
    'oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96',
    6,
    'genesis',
  ),
};

function option(
  network: Network,
  tokenAddress: string,
  address: string,
  decimals: number,
  chainId: string,
): PaymentOption {
  return {
    network,
    coin: network === 'solana' ? 'USDC' : 'USDT',
    tokenAddress,
    address,
    decimals,
    chainId,
    derivationIndex: 1,
    finality: { kind: 'finalized' },
  };
}

const PAGE = 'https://pay.example/pay/sess_1';
const MAIN = { pageUrl: PAGE, mainNetwork: true, label: 'Shop', message: 'Order 1042' };

/** Amount and recipient that a wallet reads from the link, in 10^-18 units; null when the link only opens the page. */
function readByWallet(
  name: string,
  link: string,
  network: Network,
): { units: bigint; to: string; token: string } | null {
  const { decimals } = OPTIONS[network];
  if (name === 'eip681' || name === 'metamask') {
    const match = /(0x\w+)@(\d+)\/transfer\?address=(0x\w+)&uint256=(\d+)$/.exec(link)!;
    return { token: match[1]!, to: match[3]!, units: fromTokenUnits(BigInt(match[4]!), decimals) };
  }
  if (name === 'trust') {
    const query = new URL(link).searchParams;
    return {
      token: query.get('asset')!.split('_t')[1]!,
      to: query.get('address')!,
      units: amountOf(query.get('amount')!),
    };
  }
  if (name === 'tokenpocket') {
    const request = JSON.parse(new URL(link).searchParams.get('param')!) as {
      to: string;
      amount: string;
      contract: string;
    };
    return { token: request.contract, to: request.to, units: amountOf(request.amount) };
  }
  if (name === 'solana_pay') {
    const url = new URL(link);
    return {
      token: url.searchParams.get('spl-token')!,
      to: url.pathname,
      units: amountOf(url.searchParams.get('amount')!),
    };
  }
  return null;
}

const amount = fc
  .tuple(
    fc.bigInt({ min: 0n, max: 10n ** 12n - 1n }),
    fc.integer({ min: 0, max: 6 }),
    fc.bigInt({ min: 0n, max: 999_999n }),
  )
  .map(([whole, decimals, fraction]) =>
    decimals === 0 ? `${whole}` : `${whole}.${fraction.toString().padStart(6, '0').slice(0, decimals)}`,
  );

describe('deep links', () => {
  it.each(Object.keys(OPTIONS) as Network[])('on %s carry the exact amount, the address and the token', (network) => {
    fc.assert(
      fc.property(amount, (given) => {
        const links = deepLinks(OPTIONS[network], given, MAIN);
        const read = Object.entries(links).map(([name, link]) => readByWallet(name, link, network));
        expect(read.filter((transfer) => transfer !== null).length).toBeGreaterThan(0);
        for (const transfer of read) {
          if (transfer)
            expect(transfer).toEqual({
              units: amountOf(given),
              to: OPTIONS[network].address,
              token: OPTIONS[network].tokenAddress,
            });
        }
      }),
    );
  });

  it('write base units as the domain does', () => {
    fc.assert(
      fc.property(amount, (given) => {
        const units = (network: Network) => deepLinks(OPTIONS[network], given, MAIN).eip681!.split('uint256=')[1];
        expect(units('ethereum')).toBe(toTokenUnits(amountOf(given), 6).toString());
        expect(units('bsc')).toBe(toTokenUnits(amountOf(given), 18).toString());
        expect(new URL(deepLinks(OPTIONS.solana, given, MAIN).solana_pay!).searchParams.get('amount')).toBe(
          formatAmount(amountOf(given), 0),
        );
      }),
    );
  });

  it('write the published examples', () => {
    expect(deepLinks(OPTIONS.bsc, '12.34', MAIN)).toMatchObject({
      eip681:
        'ethereum:0x55d398326f99059fF775485246999027B3197955@56/transfer?address=0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266&uint256=12340000000000000000',
      trust:
        'https://link.trustwallet.com/send?asset=c20000714_t0x55d398326f99059fF775485246999027B3197955&address=0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266&amount=12.34',
      coinbase: 'https://go.cb-w.com/dapp?cb_url=https%3A%2F%2Fpay.example%2Fpay%2Fsess_1',
    });
    expect(deepLinks(OPTIONS.tron, '12.340000', MAIN)).toMatchObject({
      trust:
        'https://link.trustwallet.com/send?asset=c195_tTR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t&address=TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6&amount=12.34',
      tronlink:
        'tronlinkoutside://pull.activity?param=%7B%22url%22%3A%22https%3A%2F%2Fpay.example%2Fpay%2Fsess_1%22%2C%22action%22%3A%22open%22%2C%22protocol%22%3A%22TronLink%22%2C%22version%22%3A%221.0%22%7D',
      imtoken: 'imtokenv2://navigate/DappView?url=https%3A%2F%2Fpay.example%2Fpay%2Fsess_1',
    });
    expect(deepLinks(OPTIONS.solana, '12.34', MAIN)).toMatchObject({
      solana_pay:
        'solana:oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96?amount=12.34&spl-token=EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v&label=Shop&message=Order%201042',
      phantom: 'https://phantom.app/ul/browse/https%3A%2F%2Fpay.example%2Fpay%2Fsess_1?ref=https%3A%2F%2Fpay.example',
    });
  });

  it('leave out, away from main networks, every link that names no chain and could move real money', () => {
    const local = { pageUrl: 'http://127.0.0.1:8080/pay/cs_1', mainNetwork: false };
    expect(Object.keys(deepLinks({ ...OPTIONS.ethereum, chainId: '31337' }, '1.00', local))).toEqual([
      'eip681',
      'metamask',
    ]);
    expect(deepLinks({ ...OPTIONS.ethereum, chainId: '31337' }, '1.00', local).eip681).toContain('@31337/');
    expect(deepLinks(OPTIONS.tron, '1.00', local)).toEqual({});
    expect(deepLinks(OPTIONS.solana, '1.00', local)).toEqual({});
  });

  it('refuse an amount that the token cannot express', () => {
    expect(() => deepLinks(OPTIONS.ethereum, '1.0000001', MAIN)).toThrow(RangeError);
  });
});
