import type { PlannedPayout } from '../../../domain/events/refund-events.ts';
import type { Mode } from '../../../domain/values/ids.ts';
import { formatAmount, type Coin } from '../../../domain/money/money.ts';
import type { NetworkSettings } from '../../../domain/networks/networks.ts';
import type { Sender } from '../../../domain/networks/senders.ts';
import { planRefund } from '../../../../state-machines/checkout-session/refund-allocation.ts';
import type { SessionState } from '../../../../state-machines/checkout-session/session.decider.ts';
import type { Outcome, RefundInput } from '../../shared/merchant-api.ts';
import { refundedMoney } from './refunded-money.ts';
import { tokenDecimals } from './request.ts';
import { createdOf } from '../../../../state-machines/checkout-session/session.state.ts';

/** What a refund would pay if it were requested. */
export interface RefundPreview {
  readonly coin: Coin;
  readonly amount: string;
  readonly type: 'full' | 'partial';
  readonly payouts: readonly (PlannedPayout & {
    /** Null while unknown. */
    readonly sender: Sender | null;
  })[];
}

interface PreviewDeps {
  readonly networks: (mode: Mode) => readonly NetworkSettings[];
}

/** The plan that a request would follow; reserves nothing. */
export function previewRefund(deps: PreviewDeps, input: RefundInput, state: SessionState): Outcome<RefundPreview> {
  const money = refundedMoney(input, state);
  if (!money.ok) return money;
  const { context } = state;
  const { coin } = money.value;
  const decimals = tokenDecimals(deps.networks(createdOf(context).mode), coin);
  const plan = planRefund(context, { refundId: 're_preview', ...money.value, decimals });
  if (!plan.ok) return plan;
  const payouts = plan.legs.map(({ network, toAddress, amount, takenFrom }) => {
    const senders = takenFrom.map(({ depositKey }) => context.deposits.get(depositKey)?.sender ?? null);
    return {
      ...{ network, coin, toAddress, amount },
      sender: senders.find((sender) => sender && sender.kind !== 'wallet') ?? senders[0] ?? null,
    };
  });
  return { ok: true, value: { coin, amount: formatAmount(plan.units), type: plan.refundType, payouts } };
}
