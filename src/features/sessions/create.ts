import type { RateLock } from '../../domain/events/coin-events.ts';
import type { FinalityRule, PaymentOption, SessionCreated } from '../../domain/events/session-events.ts';
import type { SessionPersonalData } from '../../domain/events/session-personal-data.ts';
import type { MerchantPolicy } from '../../domain/events/merchant-events.ts';
import { COIN_MAX_DECIMALS } from '../../domain/currencies.ts';
import type { Mode, SessionId } from '../../domain/ids.ts';
import type { Refusal } from '../../domain/result.ts';
import { amountOf, convertForPayer, formatAmount, isCoin, least, MAX_UNITS, most, type Coin } from '../../domain/money.ts';
import { withFloor, type FinalityFloor } from '../../domain/finality-floor.ts';
import { addressFamilyOf, tokenOf, type AddressFamily, type NetworkSettings, type Token } from '../../domain/networks.ts';
import { sessionStream } from '../../domain/streams.ts';
import type { AddressPool, CollectionAddress } from '../../ports/addresses.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import type { CoCommit } from '../../ports/event-store.ts';
import type { Random } from '../../ports/random.ts';
import type { Rates } from '../../ports/rates.ts';
import { base58 } from '../../runtime/util/base58.ts';
import { canonicalJson } from '../shared/canonical-json.ts';
import type { Idempotency } from '../shared/idempotency.ts';
import { actorOf, type Caller, type CreateSessionInput, type Outcome } from '../shared/merchant-api.ts';
import type { MerchantDomain, MerchantLookup, MerchantSettings } from '../merchants/lookup.ts';
import type { PersonalData } from '../shared/personal-data.ts';
import { normalCreate } from './request-amounts.ts';
import type { SessionHandler } from '../shared/handlers/session-handler.ts';
import type { Attempt, SessionIds } from './ids.ts';
import type { SessionState } from '../../../state-machines/checkout-session/session.decider.ts';

export interface CreateSessionDeps {
  readonly sessions: SessionHandler;
  readonly ids: SessionIds;
  readonly merchants: MerchantLookup;
  readonly rates: Rates;
  readonly addresses: AddressPool;
  readonly personal: PersonalData;
  readonly idempotency: Idempotency;
  readonly clock: Clock;
  /** A deadline set by a wrong clock would make payments late that are not. */
  readonly isClockInDoubt: () => boolean;
  readonly random: Random;
  /** The networks this installation runs in a mode, in default order. */
  readonly networks: (mode: Mode) => readonly NetworkSettings[];
  readonly sessionTtlSec: number;
  /** Decimals the converted amount is rounded up to, unless that adds more than a thousandth. */
  readonly conversionDecimals: number;
  /** Units of the coin; transfers below it never change a state. */
  readonly dustLimit: string;
  /** Of what is due, the most that may be missing whatever the merchant tolerates. */
  readonly toleranceMaxPercent: number;
  readonly finalityFloor: FinalityFloor;
}

const RETRY_AFTER_SEC = 5;
/** Solana Pay names a payment by a public key that nobody needs to own. */
const REFERENCE_BYTES = 32;

/** Creates the session of an order, or answers the one it already has (design, "used `order_id`"). */
export async function createSession(deps: CreateSessionDeps, caller: Caller, input: CreateSessionInput): Promise<Outcome<SessionState>> {
  const merchant = deps.merchants.settings(caller.merchantId);
  if (!merchant) return { ok: false, refusal: { code: 'authentication_failed', message: 'unknown merchant' } };
  const requestHash = deps.ids.requestHash(canonicalJson(normalCreate(input)));
  const admission = await deps.idempotency.admit(caller, 'create', requestHash, () => '');
  if (!admission.ok) return admission;
  const id = await currentOrOlderId(deps, { ...caller, orderId: input.orderId, supersedes: input.supersedes ?? null });
  const fault = input.supersedes === undefined ? null : await supersedingFault(deps, caller, input.orderId, input.supersedes);
  if (fault) return existingOr(deps, id, requestHash, { ok: false, refusal: fault });
  const domain = domainOf(merchant, input);
  if (!domain.ok) return existingOr(deps, id, requestHash, domain);
  if (deps.isClockInDoubt())
    return existingOr(deps, id, requestHash, unavailable('clock_in_doubt', 'the clock of the service contradicts others, so no deadline can be set'));
  const coin = input.targetCurrency ?? (isCoin(input.currency) ? input.currency : merchant.policy.settlementCoin);
  const nowMs = deps.clock.nowMs();
  const priced = await priceIn(deps, input, coin, nowMs);
  if (!priced.ok) return existingOr(deps, id, requestHash, priced);
  const price = priced.value;
  const other = await otherPrice(deps, merchant, input, price, nowMs);
  const offers = offered(deps, merchant, coin);
  const taken = takeAddresses(deps, merchant.mode, other ? [...offers, ...offered(deps, merchant, other.coin)] : offers);
  const options = optionsOf(deps, merchant, [price, ...(other ? [other] : [])], taken);
  if (!options.some((option) => option.coin === coin)) return existingOr(deps, id, requestHash, noNetwork(deps, merchant.mode, coin, offers));
  const giveBack = (): void => taken.forEach((address) => deps.addresses.giveBack(caller.mode, address));
  // Nobody was shown them yet; once the session is being stored, a failure no longer tells whether it has them.
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
  const coCommits = [caller.nonceCoCommit, sealed?.coCommit].filter((coCommit): coCommit is CoCommit => coCommit !== undefined);
  const context = {
    correlationId: caller.requestId,
    actor: actorOf(caller),
    coCommits,
    ...(caller.traceParent !== undefined && { traceParent: caller.traceParent }),
  };
  const result = await deps.sessions.execute(sessionStream(id), { type: 'CreateSession', data }, context, { expectNew: true });
  if (!result.ok || result.events.length === 0) giveBack();
  return result.ok ? { ok: true, value: result.state, repeated: result.events.length === 0 } : result;
}

type Refused = Outcome<never> & { ok: false };

/** What an order costs in a coin. */
interface Price {
  readonly coin: Coin;
  /** Null when the order is in the coin itself. */
  readonly rateLock: RateLock | null;
  readonly due: bigint;
}

async function priceIn(
  { rates, conversionDecimals }: CreateSessionDeps,
  input: CreateSessionInput,
  coin: Coin,
  nowMs: number,
): Promise<{ ok: true; value: Price } | Refused> {
  if (coin === input.currency) return { ok: true, value: { coin, rateLock: null, due: amountOf(input.amount) } };
  if (!rates.mayQuote(input.currency)) return noRateEver(input, coin);
  const rateLock = await rates.lock(input.currency, coin, nowMs);
  if (!rateLock) return unavailable('rate_unavailable', `no usable exchange rate from ${input.currency} to ${coin}`);
  const due = convertForPayer(amountOf(input.amount), rateLock.rate, conversionDecimals, COIN_MAX_DECIMALS);
  return due >= MAX_UNITS ? tooLarge(input, coin) : { ok: true, value: { coin, rateLock, due } };
}

/** In the other coin, where the payer may choose and it has a rate; an order priced in a coin is paid in that coin. */
async function otherPrice(
  deps: CreateSessionDeps,
  { policy }: MerchantSettings,
  input: CreateSessionInput,
  { coin, rateLock }: Price,
  nowMs: number,
): Promise<(Price & { readonly rateLock: RateLock }) | null> {
  if (policy.offerBothCoins !== true || input.targetCurrency !== undefined || rateLock === null || isCoin(input.currency)) return null;
  const other = await priceIn(deps, input, coin === 'USDT' ? 'USDC' : 'USDT', nowMs);
  return other.ok && other.value.rateLock ? { ...other.value, rateLock: other.value.rateLock } : null;
}

/** A used `order_id` is found under the secret that was current when it was used. */
async function currentOrOlderId(deps: Pick<CreateSessionDeps, 'ids' | 'sessions'>, attempt: Attempt): Promise<SessionId> {
  for (const older of deps.ids.older(attempt)) {
    if (await deps.sessions.read(sessionStream(older))) return older;
  }
  return deps.ids.current(attempt);
}

/** The session that supersedes one that ended unpaid; null when there is none. */
export async function successorOf(deps: Pick<CreateSessionDeps, 'ids' | 'sessions'>, { value, context }: SessionState): Promise<SessionId | null> {
  if (!context.created || !isOver(value)) return null;
  const id = await currentOrOlderId(deps, { ...context.created, supersedes: context.created.sessionId });
  return (await deps.sessions.read(sessionStream(id))) ? id : null;
}

/** Ended, and nothing more is asked for it. */
const isOver = (value: SessionState['value']): boolean => value === 'expired' || value === 'cancelled' || value === 'failed';

/** Why no other attempt may follow the session; null when one may. */
async function supersedingFault(deps: CreateSessionDeps, caller: Caller, orderId: string, id: SessionId): Promise<Refusal | null> {
  const state = await deps.sessions.read(sessionStream(id));
  const created = state?.context.created;
  const refused = (code: 'invalid_request' | 'conflict', message: string): Refusal => ({ code, message, param: 'supersedes' });
  if (!state || created?.merchantId !== caller.merchantId || created.mode !== caller.mode)
    return refused('invalid_request', 'supersedes is not a session of yours');
  if (created.orderId !== orderId) return refused('invalid_request', 'supersedes is a session of another order');
  if (state.value === 'paid') return refused('conflict', 'the session is paid: the order needs no other');
  return isOver(state.value) ? null : refused('conflict', 'the session can still be paid: cancel it first, or wait until it has expired');
}

/** A safe retry needs no rate, no address and no domain that is still registered: the session is there already. */
async function existingOr(deps: CreateSessionDeps, id: SessionId, requestHash: string, refusal: Outcome<never>): Promise<Outcome<SessionState>> {
  const state = await deps.sessions.read(sessionStream(id));
  return state?.context.created?.requestHash === requestHash ? { ok: true, value: state, repeated: true } : refusal;
}

const tooLarge = ({ amount, currency }: CreateSessionInput, coin: Coin): Refused => ({
  ok: false,
  refusal: { code: 'invalid_request', message: `amount must be less: ${amount} ${currency} is 10^12 ${coin} or more`, param: 'amount' },
});

function noNetwork(deps: CreateSessionDeps, mode: Mode, coin: Coin, offers: readonly Offer[]): Outcome<never> {
  const isWithheld = offers.some(({ settings }) => deps.addresses.isWithheld?.(mode, addressFamilyOf(settings.network)));
  return isWithheld
    ? unavailable('addresses_unconfirmed', 'the holder of the keys has not confirmed the collection addresses, so none is shown')
    : unavailable('service_unavailable', `no network can take ${coin} now`);
}

const noRateEver = ({ currency }: CreateSessionInput, coin: Coin): Refused => ({
  ok: false,
  refusal: { code: 'invalid_request', message: `currency: this installation has no exchange rate from ${currency} to ${coin}`, param: 'currency' },
});

const unavailable = (code: 'addresses_unconfirmed' | 'clock_in_doubt' | 'rate_unavailable' | 'service_unavailable', message: string): Refused => ({
  ok: false,
  refusal: { code, message },
  retryAfterSec: RETRY_AFTER_SEC,
});

function domainOf(
  merchant: MerchantSettings,
  input: CreateSessionInput,
): { ok: true; value: MerchantDomain | null } | (Outcome<never> & { ok: false }) {
  if (input.merchantDomainId === undefined) return { ok: true, value: null };
  const domain = merchant.domains.find((candidate) => candidate.domainId === input.merchantDomainId);
  const fault = (param: string, message: string) => ({ ok: false as const, refusal: { code: 'invalid_request' as const, message, param } });
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

/** A network that can take the coin, with its token. */
interface Offer {
  readonly settings: NetworkSettings;
  readonly token: Token;
}

/** In the order of the merchant's policy. */
function offered(deps: CreateSessionDeps, { policy, mode }: MerchantSettings, coin: Coin): Offer[] {
  const running = deps.networks(mode);
  const offers: Offer[] = [];
  for (const network of policy.networks) {
    if (network === 'tron' && coin === 'USDC' && !policy.offerTronUsdc) continue;
    const settings = running.find((candidate) => candidate.network === network);
    const token = settings && tokenOf(settings, coin);
    if (token) offers.push({ settings, token });
  }
  return offers;
}

/** One address per family that is offered and has one to give. */
function takeAddresses(deps: CreateSessionDeps, mode: Mode, offers: readonly Offer[]): Map<AddressFamily, CollectionAddress> {
  const taken = new Map<AddressFamily, CollectionAddress>();
  for (const { settings } of offers) {
    const family = addressFamilyOf(settings.network);
    if (taken.has(family)) continue;
    const address = deps.addresses.take(mode, family);
    if (address) taken.set(family, address);
  }
  return taken;
}

/** How final a transfer must be does not depend on its coin. */
function optionsOf(
  deps: CreateSessionDeps,
  merchant: MerchantSettings,
  prices: readonly Price[],
  taken: ReadonlyMap<AddressFamily, CollectionAddress>,
): PaymentOption[] {
  const policy = withFloor(merchant.policy, deps.finalityFloor);
  const highest = prices.reduce((high, { due }) => most(high, due), 0n);
  const offers = prices.flatMap(({ coin }) => offered(deps, merchant, coin).map((offer) => ({ ...offer, coin })));
  return offers.flatMap(({ settings, token, coin }) => {
    const address = taken.get(addressFamilyOf(settings.network));
    if (!address) return [];
    return {
      network: settings.network,
      coin,
      tokenAddress: token.address,
      decimals: token.decimals,
      chainId: settings.chainId,
      address: address.address,
      derivationIndex: address.derivationIndex,
      ...(address.tokenAccounts?.[coin] !== undefined && { tokenAccount: address.tokenAccounts[coin] }),
      ...(settings.network === 'solana' && { reference: base58(deps.random.bytes(REFERENCE_BYTES)) }),
      finality: finalityOf(settings, policy, highest),
    };
  });
}

/** Confirmations alone only on Ethereum and only below the merchant's amount; everywhere else the chain's own finality. */
function finalityOf(settings: NetworkSettings, policy: MerchantPolicy, due: bigint): FinalityRule {
  const quick = settings.network === 'ethereum' && due < amountOf(policy.ethereumFinalizedFrom);
  return quick ? { kind: 'confirmations', confirmations: policy.ethereumConfirmations } : { kind: 'finalized' };
}

/** What is sealed with the session's erasable key. */
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
      alternative: { coin: other.coin, dueAmount: formatAmount(other.due), rateLock: other.rateLock, ...limitsOf(deps, merchant, other.due) },
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
const limitsOf = ({ toleranceMaxPercent, dustLimit }: CreateSessionDeps, { policy }: MerchantSettings, due: bigint) => ({
  tolerance: formatAmount(least(amountOf(policy.tolerance), (due * BigInt(toleranceMaxPercent)) / 100n)),
  dustLimit: formatAmount(least(due, amountOf(dustLimit))),
});
