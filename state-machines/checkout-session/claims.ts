import type { ClaimFiled, ClaimRejected } from '../../src/domain/events/claim-events.ts';
import type { RefundRequested } from '../../src/domain/events/refund-events.ts';
import { amountOf } from '../../src/domain/money/money.ts';
import { addressFamilyOf, comparableAddress, type Network } from '../../src/domain/networks/networks.ts';
import {
  depositsOf,
  leftOf,
  takenByDeposit,
  type ClaimState,
  type DepositState,
  type SessionContext,
} from './session.state.ts';
import { must } from '../../src/domain/values/must.ts';

/* Payers' claims, and the deposits that prove and pay them. */

type Data<Event extends { readonly data: unknown }> = Event['data'];

/** Identifies a person by address; the same address on Ethereum and BSC is the same person. */
export function person(network: Network, address: string | null): string {
  const family = addressFamilyOf(network);
  return `${family}:${address === null ? null : comparableAddress(family, address)}`;
}

/** Allowed error of block times, which producers choose. */
const BLOCK_TIME_MARGIN_SEC = 60;

/**
 * Another deposit from the same sender, after the claim was filed, of exactly the amount given to the claim; null if
 * there is none.
 */
function testPaymentOf(context: SessionContext, { filed }: ClaimState, claimed: DepositState): DepositState | null {
  const { evidence, filedAtSec } = filed;
  if (evidence.kind !== 'test_payment') return null;
  const taken = takenByDeposit(context);
  const isIt = (deposit: DepositState): boolean =>
    deposit !== claimed &&
    deposit.facts.network === claimed.facts.network &&
    deposit.facts.coin === claimed.facts.coin &&
    deposit.facts.fromAddress !== null &&
    person(deposit.facts.network, deposit.facts.fromAddress) ===
      person(claimed.facts.network, claimed.facts.fromAddress) &&
    deposit.units === amountOf(evidence.amount) &&
    leftOf(deposit, taken) === deposit.units &&
    deposit.facts.blockTimeSec >= filedAtSec - BLOCK_TIME_MARGIN_SEC;
  return depositsOf(context).find(isIt) ?? null;
}

/** The deposits that a claim pays back, its test payment first; null while its evidence is missing. */
export function depositsOfClaim(context: SessionContext, claim: ClaimState): readonly DepositState[] | null {
  const claimed = context.deposits[claim.filed.depositKey];
  if (!claimed || claimed.aside !== undefined) return null;
  const sentBy = claimed.facts.fromAddress;
  switch (claim.filed.evidence.kind) {
    case 'signature':
      return sentBy === null ? null : [claimed];
    case 'no_sender':
      return sentBy === null ? [claimed] : null;
    case 'test_payment': {
      const test = sentBy === null ? null : testPaymentOf(context, claim, claimed);
      return test && [test, claimed];
    }
  }
}

/** Whether the refund pays an open and proven claim, to the named payee, from its own deposits. */
export function paysItsClaim(context: SessionContext, { claim: paid, legs }: Data<RefundRequested>): boolean {
  const claim = paid && context.claims[paid.claimId];
  const deposits = claim?.status === 'open' ? depositsOfClaim(context, claim) : null;
  const first = deposits?.[0];
  if (!claim || !deposits || !first) return false;
  const keys = deposits.map(({ facts }) => facts.depositKey);
  return legs.every(
    ({ network, toAddress, takenFrom }) =>
      network === first.facts.network &&
      toAddress === claim.filed.payee &&
      takenFrom.length === keys.length &&
      takenFrom.every(({ depositKey }, index) => depositKey === keys[index]),
  );
}

/* Fold and guards. */

export const isNewClaim = ({ created, claims }: SessionContext, { claimId }: Data<ClaimFiled>): boolean =>
  created !== null && claims[claimId] === undefined;

export const foldClaimFiled = ({ claims }: SessionContext, filed: Data<ClaimFiled>): Partial<SessionContext> => ({
  claims: { ...claims, [filed.claimId]: { filed, status: 'open', refundId: null, rejected: null } },
});

/** An approved claim can be rejected only while nothing is signed for its refund. */
export function isRejectableClaim({ claims, refunds }: SessionContext, { claimId }: Data<ClaimRejected>): boolean {
  const claim = claims[claimId];
  if (claim?.status !== 'approved') return claim?.status === 'open';
  return Object.values(must(refunds[must(claim.refundId)]).legs).every(({ status }) => status === 'PENDING');
}

export const foldClaimRejected = (
  { claims }: SessionContext,
  rejected: Data<ClaimRejected>,
): Partial<SessionContext> => ({
  claims: { ...claims, [rejected.claimId]: { ...must(claims[rejected.claimId]), status: 'rejected', rejected } },
});

export const foldClaimApproved = (
  { claims }: SessionContext,
  { claim, refundId }: Data<RefundRequested>,
): Partial<SessionContext> =>
  claim === undefined
    ? {}
    : { claims: { ...claims, [claim.claimId]: { ...must(claims[claim.claimId]), status: 'approved', refundId } } };
