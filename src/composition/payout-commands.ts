import { CommandRefused, requiredText, type AdminArguments, type AdminCommands } from '../cli/admin-commands.ts';
import { parseRefundId, type Mode, type SessionId } from '../domain/ids.ts';
import { sessionStream } from '../domain/streams.ts';
import type { HealthFact } from '../ops/health.ts';
import { needsLook, type PayoutVerdict } from '../ports/payouts.ts';
import type { JsonValue } from '../ports/read-model.ts';
import { orderedLeg, type OrderedLeg } from '../use-cases/payouts-orders.ts';
import type { Core } from './core.ts';
import type { LeasedPayouts } from './leased-payouts.ts';
import type { PayoutParts } from './payouts.ts';

/** The operator's side of money out. */
export function payoutCommands(payouts: LeasedPayouts, { signer, addresses }: PayoutParts, core: Core): AdminCommands {
  const legsOf = async (args: AdminArguments): Promise<{ sessionId: SessionId; legs: readonly OrderedLeg[] }> => {
    const refundId = parseRefundId(requiredText(args, 'refund_id')) ?? refused('refund_id is not a refund id');
    const sessionId = (await core.sessionOfRefund(refundId)) ?? refused('no such refund');
    const state = await core.sessionHandler.read(sessionStream(sessionId));
    const legs = Object.keys(state?.context.refunds[refundId]?.legs ?? {}).flatMap((legId) => orderedLeg(state!.context, refundId, legId) ?? []);
    return { sessionId, legs };
  };
  const setStopped =
    (stopped: boolean) =>
    async (args: AdminArguments): Promise<JsonValue> => {
      const status = await signer.setStopped(modeOf(args), stopped, 'operator');
      return { stopped: status.stopped, entries: status.entries };
    };
  return {
    'treasury.status': async () => {
      const signers = await Promise.all([...addresses.keys()].map(async (mode) => ({ mode, ...(await signer.payoutStatus(mode)) })));
      return json({ signers, treasuries: payouts.status() });
    },
    'treasury.stop': setStopped(true),
    'treasury.resume': setStopped(false),
    'treasury.approve': async (args) => {
      const { legs } = await legsOf(args);
      for (const { order } of legs) allowed(await signer.approvePayout(order, requiredText(args, 'approver'), requiredText(args, 'secret')));
      return { approved: legs.length };
    },
    'treasury.reject': async (args) => {
      const { sessionId, legs } = await legsOf(args);
      const pending = legs.filter(({ leg }) => leg.status === 'PENDING');
      if (pending.length === 0) refused('something was signed already, or the refund has ended');
      for (const { order } of pending) await payouts.reject(sessionId, order.refundId, order.legId);
      return { rejected: pending.length };
    },
  };
}

/** Treasuries that cannot pay, for the board and for `/readyz`. */
export function payoutHealth(payouts: LeasedPayouts): readonly HealthFact[] {
  return payouts.status().map(({ mode, network, alarm, waiting }) => {
    const first = waiting.find(({ reason }) => needsLook(reason)) ?? waiting[0];
    const detail = alarm ?? (first ? `${waiting.length} refunds wait: ${first.detail}` : undefined);
    return { name: `treasury:${mode}:${network}`, state: detail === undefined ? 'ok' : 'degraded', ...(detail !== undefined && { detail }) };
  });
}

function allowed(verdict: PayoutVerdict): void {
  if (!verdict.ok) refused(verdict.message);
}

function modeOf(args: AdminArguments): Mode {
  const mode = requiredText(args, 'mode');
  return mode === 'test' || mode === 'live' ? mode : refused('mode must be test or live');
}

function refused(message: string): never {
  throw new CommandRefused(message);
}

/** Drops what JSON cannot say; the values are plain records. */
const json = (value: unknown): JsonValue => JSON.parse(JSON.stringify(value)) as JsonValue;
