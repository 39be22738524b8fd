import { shownDecimals } from '../../domain/money/currencies.ts';
import type { PaymentOption } from '../../domain/events/session-events.ts';
import type { Mode } from '../../domain/values/ids.ts';
import type { Network, NetworkSettings } from '../../domain/networks/networks.ts';
import { inCoin } from '../../features/shared/coin-choice.ts';
import type { DepositView, SessionView } from '../../features/shared/views.ts';
import type {
  CancelledSessionBody,
  DepositBody,
  PaymentOptionBody,
  PaymentSessionBody,
} from '../schemas/session.schema.ts';
import { paddedAmount } from './amount-text.ts';

export interface PresenterSettings {
  /** Base URL of the payment page, without a trailing slash. */
  readonly publicUrl: string;
  readonly networks: (mode: Mode) => readonly NetworkSettings[];
  /** Wallet links by wallet name for a payment of `amount` units of the option's coin. */
  readonly deepLinks: (
    option: PaymentOption,
    amount: string,
    target: { readonly pageUrl: string; readonly mainNetwork: boolean },
  ) => Readonly<Record<string, string>>;
  /** Why a refund is not paid yet, as a word; null if nothing is known to delay it. */
  readonly waitingFor?: (refundId: string) => string | null;
}

export interface SessionPresenter {
  /** The wire form of create, get and lists. */
  readonly session: (view: SessionView) => PaymentSessionBody;
  /** The wire form of cancel: without line items and other data about people and goods. */
  readonly cancelled: (view: SessionView) => CancelledSessionBody;
}

export function createSessionPresenter(settings: PresenterSettings): SessionPresenter {
  const networks = networkFinder(settings.networks);

  function core(view: SessionView): CancelledSessionBody {
    const decimals = shownDecimals(view.currency);
    const url = `${settings.publicUrl}/pay/${view.sessionId}`;
    const { rateLock, alternative } = view;
    const optionsOf = (shown: SessionView, pageUrl: string): PaymentOptionBody[] =>
      shown.paymentOptions.map((option) =>
        presentOption(option, shown, pageUrl, networks(view.mode, option.network), settings.deepLinks),
      );
    return {
      id: view.sessionId,
      amount_total: paddedAmount(view.amount, decimals),
      currency: view.currency.toLowerCase(),
      payment_status: view.status === 'paid' ? 'paid' : 'unpaid',
      created: view.createdAtSec,
      expires_at: view.expiresAtSec,
      url,
      ...(view.taxAmount === null ? undefined : { tax_amount: paddedAmount(view.taxAmount, decimals) }),
      ...(view.shippingAmount === null ? undefined : { shipping_amount: paddedAmount(view.shippingAmount, decimals) }),
      ...(rateLock === null ? undefined : conversion(view, rateLock)),
      ...(alternative && {
        alternative: {
          ...conversion(alternative, alternative.rateLock),
          payment_options: optionsOf(inCoin(view, alternative.dueCoin), `${url}?coin=${alternative.dueCoin}`),
        },
      }),
      order_id: view.orderId,
      status: view.status,
      settlement_currency: view.dueCoin,
      received: view.received,
      pending: view.pending,
      excess: view.excess,
      refunded: view.refunded,
      refundable: view.refundable,
      refundable_amounts: view.refundableByCoin.map(({ coin, amount }) => ({ value: amount, currency: coin })),
      reversed: view.reversed,
      after_expiry: view.afterExpiry,
      ...(view.paidAtSec === null ? undefined : { paid_at: view.paidAtSec }),
      ...(view.supersedes === null ? undefined : { supersedes: view.supersedes }),
      ...(view.supersededBy === null ? undefined : { superseded_by: view.supersededBy }),
      ...(view.domainId === null ? undefined : { merchant_domain_id: view.domainId }),
      payment_options: optionsOf(view, url),
      deposits: view.deposits.map((deposit) => presentDeposit(deposit, networks(view.mode, deposit.network))),
    };
  }

  function session(view: SessionView): PaymentSessionBody {
    const { personal } = view;
    return {
      ...core(view),
      ...(personal?.lineItems === undefined ? undefined : { line_items: [...personal.lineItems] }),
      ...(personal?.description === undefined ? undefined : { description: personal.description }),
      ...(personal?.successUrl === undefined ? undefined : { success_url: personal.successUrl }),
      ...(personal?.cancelUrl === undefined ? undefined : { cancel_url: personal.cancelUrl }),
      metadata: { ...personal?.metadata, order_id: view.orderId },
    };
  }

  return { session, cancelled: core };
}

/** The four fields of a session whose currency differs from its settlement coin. */
function conversion(view: Pick<SessionView, 'dueCoin' | 'dueAmount'>, rateLock: NonNullable<SessionView['rateLock']>) {
  return {
    exchange_rate: rateLock.rate,
    target_currency: view.dueCoin,
    target_amount_total: paddedAmount(view.dueAmount, 2),
    rate_locked_at: rateLock.lockedAtSec,
  };
}

function presentOption(
  option: PaymentOption,
  view: SessionView,
  pageUrl: string,
  network: NetworkSettings | undefined,
  deepLinks: PresenterSettings['deepLinks'],
): PaymentOptionBody {
  return {
    network: option.network,
    coin: option.coin,
    token_address: option.tokenAddress,
    chain_id: option.chainId,
    decimals: option.decimals,
    address: option.address,
    amount: paddedAmount(view.dueAmount, 2),
    qr_payload: option.address,
    deep_links: deepLinks(option, view.dueAmount, { pageUrl, mainNetwork: network?.mainNetwork ?? false }),
    ...(option.tokenAccount === undefined ? undefined : { token_account: option.tokenAccount }),
    finality: option.finality.kind,
    ...(option.finality.kind === 'confirmations' ? { confirmations: option.finality.confirmations } : undefined),
    simulated: network?.simulated ?? false,
  };
}

function presentDeposit(deposit: DepositView, network: NetworkSettings | undefined): DepositBody {
  return {
    transaction_id: deposit.transactionId,
    network: deposit.network,
    coin: deposit.coin,
    amount: paddedAmount(deposit.amount, 2),
    ...(deposit.together && { transfers: deposit.together.transfers }),
    status: deposit.status,
    kind: deposit.kind,
    from_address: deposit.fromAddress,
    sender: deposit.sender,
    to_address: deposit.toAddress,
    tx_hash: deposit.txHash,
    log_index: deposit.logIndex,
    block_number: deposit.blockNumber,
    block_time: deposit.blockTimeSec,
    explorer_url: explorerUrl(network, deposit.txHash),
    refundable: paddedAmount(deposit.refundable, 2),
  };
}

export function explorerUrl(network: NetworkSettings | undefined, txHash: string | null): string | null {
  return txHash === null || !network?.explorerTransactionUrl
    ? null
    : network.explorerTransactionUrl.replace('{hash}', encodeURIComponent(txHash));
}

export type NetworkFinder = (mode: Mode, network: Network) => NetworkSettings | undefined;

export function networkFinder(networks: PresenterSettings['networks']): NetworkFinder {
  return (mode, network) => networks(mode).find((settings) => settings.network === network);
}
