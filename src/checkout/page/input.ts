import type { PaymentOption } from '../../domain/events/session-events.ts';
import type { SessionId } from '../../domain/values/ids.ts';
import type { Coin } from '../../domain/money/money.ts';
import type { Network, UsualFinality } from '../../domain/networks/networks.ts';
import type { ShopFacts } from '../../features/shared/merchant-api.ts';
import type { SessionView } from '../../features/shared/views.ts';
import type { PageStatus } from './model.ts';
import type { Speech } from '../speech.ts';

/** Everything one rendering of the page needs. */
export interface PageInput {
  /** In the coin that the payer has selected, as long as it can be chosen. */
  readonly session: SessionView;
  /** The coin named in the page's URL, whether or not it can still be chosen; null when it names none. */
  readonly coin: Coin | null;
  readonly status: PageStatus;
  readonly speech: Speech;
  readonly shop: ShopFacts;
  /** Wallet links by wallet name for an amount (decimal string), per option. */
  readonly linksOf: (option: PaymentOption, amount: string) => Readonly<Record<string, string>>;
  /** Networks with a simulated chain. */
  readonly simulated: ReadonlySet<Network>;
  /** Shows the test wallet. */
  readonly sandbox: boolean;
  readonly testMode: boolean;
  readonly nowMs: number;
  /** The origin of the shop that shows the page in a frame or popup; null for the standalone page. */
  readonly embeddedBy: string | null;
  /** URL of an asset, including its version. */
  readonly asset: (name: 'checkout.js' | 'wallets.js') => string;
  readonly finalityOf: (network: Network) => UsualFinality;
  /** The payment that the shop opened for the same order after this one. */
  readonly newAttempt: SessionId | null;
  readonly explorerUrl: (network: Network, txHash: string) => string | null;
}

export const NETWORK_NAMES: Readonly<Record<Network, string>> = {
  ethereum: 'Ethereum',
  bsc: 'BNB Smart Chain',
  tron: 'TRON',
  solana: 'Solana',
};
export const TOKEN_STANDARD: Readonly<Record<Network, string>> = {
  ethereum: 'ERC-20',
  bsc: 'BEP-20',
  tron: 'TRC-20',
  solana: 'SPL',
};

/** One line of a page at most, however long the merchant's name. */
export const SHOP_NAME_LENGTH = 80;

/** Preserves the payer's coin in a URL of the page. */
export const coinQuery = ({ coin }: Pick<PageInput, 'coin'>): string => (coin === null ? '' : `coin=${coin}&`);

/** The page's path, up to its coin and its language. */
export function pagePath({ session, embeddedBy }: PageInput): string {
  const here = `/pay/${session.sessionId}`;
  return embeddedBy === null ? `${here}?` : `${here}/embed?origin=${encodeURIComponent(embeddedBy)}&`;
}
