import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EVIDENCE_KINDS, type ClaimEvidence, type EvidenceKind } from '../../src/domain/claims.ts';
import type { DepositFacts } from '../../src/domain/events/session-events.ts';
import type { RefundRequested } from '../../src/domain/events/refund-events.ts';
import type { RefundId } from '../../src/domain/values/ids.ts';
import { amountOf } from '../../src/domain/money/money.ts';
import { sessionTable } from '../../src/features/shared/handlers/session-handler.ts';
import {
  decideSession,
  type SessionCommand,
  type SessionState,
} from '../../state-machines/checkout-session/session.decider.ts';
import type { SessionContext } from '../../state-machines/checkout-session/session.state.ts';
import {
  CREATED_AT,
  createdFacts,
  depositFacts,
  EXPIRES_AT,
  refundCommand,
  depositConfirmed,
} from '../support/session-facts.ts';
import { runsOf } from '../support/runs.ts';

const HOUR = 3600;
const LATER = EXPIRES_AT + HOUR;
const TESTS = ['1.0001', '1.0002', '1.0003'];
const keyOf = (tx: number): string => `ethereum:0x${tx}:0`;
const tx = fc.integer({ min: 0, max: 5 });
const n = fc.integer({ min: 1, max: 5 });

interface Paid {
  readonly tx: number;
  readonly from: string | null;
  readonly amount: string;
  readonly late: boolean;
}
function paying({ tx, from, amount, late }: Paid): SessionCommand[] {
  const facts = depositFacts({
    txHash: `0x${tx}`,
    amount,
    fromAddress: from,
    blockTimeSec: late ? LATER + HOUR : CREATED_AT + 60,
  });
  const { data } = depositConfirmed(facts);
  return [
    { type: 'RecordDeposit', facts },
    { type: 'ConfirmDeposit', data, nowSec: LATER, valuation: null },
  ];
}
const pay = fc
  .record({
    tx,
    from: fc.constantFrom('0xPayer', '0xOther', null),
    amount: fc.constantFrom('10.00', '4.00', ...TESTS),
    late: fc.boolean(),
  })
  .map(paying);
const evidence = fc.oneof(
  n.map((number): ClaimEvidence => ({ kind: 'signature', number: `n${number}`, signature: '0x' })),
  fc.constantFrom(...TESTS).map((amount): ClaimEvidence => ({ kind: 'test_payment', amount })),
  fc.constant<ClaimEvidence>({ kind: 'no_sender' }),
);
const accepted = fc.oneof(
  { arbitrary: fc.constant<readonly EvidenceKind[]>(EVIDENCE_KINDS), weight: 4 },
  fc.subarray([...EVIDENCE_KINDS]),
);
const file = fc
  .record({
    n,
    tx,
    evidence,
    accepted,
    payee: fc.constantFrom('0xPayee', '0xElse', '0xPayer', createdFacts().paymentOptions[0]!.address),
  })
  .map(({ n, tx, evidence, accepted, payee }): SessionCommand[] => [
    {
      type: 'FileClaim',
      data: { claimId: `c${n}`, depositKey: keyOf(tx), payee, evidence, reason: null, filedAtSec: LATER },
      accepted,
    },
  ]);
interface Asked {
  readonly id: number;
  readonly claim: number | null;
  readonly tx: number | null;
  readonly accepted: readonly EvidenceKind[];
  readonly cents: bigint | null;
}
type Step = SessionCommand | ((context: SessionContext) => SessionCommand);
const approving =
  ({ id, claim, tx, accepted, cents }: Asked): Step =>
  (context) =>
    refundCommand({
      ...{ refundId: `re_${id}` as RefundId, units: cents && cents * 10n ** 16n, nowSec: LATER },
      namedDeposit:
        (claim === null ? undefined : context.claims[`c${claim}`]?.filed.depositKey) ??
        (tx === null ? null : keyOf(tx)),
      claim: claim === null ? null : { claimId: `c${claim}`, accepted, waitSec: 24 * HOUR },
    });
const refund = fc
  .record({
    id: n,
    claim: fc.option(n),
    tx: fc.option(tx),
    accepted,
    cents: fc.option(fc.bigInt({ min: 1n, max: 1200n })),
  })
  .map((asked) => [approving(asked)]);
/** A claim with the test payment that it asks for and its approval, which random steps would seldom make. */
const prove = fc
  .record({ n, claimed: tx, tested: fc.integer({ min: 6, max: 9 }), amount: fc.constantFrom(...TESTS) })
  .map(({ n, claimed, tested, amount }): Step[] => {
    const data = {
      claimId: `c${n}`,
      depositKey: keyOf(claimed),
      payee: '0xPayee',
      evidence: { kind: 'test_payment' as const, amount },
      reason: null,
    };
    return [
      ...paying({ tx: claimed, from: '0xPayer', amount: '10.00', late: false }),
      { type: 'FileClaim', data: { ...data, filedAtSec: LATER }, accepted: EVIDENCE_KINDS },
      ...paying({ tx: tested, from: '0xPayer', amount, late: true }),
      approving({ id: n, claim: n, tx: null, accepted: EVIDENCE_KINDS, cents: null }),
    ];
  });
const reject = fc.record({ n, late: fc.boolean() }).map(({ n, late }): SessionCommand[] => [
  {
    type: 'RejectClaim',
    claimId: `c${n}`,
    reason: null,
    nowSec: late ? LATER + 25 * HOUR : LATER + 1,
    valuation: null,
  },
]);
const payout = fc.record({ id: n, fails: fc.boolean() }).map(({ id, fails }): SessionCommand[] => {
  const of = { refundId: `re_${id}` as RefundId, legId: `re_${id}-1` };
  if (fails)
    return [
      { type: 'FailPayout', ...of, reason: 'recipient_frozen', networkFee: null, nowSec: LATER, valuation: null },
    ];
  const bytes = { txHash: `0xp${id}`, signedBytes: '0x', fromAddress: '0xT', signedAtSec: LATER };
  const data = { ...of, attempt: 1, ...bytes, validity: { kind: 'evm-nonce' as const, nonce: id, maxFeePerGas: '1' } };
  return [{ type: 'RecordPayoutSigned', data, replaces: null }];
});
const reorganise = tx.map((tx): SessionCommand[] => [
  { type: 'RevertDeposit', depositKey: keyOf(tx), reason: 'reorg', headNumber: 300, revertedAtSec: LATER },
]);
const history = fc
  .array(
    fc.oneof(
      { arbitrary: pay, weight: 5 },
      { arbitrary: file, weight: 5 },
      { arbitrary: prove, weight: 3 },
      { arbitrary: refund, weight: 6 },
      ...[reject, payout, reorganise].map((arbitrary: fc.Arbitrary<Step[]>) => ({ arbitrary, weight: 1 })),
    ),
    { minLength: 5, maxLength: 50 },
  )
  .map((steps): Step[] => [
    { type: 'CreateSession', data: createdFacts() },
    { type: 'CancelSession', nowSec: CREATED_AT + 100 },
    ...steps.flat(),
  ]);

const isOther = ({ deposits }: SessionContext, { depositKey, amount, fromAddress }: DepositFacts): boolean => {
  const known = deposits[depositKey]?.facts;
  return known !== undefined && (known.amount !== amount || known.fromAddress !== fromAddress);
};

/** What must hold of evidence, said once more and in other words than the decider's. */
function expectProven(before: SessionContext, { claim, legs }: RefundRequested['data']): EvidenceKind {
  const { filed, status } = before.claims[claim!.claimId]!;
  const claimed = before.deposits[filed.depositKey]!.facts;
  const [leg, ...others] = legs;
  expect([others.length, leg!.toAddress, status]).toEqual([0, filed.payee, 'open']);
  const [first, ...rest] = leg!.takenFrom.map(({ depositKey }) => before.deposits[depositKey]!);
  switch (filed.evidence.kind) {
    case 'signature':
      expect([rest.length, first!.facts.depositKey, claimed.fromAddress === null]).toEqual([
        0,
        filed.depositKey,
        false,
      ]);
      break;
    case 'no_sender':
      expect([rest.length, first!.facts.depositKey, claimed.fromAddress]).toEqual([0, filed.depositKey, null]);
      break;
    case 'test_payment':
      expect(rest.map(({ facts }) => facts.depositKey)).toEqual([filed.depositKey]);
      expect(first!.facts.depositKey).not.toBe(filed.depositKey);
      expect([first!.status, first!.facts.amount, first!.facts.fromAddress]).toEqual([
        'final',
        filed.evidence.amount,
        claimed.fromAddress,
      ]);
      expect(first!.facts.blockTimeSec).toBeGreaterThan(LATER - 61);
  }
  return filed.evidence.kind;
}

describe('over random deposits, claims, test payments, approvals, refunds, rejections and reorganisations', () => {
  it('no deposit is paid twice, and nobody who did not pay is paid without evidence', () => {
    const proven = new Set<EvidenceKind>();
    fc.assert(
      fc.property(history, (steps) => {
        let state: SessionState = sessionTable.initial;
        for (const step of steps) {
          const command = typeof step === 'function' ? step(state.context) : step;
          // One transfer is always the same, however often a reorganisation takes it.
          if (command.type === 'RecordDeposit' && isOther(state.context, command.facts)) continue;
          const decision = decideSession(command, state);
          if (!decision.ok) continue;
          for (const event of decision.events) {
            if (event.type !== 'RefundRequested') continue;
            if (event.data.claim) proven.add(expectProven(state.context, event.data));
            else
              for (const { toAddress, takenFrom } of event.data.legs)
                for (const { depositKey } of takenFrom)
                  expect(state.context.deposits[depositKey]!.facts.fromAddress).toBe(toAddress);
          }
          // The machine refuses, with an exception, what the decider must not propose.
          state = sessionTable.replay(decision.events, state);
          const taken = new Map<string, bigint>();
          for (const { leg, status } of Object.values(state.context.refunds).flatMap(({ legs }) => Object.values(legs)))
            if (status !== 'FAILED')
              for (const { depositKey, amount } of leg.takenFrom)
                taken.set(depositKey, (taken.get(depositKey) ?? 0n) + amountOf(amount));
          for (const [key, units] of taken) expect(units).toBeLessThanOrEqual(state.context.deposits[key]!.units);
        }
      }),
      { numRuns: runsOf(600) },
    );
    expect([...proven].sort()).toEqual([...EVIDENCE_KINDS].sort());
  });
});
