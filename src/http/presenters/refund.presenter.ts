import { NATIVE_COIN } from '../../domain/networks/networks.ts';
import type { RefundView } from '../../features/shared/views.ts';
import type { PayoutBody, RefundBody } from '../schemas/refund.schema.ts';
import { paddedAmount } from './amount-text.ts';
import { explorerUrl, networkFinder, type PresenterSettings } from './session.presenter.ts';
import type { Mode } from '../../domain/values/ids.ts';

export type RefundPresenter = (view: RefundView, mode: Mode) => RefundBody;

export function createRefundPresenter(settings: PresenterSettings): RefundPresenter {
  const networks = networkFinder(settings.networks);
  return (view, mode) => {
    const payouts = view.payouts.map((payout): PayoutBody => ({
      network: payout.network,
      coin: payout.coin,
      to_address: payout.toAddress,
      amount: paddedAmount(payout.amount, 2),
      status: payout.status,
      tx_hash: payout.txHash,
      network_fee: payout.networkFee,
      network_fee_currency: NATIVE_COIN[payout.network],
      explorer_url: explorerUrl(networks(mode, payout.network), payout.txHash),
      failure_reason: payout.failureReason,
    }));
    const only = payouts.length === 1 ? payouts[0] : undefined;
    return {
      id: view.refundId,
      session_id: view.sessionId,
      order_id: view.orderId,
      amount: { value: paddedAmount(view.amount, 2), currency: view.coin },
      amount_returned: paddedAmount(view.amountReturned, 2),
      type: view.type,
      status: view.status,
      reason: view.reason,
      network: only?.network ?? null,
      to_address: only?.to_address ?? null,
      tx_hash: only?.tx_hash ?? null,
      network_fee: only?.network_fee ?? null,
      payouts,
      created: view.createdSec,
      updated: view.updatedSec,
      failure_reason: view.failureReason,
      ...(view.status === 'PENDING' || view.status === 'PROCESSING'
        ? { waiting_reason: settings.waitingFor?.(view.refundId) ?? null }
        : {}),
    };
  };
}
