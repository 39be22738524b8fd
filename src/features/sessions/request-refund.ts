import type { RefundId, SessionId } from '../../domain/ids.ts';
import { amountOf, convertRoundingDown, formatAmount, isCoin, type Coin } from '../../domain/money.ts';
import { sessionStream } from '../../domain/streams.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import type { CoCommit } from '../../ports/event-store.ts';
import type { Senders } from '../../ports/senders.ts';
import type { Sender } from '../../domain/senders.ts';
import type { SessionState } from '../../../state-machines/checkout-session/session.decider.ts';
import { finalOf } from '../../../state-machines/checkout-session/session.state.ts';
import { canonicalJson } from '../shared/canonical-json.ts';
import type { Idempotency } from '../shared/idempotency.ts';
import type { Caller, Outcome, RefundInput } from '../shared/merchant-api.ts';
import type { PersonalData } from '../shared/personal-data.ts';
import type { SessionHandler } from '../shared/handlers/session-handler.ts';
import type { SessionIds } from './ids.ts';

interface RefundDeps {
  readonly sessions: SessionHandler;
  readonly ids: SessionIds;
  readonly idempotency: Idempotency;
  readonly personal: PersonalData;
  readonly senders: Senders;
  readonly clock: Clock;
  readonly newRefundId: () => RefundId;
}

/** Coin amounts a merchant can ask for have at most this many decimals. */
const REFUND_DECIMALS = 6;

/** Reserves a refund. The session's own stream decides what fits, so parallel requests can never exceed what was received. */
export async function requestRefund(
  deps: RefundDeps,
  caller: Caller,
  input: RefundInput,
  state: SessionState,
): Promise<Outcome<{ state: SessionState; refundId: RefundId }>> {
  const money = moneyOf(input, state);
  if (!money.ok) return money;
  const { acknowledgeSender = false, ...asked } = input;
  // The merchant's word changes nothing about what is refunded: with it the same request goes on under its own key.
  const admission = await deps.idempotency.admit(caller, 'refund', deps.ids.requestHash(canonicalJson(asked)), deps.newRefundId);
  if (!admission.ok) return admission;
  const refundId = admission.givenId as RefundId;
  const nowSec = toSec(deps.clock.nowMs());
  if (caller.mayBeReplay === true && repeatsAnother(input, refundId, state, nowSec)) return MAY_BE_REPLAY;
  const judged = acknowledgeSender || state.context.refunds[refundId] !== undefined;
  const senders = judged ? {} : await unknownSenders(deps.senders, state, money.value.coin);
  if (senders === null) return { ok: false, refusal: { code: 'service_unavailable', message: UNKNOWN_SENDER }, retryAfterSec: RETRY_AFTER_SEC };
  const reason = input.reason === undefined ? null : await deps.personal.sealText(input.sessionId, input.reason, sealedIn(state));
  const command = {
    type: 'RequestRefund' as const,
    refundId,
    coin: money.value.coin,
    units: money.value.units,
    asked: input.amount ?? null,
    reason: reason?.sealed ?? null,
    idempotencyStream: admission.stream,
    acknowledgedSender: acknowledgeSender,
    senders,
    nowSec,
  };
  const coCommits = [caller.nonceCoCommit, reason?.coCommit].filter((coCommit): coCommit is CoCommit => coCommit !== undefined);
  const context = {
    correlationId: caller.requestId,
    actor: `merchant:${caller.merchantId}`,
    coCommits,
    ...(caller.traceParent !== undefined && { traceParent: caller.traceParent }),
  };
  const result = await deps.sessions.execute(sessionStream(input.sessionId satisfies SessionId), command, context);
  return result.ok ? { ok: true, value: { state: result.state, refundId }, repeated: result.events.length === 0 } : result;
}

function sealedIn({ context: { created, refunds } }: SessionState): (string | null)[] {
  return [created!.personal, ...Object.values(refunds).map(({ requested }) => requested.reason)];
}

const RETRY_AFTER_SEC = 10;
const UNKNOWN_SENDER = 'the network does not tell now whether the payer is a contract; try again, or send acknowledge_sender: true';

/** Who paid the coin, where the session does not know yet. Null when the network does not answer. */
async function unknownSenders(senders: Senders, { context }: SessionState, coin: Coin): Promise<Record<string, Sender> | null> {
  const found: Record<string, Sender> = {};
  for (const [key, { facts, status, sender }] of Object.entries(context.deposits)) {
    if (sender || status !== 'final' || facts.coin !== coin || facts.fromAddress === null) continue;
    const looked = await senders.of(context.created!.mode, facts.network, facts.fromAddress);
    if (looked === null) return null;
    found[key] = looked;
  }
  return found;
}

/** How long a signed request can be sent again: its time may be 300 s ahead, and is accepted for 300 s after that. */
const REPLAY_SEC = 600;

/**
 * The idempotency key is a header that the signature does not cover: who replays a request can give it another key. The ledger remembers
 * what the nonces may have forgotten.
 */
function repeatsAnother({ amount }: RefundInput, refundId: RefundId, { context }: SessionState, nowSec: number): boolean {
  return Object.values(context.refunds).some(({ requested }) => {
    const isSame = requested.asked?.value === amount?.value && requested.asked?.currency === amount?.currency;
    return isSame && requested.refundId !== refundId && requested.requestedAtSec >= nowSec - REPLAY_SEC;
  });
}

const MAY_BE_REPLAY = {
  ok: false,
  refusal: {
    code: 'service_unavailable',
    message: 'The same refund was asked for within the last ten minutes, and used nonces were lost since: ask again later with the same key.',
  },
} as const;

/** What the request means in units of a coin: the coin itself, or merchant currency at the session's locked rate. */
function moneyOf(input: RefundInput, { context }: SessionState): Outcome<{ coin: Coin; units: bigint | null }> {
  const created = context.created!;
  if (!input.amount) return { ok: true, value: { coin: created.dueCoin, units: null } };
  const { value, currency } = input.amount;
  const units = amountOf(value);
  if (isCoin(currency)) {
    const received = currency === created.dueCoin || finalOf(context, currency) > 0n;
    if (received) return { ok: true, value: { coin: currency, units } };
  } else if (currency === created.currency && created.rateLock) {
    const converted = convertRoundingDown(units, created.rateLock.rate, REFUND_DECIMALS);
    if (converted > 0n) return { ok: true, value: { coin: created.dueCoin, units: converted } };
    return {
      ok: false,
      refusal: {
        code: 'invalid_request',
        message: `${value} ${currency} is less than ${formatAmount(1n)} ${created.dueCoin}`,
        param: 'amount.value',
      },
    };
  }
  return {
    ok: false,
    refusal: {
      code: 'invalid_request',
      message: `amount.currency must be the coin paid (${created.dueCoin}) or the order's currency (${created.currency})`,
      param: 'amount.currency',
    },
  };
}
