import { refuse, type Refusal } from '../../domain/values/result.ts';
import type { RateLock } from '../../domain/events/coin-events.ts';
import type { PaymentOption, SessionCreated } from '../../domain/events/session-events.ts';
import type { SessionPersonalData } from '../../domain/events/session-personal-data.ts';
import type { Mode, SessionId } from '../../domain/values/ids.ts';
import { amountOf, formatAmount, isCoin, least, type Coin } from '../../domain/money/money.ts';
import { addressFamilyOf } from '../../domain/networks/networks.ts';
import { sessionStream } from '../../domain/values/streams.ts';
import { toleranceOf, type ToleranceBounds } from '../../domain/money/tolerance.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import { canonicalJson } from '../shared/canonical-json.ts';
import type { Idempotency } from '../shared/idempotency.ts';
import { actorOf, type Caller, type CreateSessionInput, type Outcome } from '../shared/merchant-api.ts';
import type { MerchantDomain, MerchantLookup, MerchantSettings } from '../merchants/lookup.ts';
import type { PersonalData } from '../shared/personal-data.ts';
import { offered, optionsOf, takeAddresses, type Offer, type PaymentOptionDeps } from './payment-options.ts';
import { otherPrice, priceIn, type Price, type PriceDeps } from './price.ts';
import { normalCreate } from './request-amounts.ts';
import { unavailable } from './unavailable.ts';
import type { SessionHandler } from '../shared/handlers/session-handler.ts';
import { currentOrOlderId, repeatOf, supersedingFault } from './attempts.ts';
import type { SessionIds } from './ids.ts';
import { ORDER_USED, type SessionState } from '../../../state-machines/checkout-session/session.decider.ts';

export interface CreateSessionDeps extends PriceDeps, PaymentOptionDeps {
  readonly sessions: SessionHandler;
  readonly ids: SessionIds;
  readonly merchants: MerchantLookup;
  readonly personal: PersonalData;
  readonly idempotency: Idempotency;
  readonly clock: Clock;
  /** A wrong clock would set a deadline that makes timely payments late. */
  readonly isClockInDoubt: () => boolean;
  readonly sessionTtlSec: number;
  /** Units of the coin. Smaller transfers never change a state. */
  readonly dustLimit: string;
  /** Upper limit of any merchant's tolerance, as a percentage of what is due. */
  readonly toleranceBounds: ToleranceBounds;
}

/** Creates the session of an order, or returns the existing one (design, "used `order_id`"). */
export async function createSession(
  deps: CreateSessionDeps,
  caller: Caller,
  input: CreateSessionInput,
): Promise<Outcome<SessionState>> {
  const merchant = deps.merchants.settings(caller.merchantId);
  if (!merchant) return refuse('authentication_failed', 'unknown merchant');
  const requestHash = deps.ids.requestHash(canonicalJson(normalCreate(input)));
  const admission = await deps.idempotency.admit(caller, 'create', requestHash, () => '');
  if (!admission.ok) return admission;
  const id = await currentOrOlderId(deps, { ...caller, orderId: input.orderId, supersedes: input.supersedes ?? null });
  const fault =
    input.supersedes === undefined ? null : await supersedingFault(deps, caller, input.orderId, input.supersedes);
  if (fault) return existingOr(deps, id, requestHash, { ok: false, refusal: fault });
  if (input.mismatch) return refusedParts(deps, id, requestHash, input.mismatch);
  const domain = domainOf(merchant, input);
  if (!domain.ok) return existingOr(deps, id, requestHash, domain);
  if (deps.isClockInDoubt()) return existingOr(deps, id, requestHash, clockInDoubt());
  const coin = input.targetCurrency ?? (isCoin(input.currency) ? input.currency : merchant.policy.settlementCoin);
  const nowMs = deps.clock.nowMs();
  const priced = await priceIn(deps, input, coin, nowMs);
  if (!priced.ok) return existingOr(deps, id, requestHash, priced);
  const price = priced.value;
  const other = await otherPrice(deps, merchant, input, price, nowMs);
  const offers = offered(deps, merchant, coin);
  const taken = takeAddresses(
    deps,
    merchant.mode,
    other ? [...offers, ...offered(deps, merchant, other.coin)] : offers,
  );
  const options = optionsOf(deps, merchant, [price, ...(other ? [other] : [])], taken);
  if (!options.some((option) => option.coin === coin))
    return existingOr(deps, id, requestHash, noNetwork(deps, merchant.mode, coin, offers));
  const giveBack = (): void => taken.forEach((address) => deps.addresses.giveBack(caller.mode, address));
  // The addresses can be reused, since nobody has seen them. Once the session is being stored, a failure leaves open
  // whether it has them.
  const sealed = await deps.personal.sealNew(id, personalOf(input)).catch((error: unknown) => {
    giveBack();
    throw error;
  });
  const data = sessionData(deps, {
    caller,
    input,
    merchant,
    id,
    requestHash,
    price,
    other: other && options.some((option) => option.coin === other.coin) ? other : null,
    nowMs,
    paymentOptions: options,
    domain: domain.value,
    personal: sealed?.sealed ?? null,
  });
  const coCommits = [caller.nonceCoCommit, sealed?.coCommit].filter((coCommit) => coCommit !== undefined);
  const context = {
    correlationId: caller.requestId,
    actor: actorOf(caller),
    coCommits,
    ...(caller.traceParent !== undefined && { traceParent: caller.traceParent }),
  };
  const result = await deps.sessions.execute(sessionStream(id), { type: 'CreateSession', data }, context, {
    expectNew: true,
  });
  if (!result.ok || result.events.length === 0) giveBack();
  if (!result.ok) return result;
  return result.events.length === 0 ? repeatOf(id, result.state) : { ok: true, value: result.state };
}

/** A safe retry needs no rate, no address and no registered domain: the session already exists. */
async function existingOr(
  deps: CreateSessionDeps,
  id: SessionId,
  requestHash: string,
  refusal: Outcome<never>,
): Promise<Outcome<SessionState>> {
  const state = await deps.sessions.read(sessionStream(id));
  return state?.context.created?.requestHash === requestHash ? repeatOf(id, state) : refusal;
}

const clockInDoubt = (): Outcome<never> =>
  unavailable('clock_in_doubt', "the service's clock disagrees with other clocks, so no deadline can be set");

/** A used `order_id` is told first: the order's total is often what another request changed. */
async function refusedParts(
  deps: CreateSessionDeps,
  id: SessionId,
  requestHash: string,
  mismatch: Refusal,
): Promise<Outcome<SessionState>> {
  const isUsed = (await deps.sessions.read(sessionStream(id))) !== null;
  return existingOr(deps, id, requestHash, { ok: false, refusal: isUsed ? ORDER_USED : mismatch });
}

function noNetwork(deps: CreateSessionDeps, mode: Mode, coin: Coin, offers: readonly Offer[]): Outcome<never> {
  const isWithheld = offers.some(({ settings }) =>
    deps.addresses.isWithheld?.(mode, addressFamilyOf(settings.network)),
  );
  return isWithheld
    ? unavailable(
        'addresses_unconfirmed',
        'the signer has not confirmed the collection addresses, so none can be shown',
      )
    : unavailable('service_unavailable', `no network can currently accept ${coin}`);
}

function domainOf(
  merchant: MerchantSettings,
  input: CreateSessionInput,
): { ok: true; value: MerchantDomain | null } | (Outcome<never> & { ok: false }) {
  if (input.merchantDomainId === undefined) return { ok: true, value: null };
  const domain = merchant.domains.find((candidate) => candidate.domainId === input.merchantDomainId);
  const fault = (param: string, message: string) => ({
    ok: false as const,
    refusal: { code: 'invalid_request' as const, message, param },
  });
  if (!domain) return fault('merchant_domain_id', 'merchant_domain_id is not a domain registered for this merchant');
  for (const [param, url] of [
    ['success_url', input.successUrl],
    ['cancel_url', input.cancelUrl],
  ] as const) {
    if (url !== undefined && new URL(url).hostname !== domain.host)
      return fault(param, `${param} must be on ${domain.host}, the domain of merchant_domain_id`);
  }
  return { ok: true, value: domain };
}

/** Fields sealed with the session's erasable key. */
export const personalOf = (input: CreateSessionInput): SessionPersonalData => ({
  ...(input.description !== undefined && { description: input.description }),
  ...(input.lineItems !== undefined && { lineItems: input.lineItems }),
  ...(input.metadata !== undefined && { metadata: input.metadata }),
  ...(input.successUrl !== undefined && { successUrl: input.successUrl }),
  ...(input.cancelUrl !== undefined && { cancelUrl: input.cancelUrl }),
});

interface SessionFacts {
  readonly caller: Caller;
  readonly input: CreateSessionInput;
  readonly merchant: MerchantSettings;
  readonly id: SessionId;
  readonly requestHash: string;
  readonly price: Price;
  readonly other: (Price & { readonly rateLock: RateLock }) | null;
  readonly nowMs: number;
  readonly paymentOptions: readonly PaymentOption[];
  readonly domain: MerchantDomain | null;
  readonly personal: string | null;
}

function sessionData(deps: CreateSessionDeps, facts: SessionFacts): SessionCreated['data'] {
  const { caller, input, merchant, price, other } = facts;
  const { serviceFeeBasisPoints = 0 } = merchant.policy;
  const createdAtSec = toSec(facts.nowMs);
  return {
    sessionId: facts.id,
    mode: caller.mode,
    merchantId: caller.merchantId,
    orderId: input.orderId,
    requestHash: facts.requestHash,
    amount: input.amount,
    currency: input.currency,
    dueCoin: price.coin,
    dueAmount: formatAmount(price.due),
    rateLock: price.rateLock,
    taxAmount: input.taxAmount ?? null,
    shippingAmount: input.shippingAmount ?? null,
    createdAtSec,
    ...(input.supersedes !== undefined && { supersedes: input.supersedes }),
    expiresAtSec: createdAtSec + (input.lifetimeSec ?? merchant.policy.sessionTtlSec ?? deps.sessionTtlSec),
    paymentOptions: facts.paymentOptions,
    ...(other && {
      alternative: {
        coin: other.coin,
        dueAmount: formatAmount(other.due),
        rateLock: other.rateLock,
        ...limitsOf(deps, merchant, other.due),
      },
    }),
    policy: {
      ...limitsOf(deps, merchant, price.due),
      ...(serviceFeeBasisPoints > 0 && { serviceFeeBasisPoints }),
    },
    domainId: facts.domain?.domainId ?? null,
    personal: facts.personal,
  };
}

/** An order smaller than the dust limit must still be payable in one transfer. */
const limitsOf = ({ toleranceBounds, dustLimit }: CreateSessionDeps, { policy }: MerchantSettings, due: bigint) => ({
  tolerance: formatAmount(toleranceOf(policy, due, toleranceBounds)),
  dustLimit: formatAmount(least(due, amountOf(dustLimit))),
});
