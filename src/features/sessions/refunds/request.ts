import { refuse } from '../../../domain/values/result.ts';
import { parseRefundId, type Mode, type RefundId, type SessionId } from '../../../domain/values/ids.ts';
import { must } from '../../../domain/values/must.ts';
import { amountOf, type Coin } from '../../../domain/money/money.ts';
import { tokenOf, type Network, type NetworkSettings } from '../../../domain/networks/networks.ts';
import { sessionStream } from '../../../domain/values/streams.ts';
import { toSec, type Clock } from '../../../ports/clock.ts';
import type { CoCommit } from '../../../ports/event-log/event-store.ts';
import type { Senders } from '../../../ports/chain/senders.ts';
import type { Sender } from '../../../domain/networks/senders.ts';
import type { SessionState } from '../../../../state-machines/checkout-session/session.decider.ts';
import { planRefund, type RefundTerms } from '../../../../state-machines/checkout-session/refund-allocation.ts';
import { canonicalJson } from '../../shared/canonical-json.ts';
import type { Idempotency } from '../../shared/idempotency.ts';
import { actorOf, type Caller, type Outcome, type RefundInput } from '../../shared/merchant-api.ts';
import type { PersonalData } from '../../shared/personal-data.ts';
import { refundedMoney } from './refunded-money.ts';
import { normalAmount } from '../request-amounts.ts';
import type { SessionHandler } from '../../shared/handlers/session-handler.ts';
import type { SessionIds } from '../ids.ts';
import { createdOf } from '../../../../state-machines/checkout-session/session.state.ts';

interface RefundDeps {
  readonly sessions: SessionHandler;
  readonly ids: SessionIds;
  readonly idempotency: Idempotency;
  readonly personal: PersonalData;
  readonly senders: Senders;
  readonly clock: Clock;
  /** The networks that this installation runs in a mode. */
  readonly networks: (mode: Mode) => readonly NetworkSettings[];
  readonly newRefundId: () => RefundId;
}

/**
 * Reserves a refund. The session's own stream decides what fits, so parallel requests can never exceed what was
 * received.
 */
export async function requestRefund(
  deps: RefundDeps,
  caller: Caller,
  input: RefundInput,
  state: SessionState,
): Promise<Outcome<{ state: SessionState; refundId: RefundId }>> {
  const money = refundedMoney(input, state);
  if (!money.ok) return money;
  const admission = await deps.idempotency.admit(
    caller,
    'refund',
    deps.ids.requestHash(sameRequest(input)),
    deps.newRefundId,
  );
  if (!admission.ok) return admission;
  const refundId = must(parseRefundId(admission.givenId));
  const nowSec = toSec(deps.clock.nowMs());
  const { acknowledgeSender = false } = input;
  const decimals = tokenDecimals(deps.networks(caller.mode), money.value.coin);
  const terms: RefundTerms = { refundId, ...money.value, decimals };
  if (caller.mayBeReplay === true && repeatsAnother(input, terms, state, nowSec)) return MAY_BE_REPLAY;
  const judged = acknowledgeSender || state.context.refunds[refundId] !== undefined;
  const senders = judged ? {} : await unknownSenders(deps.senders, state, terms);
  if (senders === null)
    return {
      ok: false,
      refusal: { code: 'service_unavailable', message: UNKNOWN_SENDER },
      retryAfterSec: RETRY_AFTER_SEC,
    };
  const reason =
    input.reason === undefined
      ? null
      : await deps.personal.sealText(input.sessionId, input.reason, sealedTexts(state.context));
  const command = {
    type: 'RequestRefund' as const,
    ...{ ...terms, refundId },
    asked: input.amount ?? null,
    reason: reason?.sealed ?? null,
    idempotencyStream: admission.stream,
    acknowledgedSender: acknowledgeSender,
    ...(input.planned && { planned: input.planned }),
    senders,
    nowSec,
  };
  const coCommits = [caller.nonceCoCommit, reason?.coCommit].filter(
    (coCommit): coCommit is CoCommit => coCommit !== undefined,
  );
  const context = {
    correlationId: caller.requestId,
    actor: actorOf(caller),
    coCommits,
    ...(caller.traceParent !== undefined && { traceParent: caller.traceParent }),
  };
  const result = await deps.sessions.execute(sessionStream(input.sessionId satisfies SessionId), command, context);
  return result.ok
    ? { ok: true, value: { state: result.state, refundId }, repeated: result.events.length === 0 }
    : result;
}

/** Every text of the session that is sealed with its key. */
const sealedTexts = (context: SessionState['context']): (string | null)[] => [
  createdOf(context).personal,
  ...Object.values(context.refunds).map(({ requested }) => requested.reason),
];

const RETRY_AFTER_SEC = 10;
const UNKNOWN_SENDER =
  'the network cannot currently tell whether the payer is a contract; try again, or send acknowledge_sender: true';

/** Senders of the refunded deposits that the session does not know yet. Null if the network does not answer. */
async function unknownSenders(
  senders: Senders,
  { context }: SessionState,
  terms: RefundTerms,
): Promise<Record<string, Sender> | null> {
  const found: Record<string, Sender> = {};
  const plan = planRefund(context, terms);
  for (const { network, toAddress, takenFrom } of plan.ok ? plan.legs : []) {
    const unknown = takenFrom.filter(({ depositKey }) => !context.deposits.get(depositKey)?.sender);
    if (unknown.length === 0) continue;
    const looked = await senders.of(createdOf(context).mode, network, toAddress);
    if (looked === null) return null;
    for (const { depositKey } of unknown) found[depositKey] = looked;
  }
  return found;
}

/** Decimals of the coin's token, by network. */
export function tokenDecimals(networks: readonly NetworkSettings[], coin: Coin): RefundTerms['decimals'] {
  const decimals: Partial<Record<Network, number>> = {};
  for (const settings of networks) {
    const token = tokenOf(settings, coin);
    if (token) decimals[settings.network] = token.decimals;
  }
  return decimals;
}

/**
 * Equal for equivalent requests in any notation. The merchant's acknowledgement of the payer does not change what is
 * refunded, so the request continues under the same key when it is added.
 */
function sameRequest({ acknowledgeSender: _, amount, ...asked }: RefundInput): string {
  return canonicalJson({ ...asked, amount: amount && { ...amount, value: normalAmount(amount.value) } });
}

/** How long a signed request can be replayed: its time may be 300 s ahead and is accepted for 300 s after that. */
const REPLAY_SEC = 600;

/**
 * The signature does not cover the idempotency key header, so an attacker could replay a request under another key. The
 * event log remembers requests whose nonces may be forgotten.
 */
function repeatsAnother(
  { amount }: RefundInput,
  { refundId, namedDeposit }: RefundTerms,
  { context }: SessionState,
  nowSec: number,
): boolean {
  const unitsOf = (asked: RefundInput['amount'] | null): bigint | undefined =>
    asked ? amountOf(asked.value) : undefined;
  return Object.values(context.refunds).some(({ requested }) => {
    const isSameAmount = unitsOf(requested.asked) === unitsOf(amount) && requested.asked?.currency === amount?.currency;
    const isSame = isSameAmount && requested.namedDeposit === namedDeposit;
    return isSame && requested.refundId !== refundId && requested.requestedAtSec >= nowSec - REPLAY_SEC;
  });
}

const MAY_BE_REPLAY = refuse(
  'service_unavailable',
  'The same refund was requested within the last ten minutes, and spent nonces have been lost since: try again later with the same key.',
);
