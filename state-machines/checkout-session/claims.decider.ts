import type { EvidenceKind } from '../../src/domain/claims.ts';
import type { ClaimFiled, RefundClaim } from '../../src/domain/events/claim-events.ts';
import type { SessionEvent } from '../../src/domain/events/session-events.ts';
import type { Valuation } from '../../src/domain/events/coin-events.ts';
import { formatAmount } from '../../src/domain/money/money.ts';
import { accept, refuse, type Decision, type Refusal } from '../../src/domain/values/result.ts';
import { depositsOfClaim, person } from './claims.ts';
import { decidePayout } from './payouts.decider.ts';
import type { ClaimToPay } from './refund-allocation.ts';
import { leftOf, takenByDeposit, type ClaimState, type SessionContext, createdOf } from './session.state.ts';
import { must } from '../../src/domain/values/must.ts';

/* Claims: a payer names another payee than the paying address. Every command is safe to repeat. */

/** The signature must be verified and the payee in canonical form. */
export interface FileClaim {
  readonly type: 'FileClaim';
  readonly data: ClaimFiled['data'];
  /** Evidence that merchant and installation accept. */
  readonly accepted: readonly EvidenceKind[];
}
export interface RejectClaim {
  readonly type: 'RejectClaim';
  readonly claimId: string;
  readonly reason: string | null;
  readonly nowSec: number;
  /** For a session that becomes paid with the money that its refund held. */
  readonly valuation: Valuation | null;
}

export type ClaimCommand = FileClaim | RejectClaim;

/** An approval by the merchant, and how long it waits before anything is signed. */
export interface ApprovedClaim {
  readonly claimId: string;
  readonly accepted: readonly EvidenceKind[];
  readonly waitSec: number;
}

/**
 * Limit of open claims, because anyone with the payer's link can file them. Those with a signature are counted
 * separately, so that nobody without the key can crowd them out.
 */
const MAX_OPEN_CLAIMS = 5;
const MAX_CLAIMS = 20;
/** Allowed difference between the clocks of two processes: what one withdraws the other must not be signing. */
const WITHDRAWAL_MARGIN_SEC = 60;

/** `isOver`: the session is neither open nor waiting for money on its way. */
export function decideClaim(command: ClaimCommand, context: SessionContext, isOver: boolean): Decision<SessionEvent> {
  return command.type === 'FileClaim' ? file(command, context, isOver) : reject(command, context);
}

function file({ data, accepted }: FileClaim, context: SessionContext, isOver: boolean): Decision<SessionEvent> {
  const known = Object.hasOwn(context.claims, data.claimId) ? context.claims[data.claimId]?.filed : undefined;
  if (known)
    return isSame(known, data)
      ? accept()
      : refuse('conflict', 'another claim of the payment has the same number: start again', 'number');
  if (!isOver) return refuse('conflict', 'the payment is still open: only money of an ended payment can be claimed');
  const fault =
    kindFault(data.evidence.kind, accepted) ??
    depositFault(context, data) ??
    payeeFault(context, data) ??
    numberFault(context, data);
  return fault ? { ok: false, refusal: fault } : accept({ type: 'ClaimFiled', data });
}

const isSame = (one: ClaimFiled['data'], other: ClaimFiled['data']): boolean =>
  one.depositKey === other.depositKey && one.payee === other.payee && one.evidence.kind === other.evidence.kind;

const invalid = (param: string, message: string): Refusal => ({ code: 'invalid_request', message, param });

const kindFault = (kind: EvidenceKind, accepted: readonly EvidenceKind[]): Refusal | null =>
  accepted.includes(kind) ? null : invalid('evidence', `the shop accepts no claims with ${kind} as evidence`);

function depositFault(context: SessionContext, { depositKey, evidence }: ClaimFiled['data']): Refusal | null {
  const deposit = context.deposits[depositKey];
  if (!deposit || deposit.aside !== undefined)
    return invalid('transaction_id', 'transaction_id is not a deposit of this session');
  if (deposit.status !== 'final') return invalid('transaction_id', `the deposit is ${deposit.status}, not final`);
  if (leftOf(deposit, takenByDeposit(context)) === 0n)
    return {
      code: 'refund_exceeds_paid',
      message: 'nothing is left of the deposit: it was refunded',
      param: 'transaction_id',
    };
  const hasSender = deposit.facts.fromAddress !== null;
  if (hasSender === (evidence.kind !== 'no_sender')) return null;
  return invalid(
    'evidence',
    hasSender
      ? 'the deposit has a sender, so its evidence must prove that sender'
      : 'the deposit has no single sender, so no_sender is its evidence',
  );
}

function payeeFault(context: SessionContext, { depositKey, payee }: ClaimFiled['data']): Refusal | null {
  const { network, fromAddress } = must(context.deposits[depositKey]).facts;
  if (fromAddress !== null && person(network, payee) === person(network, fromAddress))
    return invalid('payee', 'the payee is the address that paid, which is refunded without a claim');
  const isOurs = createdOf(context).paymentOptions.some(
    (option) => person(option.network, option.address) === person(network, payee),
  );
  return isOurs ? invalid('payee', 'the payee is a collection address of this payment') : null;
}

function numberFault(context: SessionContext, { evidence }: ClaimFiled['data']): Refusal | null {
  const others = Object.values(context.claims);
  const isSigned = evidence.kind === 'signature';
  const alike = others.filter(({ filed }) => (filed.evidence.kind === 'signature') === isSigned);
  if (alike.length >= MAX_CLAIMS)
    return { code: 'conflict', message: `a payment has at most ${MAX_CLAIMS} such claims` };
  if (alike.filter(({ status }) => status === 'open').length >= MAX_OPEN_CLAIMS)
    return {
      code: 'conflict',
      message: `${MAX_OPEN_CLAIMS} claims of the payment are open: the shop must decide on one first`,
    };
  const isUsed = (other: ClaimState): boolean =>
    (evidence.kind === 'signature' &&
      other.filed.evidence.kind === 'signature' &&
      other.filed.evidence.number === evidence.number) ||
    (evidence.kind === 'test_payment' &&
      other.filed.evidence.kind === 'test_payment' &&
      other.filed.evidence.amount === evidence.amount);
  return others.some(isUsed)
    ? { code: 'conflict', message: 'another claim of the payment has the same number: start again', param: 'evidence' }
    : null;
}

/** The payout of an approval, once its evidence is complete. */
export function claimToPay(
  context: SessionContext,
  { claimId, accepted, waitSec }: ApprovedClaim,
  nowSec: number,
):
  | { readonly ok: true; readonly claim: RefundClaim; readonly pay: ClaimToPay }
  | { readonly ok: false; readonly refusal: Refusal } {
  const refused = (refusal: Refusal) => ({ ok: false, refusal }) as const;
  const known = Object.hasOwn(context.claims, claimId) ? context.claims[claimId] : undefined;
  if (!known) return refused({ code: 'not_found', message: 'no such claim', param: 'claim_id' });
  if (known.status !== 'open')
    return refused({ code: 'conflict', message: `the claim is already ${known.status}`, param: 'claim_id' });
  const { payee, evidence, depositKey } = known.filed;
  const fault = kindFault(evidence.kind, accepted);
  if (fault) return refused({ ...fault, param: 'claim_id' });
  const deposits = depositsOfClaim(context, known);
  if (deposits) return { ok: true, claim: { claimId, payableFromSec: nowSec + waitSec }, pay: { payee, deposits } };
  if (evidence.kind !== 'test_payment')
    return refused({ code: 'conflict', message: 'the deposit is no longer what the claim was for', param: 'claim_id' });
  const { network, coin, fromAddress } = must(context.deposits[depositKey]).facts;
  const message = `the test payment of exactly ${evidence.amount} ${coin} from ${fromAddress} on ${network} has not arrived, is not final or was refunded`;
  return refused({ code: 'conflict', message, param: 'claim_id' });
}

/** Rejects an open claim, or withdraws an approved one before anything may have been signed for it. */
function reject({ claimId, reason, nowSec, valuation }: RejectClaim, context: SessionContext): Decision<SessionEvent> {
  const claim = Object.hasOwn(context.claims, claimId) ? context.claims[claimId] : undefined;
  if (!claim) return refuse('not_found', 'no such claim', 'claim_id');
  if (claim.status === 'rejected') return accept();
  const rejected: SessionEvent = { type: 'ClaimRejected', data: { claimId, reason, rejectedAtSec: nowSec } };
  if (claim.status === 'open') return accept(rejected);
  const { requested, legs, status, units } = must(context.refunds[must(claim.refundId)]);
  if (status === 'FAILED') return refuse('conflict', `its refund ${requested.refundId} has already failed`, 'claim_id');
  if (status !== 'PENDING' || nowSec >= must(requested.claim).payableFromSec - WITHDRAWAL_MARGIN_SEC)
    return refuse('conflict', `its refund of ${formatAmount(units)} ${requested.coin} is being paid`, 'claim_id');
  const { leg } = must(Object.values(legs)[0]);
  const failed = decidePayout(
    {
      type: 'FailPayout',
      refundId: requested.refundId,
      legId: leg.legId,
      reason: 'claim_rejected',
      networkFee: null,
      nowSec,
      valuation,
    },
    context,
  );
  return failed.ok ? accept(rejected, ...failed.events) : failed;
}
