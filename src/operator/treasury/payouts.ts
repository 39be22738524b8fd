import {
  type AdminArguments,
  type AdminCommands,
  json,
  refused,
  requiredMode,
  requiredText,
} from '../server/commands.ts';
import { parseRefundId, type Mode, type SessionId, type RefundId } from '../../domain/values/ids.ts';
import { addressFamilyOf } from '../../domain/networks/networks.ts';
import { sessionStream } from '../../domain/values/streams.ts';
import type { ApprovalAct, ApprovalSigner } from '../../ports/signer/approvals.ts';
import type { OutgoingSigner, TreasuryAddresses } from '../../ports/outgoing/signer.ts';
import type { Comparison } from '../../features/treasury/comparisons.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import { orderedLeg, type OrderedLeg } from '../../features/payouts/refunds/orders.ts';
import { actorOf, operatorIn } from '../server/acts.ts';
import { agree, approvedBy } from './approvals.ts';
import type { TreasuryStatus } from '../../features/payouts/refunds/refunds.process.ts';
import type { SessionHandler } from '../../features/shared/handlers/session-handler.ts';
import { createdOf } from '../../../state-machines/checkout-session/session.state.ts';

/** Payouts, where this process runs them; both throw `CommandRefused` where another process pays. */
interface RunningPayouts {
  status(): readonly TreasuryStatus[];
  comparisons(): readonly Comparison[];
  reject(legId: string): Promise<void>;
}

interface PayoutParts {
  readonly signer: OutgoingSigner & ApprovalSigner;
  readonly addresses: ReadonlyMap<Mode, TreasuryAddresses>;
}

interface Refunds {
  readonly sessionHandler: SessionHandler;
  sessionOfRefund(id: RefundId): Promise<SessionId | null>;
}

/** The operator's commands for outgoing money. */
export function payoutCommands(
  payouts: RunningPayouts,
  { signer, addresses }: PayoutParts,
  core: Refunds,
): AdminCommands {
  const legsOf = async (args: AdminArguments): Promise<{ sessionId: SessionId; legs: readonly OrderedLeg[] }> => {
    const refundId = parseRefundId(requiredText(args, 'refund_id')) ?? refused('refund_id is not a refund id');
    const sessionId = (await core.sessionOfRefund(refundId)) ?? refused('no such refund');
    const state = await core.sessionHandler.read(sessionStream(sessionId));
    const refund = state?.context.refunds[refundId];
    if (!refund) return { sessionId, legs: [] };
    const { context } = state;
    const treasuries = addresses.get(createdOf(context).mode);
    const legs = Object.values(refund.legs).flatMap(({ leg }) => {
      const treasury = treasuries?.[addressFamilyOf(leg.network)];
      return (treasury !== undefined && orderedLeg(context, refundId, leg.legId, treasury)) || [];
    });
    return { sessionId, legs };
  };
  return {
    'treasury.status': async () => {
      const signers = await Promise.all(
        [...addresses.keys()].map(async (mode) => ({ mode, ...(await signer.status(mode)) })),
      );
      return json({ signers, treasuries: payouts.status(), comparisons: payouts.comparisons() });
    },
    'treasury.stop': async (args) => ({ stopped: (await signer.stop(requiredMode(args), actorOf(args))).stopped }),
    'treasury.limits': async (args) => {
      const mode = requiredMode(args);
      const proposedBy = operatorIn(args, 'operator');
      const agreed = await agree(signer, [{ kind: 'limits', mode, proposedBy }], args);
      return agreed.ok ? signerStanding(signer, mode, agreed) : agreed.answer;
    },
    'treasury.approve': async (args) => {
      const { legs } = await legsOf(args);
      const acts = legs.map(({ order }): ApprovalAct => ({ kind: 'transaction', order, proposedBy: 'merchant' }));
      const agreed = await agree(signer, acts, args);
      return agreed.ok ? { approved: legs.length, ...approvedBy(agreed) } : agreed.answer;
    },
    'treasury.reject': async (args) => {
      const { legs } = await legsOf(args);
      const pending = legs.filter(({ leg }) => leg.status === 'PENDING');
      if (pending.length === 0) refused('something was already signed, or the refund has ended');
      for (const { order } of pending) await payouts.reject(order.id);
      return { rejected: pending.length };
    },
  };
}

/** The signer's state once nothing is left to sign. */
export async function signerStanding(
  signer: Pick<OutgoingSigner, 'status'>,
  mode: Mode,
  agreed: Parameters<typeof approvedBy>[0],
): Promise<JsonValue> {
  const { stopped, limitsToApprove } = await signer.status(mode);
  return { stopped, limits_to_approve: limitsToApprove, ...approvedBy(agreed) };
}
