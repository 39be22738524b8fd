import type { PaymentOption } from '../domain/events/session-events.ts';
import type { SessionId } from '../domain/ids.ts';
import type { Coin } from '../domain/money.ts';
import type { Network, UsualFinality } from '../domain/networks.ts';
import type { ShopFacts } from '../features/shared/merchant-api.ts';
import type { SessionView } from '../features/shared/views.ts';
import type { PageStatus } from './page-model.ts';
import type { Speech } from './speech.ts';

/** Everything one rendering of the page needs. */
export interface PageInput {
  /** In the coin that the payer looks at, as long as it can be chosen. */
  readonly session: SessionView;
  /** The coin that the page's address names, whether it can still be chosen or not; null when it names none. */
  readonly coin: Coin | null;
  readonly status: PageStatus;
  readonly speech: Speech;
  readonly shop: ShopFacts;
  /** Wallet links by wallet name for an amount (decimal string), per option. */
  readonly linksOf: (option: PaymentOption, amount: string) => Readonly<Record<string, string>>;
  /** Networks whose chain is a stand-in. */
  readonly simulated: ReadonlySet<Network>;
  /** Shows the test wallet. */
  readonly sandbox: boolean;
  readonly testMode: boolean;
  readonly nowMs: number;
  /** The shop's origin that shows the page in a frame or a popup of its own; null for the page by itself. */
  readonly embeddedBy: string | null;
  /** Address of an asset, its version included. */
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

/** One line of a page at most, whatever a merchant calls itself. */
export const SHOP_NAME_LENGTH = 80;

/** What keeps the coin that the payer looks at in an address of the page. */
export const coinQuery = ({ coin }: Pick<PageInput, 'coin'>): string => (coin === null ? '' : `coin=${coin}&`);

/** Where the page lives, up to its coin and its language. */
export function pagePath({ session, embeddedBy }: PageInput): string {
  const here = `/pay/${session.sessionId}`;
  return embeddedBy === null ? `${here}?` : `${here}/embed?origin=${encodeURIComponent(embeddedBy)}&`;
}
