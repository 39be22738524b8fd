import { hash } from 'node:crypto';
import { CLAIM_NUMBER, claimText, evidenceFor, type EvidenceKind } from '../../../domain/claims.ts';
import { base32, type MerchantId, type Mode, type SessionId } from '../../../domain/values/ids.ts';
import { type Coin, formatAmount } from '../../../domain/money/money.ts';
import type { Network } from '../../../domain/networks/networks.ts';
import { sessionStream } from '../../../domain/values/streams.ts';
import { toSec, type Clock } from '../../../ports/clock.ts';
import type { CoCommit } from '../../../ports/event-log/event-store.ts';
import type { Random } from '../../../ports/random.ts';
import type { Rates } from '../../../ports/rates/rates.ts';
import type { Senders } from '../../../ports/chain/senders.ts';
import { depositTransactionId } from '../../../../projections/sessions/transaction-id.ts';
import { depositsOfClaim } from '../../../../state-machines/checkout-session/claims.ts';
import type { SessionState } from '../../../../state-machines/checkout-session/session.decider.ts';
import {
  createdOf,
  depositsOf,
  leftOf,
  takenByDeposit,
  type ClaimState,
  type DepositState,
} from '../../../../state-machines/checkout-session/session.state.ts';
import type { MerchantLookup } from '../../merchants/lookup.ts';
import type { ClaimBeginning, ClaimInput, ClaimView, Claimable, PreparedClaim } from '../../shared/claim-views.ts';
import type { Idempotency } from '../../shared/idempotency.ts';
import { actorOf, type Caller, type Outcome } from '../../shared/merchant-api.ts';
import type { PersonalData } from '../../shared/personal-data.ts';
import type { SessionHandler } from '../../shared/handlers/session-handler.ts';
import { evidenceOf, invalid, payeeDoubt, type IsOurs } from './evidence.ts';
import type { SessionIds } from '../ids.ts';
import { must } from '../../../domain/values/must.ts';

export interface ClaimSettings {
  /** Evidence that the installation accepts. */
  readonly accepted: readonly EvidenceKind[];
  /** How long an approved claim in live mode waits. */
  readonly waitSec: number;
  /** The canonical form of an address on the network; null if it is not an address there. */
  readonly givenAddress: (network: Network, text: string) => string | null;
}

export interface ClaimDeps {
  readonly sessions: SessionHandler;
  readonly ids: SessionIds;
  readonly merchants: MerchantLookup;
  readonly personal: PersonalData;
  readonly senders: Senders;
  readonly clock: Clock;
  readonly random: Random;
  readonly rates: Rates;
  readonly idempotency: Idempotency;
  readonly claims: ClaimSettings;
  readonly isOurs: IsOurs;
}

const NUMBER_BYTES = 16;

/** Evidence that both merchant and installation accept. */
export function acceptedFor(
  { claims, merchants }: Pick<ClaimDeps, 'claims' | 'merchants'>,
  merchantId: MerchantId,
): readonly EvidenceKind[] {
  const wanted = merchants.settings(merchantId)?.policy.refundClaims ?? [];
  return wanted.filter((kind) => claims.accepted.includes(kind));
}

export const waitSecOf = ({ claims }: Pick<ClaimDeps, 'claims'>, mode: Mode): number =>
  mode === 'live' ? claims.waitSec : 0;

/**
 * The deposits that a payer can claim now, with the evidence possible for each. Dust is left out: strangers send it,
 * and nobody misses it.
 */
export function claimableOf(deps: Pick<ClaimDeps, 'claims' | 'merchants'>, state: SessionState): Claimable[] {
  if (state.value === 'open' || state.value === 'processing') return [];
  const accepted = acceptedFor(deps, createdOf(state.context).merchantId);
  const taken = takenByDeposit(state.context);
  return depositsOf(state.context).flatMap((deposit) => {
    const { network, coin, txHash, fromAddress } = deposit.facts;
    const evidence = evidenceFor(fromAddress, deposit.sender).filter((kind) => accepted.includes(kind));
    if (leftOf(deposit, taken) === 0n || deposit.kind === 'dust' || evidence.length === 0) return [];
    return [
      {
        transactionId: idOf(state, deposit),
        network,
        coin,
        amount: formatAmount(deposit.units),
        txHash,
        fromAddress,
        evidence,
      },
    ];
  });
}

/** The text for the paying wallet to sign for this payee, with an unused number. */
export async function prepareClaim(
  deps: ClaimDeps,
  state: SessionState,
  input: ClaimBeginning,
): Promise<Outcome<PreparedClaim>> {
  const claimable = claimableOf(deps, state).find(({ transactionId }) => transactionId === input.transactionId);
  const deposit = claimable && depositNamed(state, input.transactionId);
  if (!claimable || !deposit)
    return invalid('transaction_id', 'transaction_id is not a deposit of this payment that can be claimed');
  if (!claimable.evidence.includes(input.evidence))
    return invalid('evidence', `the deposit cannot be claimed with ${input.evidence} as evidence`);
  const payee = deps.claims.givenAddress(deposit.facts.network, input.payee.trim());
  if (payee === null) return invalid('payee', `payee is not an address on ${deposit.facts.network}`);
  const doubt = await payeeDoubt(deps, state, deposit.facts, payee);
  if (doubt) return doubt;
  const number = input.number ?? Buffer.from(deps.random.bytes(NUMBER_BYTES)).toString('base64url');
  if (!CLAIM_NUMBER.test(number)) return invalid('number', 'number must be the one in the signed text');
  return { ok: true, value: { claimable, payee, number, text: textFor(state, deposit, payee, number) } };
}

/** Files a payer's claim. A signature is verified first, so that the merchant sees only valid ones. */
export async function fileClaim(
  deps: ClaimDeps,
  state: SessionState,
  input: ClaimInput,
  correlationId: string,
): Promise<Outcome<ClaimView>> {
  const prepared = await prepareClaim(deps, state, input.evidence === 'signature' ? { number: '', ...input } : input);
  if (!prepared.ok) return prepared;
  const { payee } = prepared.value;
  const deposit = must(depositNamed(state, input.transactionId));
  const evidence = await evidenceOf(deps, deposit, prepared.value, input);
  if (!evidence.ok) return evidence;
  const { sessionId, merchantId } = createdOf(state.context);
  const reason =
    input.reason === undefined ? null : await deps.personal.sealText(sessionId, input.reason, sealedTexts(state));
  const claimId = claimIdOf(sessionId, prepared.value.number);
  const { depositKey } = deposit.facts;
  const data = {
    claimId,
    depositKey,
    payee,
    evidence: evidence.value,
    reason: reason?.sealed ?? null,
    filedAtSec: toSec(deps.clock.nowMs()),
  };
  const context = { correlationId, actor: 'payer', coCommits: reason?.coCommit ? [reason.coCommit] : [] };
  const command = { type: 'FileClaim', data, accepted: acceptedFor(deps, merchantId) } as const;
  const result = await deps.sessions.execute(sessionStream(sessionId), command, context);
  return result.ok
    ? { ok: true, value: await claimView(deps, result.state, must(result.state.context.claims[claimId])) }
    : result;
}

/** Rejects a claim, or withdraws its approval in time, for the merchant or an operator. */
export async function rejectClaim(
  deps: ClaimDeps,
  caller: Pick<Caller, 'requestId' | 'nonceCoCommit' | 'traceParent'> & { readonly actor: string },
  state: SessionState,
  claimId: string,
  why: string | undefined,
): Promise<Outcome<ClaimView>> {
  const { sessionId, rateLock, currency, dueCoin } = createdOf(state.context);
  const reason = why === undefined ? null : await deps.personal.sealText(sessionId, why, sealedTexts(state));
  const nowMs = deps.clock.nowMs();
  const valuation = rateLock ? deps.rates.valuation(currency, dueCoin, nowMs) : null;
  const command = {
    type: 'RejectClaim',
    claimId,
    reason: reason?.sealed ?? null,
    nowSec: toSec(nowMs),
    valuation,
  } as const;
  const coCommits = [caller.nonceCoCommit, reason?.coCommit].filter(
    (coCommit): coCommit is CoCommit => coCommit !== undefined,
  );
  const context = {
    ...{ correlationId: caller.requestId, actor: caller.actor, coCommits },
    ...(caller.traceParent !== undefined && { traceParent: caller.traceParent }),
  };
  const result = await deps.sessions.execute(sessionStream(sessionId), command, context);
  if (!result.ok) return result;
  return {
    ok: true,
    value: await claimView(deps, result.state, must(result.state.context.claims[claimId])),
    repeated: result.events.length === 0,
  };
}

/** The same under the merchant's `Idempotency-Key`. */
export async function rejectAsMerchant(
  deps: ClaimDeps,
  caller: Caller,
  state: SessionState,
  claimId: string,
  why?: string,
): Promise<Outcome<ClaimView>> {
  const admission = await deps.idempotency.admit(
    caller,
    'reject_claim',
    deps.ids.requestHash(JSON.stringify([claimId, why ?? null])),
    () => '',
  );
  return admission.ok ? rejectClaim(deps, { ...caller, actor: actorOf(caller) }, state, claimId, why) : admission;
}

/** Every claim of the session, newest first. */
export const claimViews = (deps: Pick<ClaimDeps, 'personal'>, state: SessionState): Promise<ClaimView[]> =>
  Promise.all(
    Object.values(state.context.claims)
      .toReversed()
      .map((claim) => claimView(deps, state, claim)),
  );

/** Everything sealed with the session's key. */
export function sealedTexts({ context: { created, refunds, claims } }: SessionState): (string | null)[] {
  const ofClaims = Object.values(claims).flatMap(({ filed, rejected }) => [filed.reason, rejected?.reason ?? null]);
  return [must(created).personal, ...Object.values(refunds).map(({ requested }) => requested.reason), ...ofClaims];
}

/** Derived from the number, so that a form sent twice files one claim. */
const claimIdOf = (sessionId: SessionId, number: string): string =>
  `clm_${base32(hash('sha256', `claim ${sessionId} ${number}`, 'buffer').subarray(0, NUMBER_BYTES))}`;

async function claimView(
  { personal }: Pick<ClaimDeps, 'personal'>,
  state: SessionState,
  claim: ClaimState,
): Promise<ClaimView> {
  const { context } = state;
  const { filed, rejected, refundId, status } = claim;
  const deposit = must(context.deposits[filed.depositKey]);
  const { sessionId } = createdOf(context);
  const refund = refundId === null ? undefined : context.refunds[refundId];
  const { evidence } = filed;
  return {
    claimId: filed.claimId,
    sessionId,
    transactionId: idOf(state, deposit),
    status,
    payee: filed.payee,
    evidence: evidence.kind,
    network: deposit.facts.network,
    coin: deposit.facts.coin,
    amount: formatAmount(deposit.units),
    fromAddress: deposit.facts.fromAddress,
    toAddress: deposit.facts.toAddress,
    isProven: status === 'approved' || depositsOfClaim(context, claim) !== null,
    testPayment: evidence.kind === 'test_payment' ? evidence.amount : null,
    reason: await personal.openText(sessionId, filed.reason),
    filedAtSec: filed.filedAtSec,
    refundId: refund?.requested.refundId ?? null,
    payableFromSec: refund?.requested.claim?.payableFromSec ?? null,
    rejectedAtSec: rejected?.rejectedAtSec ?? null,
    rejectionReason: await personal.openText(sessionId, rejected?.reason ?? null),
  };
}

function textFor({ context }: SessionState, { facts, units }: DepositState, payee: string, number: string): string {
  const { sessionId, mode } = createdOf(context);
  const { network, depositKey, coin } = facts satisfies { coin: Coin };
  return claimText({ sessionId, mode, network, depositKey, coin, amount: formatAmount(units), payee, number });
}

const idOf = ({ context }: SessionState, { facts }: DepositState) =>
  depositTransactionId(createdOf(context).sessionId satisfies SessionId, facts.depositKey);

const depositNamed = (state: SessionState, transactionId: string): DepositState | undefined =>
  depositsOf(state.context).find((deposit) => idOf(state, deposit) === transactionId);
