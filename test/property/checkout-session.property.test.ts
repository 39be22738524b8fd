import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { transition, type AnyMachineSnapshot } from 'xstate';
import type { SessionEvent } from '../../src/domain/events/session-events.ts';
import type { RefundId } from '../../src/domain/values/ids.ts';
import { amountOf, formatAmount } from '../../src/domain/money/money.ts';
import { sessionTable } from '../../src/features/shared/handlers/session-handler.ts';
import {
  decideSession,
  type SessionCommand,
  type SessionState,
} from '../../state-machines/checkout-session/session.decider.ts';
import { checkoutSessionMachine } from '../../state-machines/checkout-session/session.machine.ts';
import { arrived, refundable } from '../../state-machines/checkout-session/session.state.ts';
import { plainSums, takenByDeposit } from '../support/plain-session-sums.ts';
import {
  choiceFacts,
  createdFacts,
  depositFacts,
  EXPIRES_AT,
  refundCommand,
  depositConfirmed,
} from '../support/session-facts.ts';
import { runsOf } from '../support/runs.ts';

const deposit = fc.record({
  tx: fc.integer({ min: 1, max: 4 }),
  network: fc.constantFrom('ethereum' as const, 'bsc' as const, 'tron' as const),
  coin: fc.constantFrom('USDT' as const, 'USDC' as const),
  cents: fc.integer({ min: 0, max: 1200 }),
  late: fc.boolean(),
  payer: fc.constantFrom('0xA', '0xB', null),
});
const factsOf = (drawn: {
  tx: number;
  network: 'ethereum' | 'bsc' | 'tron';
  coin: 'USDT' | 'USDC';
  cents: number;
  late: boolean;
  payer: string | null;
}) =>
  depositFacts({
    txHash: `0x${drawn.tx}`,
    network: drawn.network,
    coin: drawn.coin,
    amount: `${Math.floor(drawn.cents / 100)}.${String(drawn.cents % 100).padStart(2, '0')}`,
    fromAddress: drawn.payer,
    blockTimeSec: drawn.late ? EXPIRES_AT + 5 : EXPIRES_AT - 5,
  });

const leg = fc.record({ refund: fc.integer({ min: 1, max: 2 }), leg: fc.integer({ min: 1, max: 2 }) });
const place = (drawn: { refund: number; leg: number }) => ({
  refundId: `re_${drawn.refund}` as RefundId,
  legId: `re_${drawn.refund}-${drawn.leg}`,
});
const txOf = (legId: string, attempt: number): string => `0x${legId}-${attempt}`;

/** What the payout process may say about a leg, in any order, true or not. */
const payoutCommand: fc.Arbitrary<SessionCommand> = fc.oneof(
  fc.tuple(leg, fc.integer({ min: 1, max: 2 })).map(([drawn, attempt]): SessionCommand => {
    const { refundId, legId } = place(drawn);
    const bytes = {
      txHash: txOf(legId, attempt),
      signedBytes: '0x02',
      fromAddress: '0xTreasury',
      signedAtSec: EXPIRES_AT,
    };
    const data = {
      refundId,
      legId,
      attempt,
      ...bytes,
      validity: { kind: 'evm-nonce' as const, nonce: drawn.refund, maxFeePerGas: String(attempt) },
    };
    return {
      type: 'RecordPayoutSigned',
      data,
      replaces: attempt === 1 ? null : { txHash: txOf(legId, attempt - 1), why: 'fee_bump' },
    };
  }),
  fc.tuple(leg, fc.integer({ min: 1, max: 2 })).map(([drawn, attempt]): SessionCommand => {
    const { refundId, legId } = place(drawn);
    const block = {
      blockNumber: 400,
      blockHash: '0xpaid',
      blockTimeSec: EXPIRES_AT,
      networkFee: '0.001',
      landedAtSec: EXPIRES_AT,
    };
    return {
      type: 'RecordPayoutLanded',
      data: { refundId, legId, txHash: txOf(legId, attempt), ...block },
      valuation: null,
    };
  }),
  fc.tuple(leg, fc.integer({ min: 1, max: 2 })).map(([drawn, attempt]): SessionCommand => {
    const { refundId, legId } = place(drawn);
    return { type: 'RecordPayoutReverted', data: { refundId, legId, txHash: txOf(legId, attempt), headNumber: 410 } };
  }),
  fc
    .tuple(leg, fc.constantFrom('recipient_frozen' as const, 'execution_reverted' as const))
    .map(([drawn, reason]): SessionCommand => ({
      ...{ type: 'FailPayout', ...place(drawn), reason, networkFee: null, nowSec: EXPIRES_AT, valuation: null },
    })),
);

const command: fc.Arbitrary<SessionCommand> = fc.oneof(
  fc.constant<SessionCommand>({ type: 'CreateSession', data: createdFacts() }),
  deposit.map((drawn): SessionCommand => ({ type: 'RecordDeposit', facts: factsOf(drawn) })),
  deposit.map((drawn): SessionCommand => {
    const facts = factsOf(drawn);
    const { depositKey, blockNumber, blockHash, blockTimeSec } = facts;
    return {
      type: 'ConfirmDeposit',
      data: { depositKey, rule: { kind: 'finalized' }, blockNumber, blockHash, blockTimeSec, headNumber: 300 },
      nowSec: EXPIRES_AT - 1,
      valuation: null,
    };
  }),
  deposit.map((drawn): SessionCommand => ({
    type: 'RevertDeposit',
    depositKey: factsOf(drawn).depositKey,
    reason: drawn.late ? 'failed' : 'reorg',
    headNumber: 300,
    revertedAtSec: 1_800_000_500,
  })),
  fc.tuple(fc.integer({ min: -10, max: 5 }), fc.integer({ min: -10, max: 5 })).map(([to, now]): SessionCommand => ({
    type: 'MoveDeadline',
    expiresAtSec: EXPIRES_AT + to,
    nowSec: EXPIRES_AT + now,
  })),
  fc
    .integer({ min: -5, max: 5 })
    .map((offset): SessionCommand => ({ type: 'CancelSession', nowSec: EXPIRES_AT + offset })),
  fc
    .integer({ min: -5, max: 5 })
    .map((offset): SessionCommand => ({ type: 'ExpireSession', nowSec: EXPIRES_AT + offset, scannedToSec: {} })),
  fc
    .record({
      id: fc.integer({ min: 1, max: 5 }),
      cents: fc.option(fc.integer({ min: 0, max: 1500 })),
      coin: fc.constantFrom('USDT' as const, 'USDC' as const),
    })
    .map(({ id, cents, coin }) =>
      refundCommand({
        refundId: `re_${id}` as RefundId,
        coin,
        units: cents === null ? null : BigInt(cents) * 10n ** 16n,
      }),
    ),
);

const history = fc
  .tuple(fc.constantFrom(createdFacts(), choiceFacts()), fc.array(command, { maxLength: 40 }))
  .map(([data, commands]): SessionCommand[] => [{ type: 'CreateSession', data }, ...commands]);

/**
 * Few transfers of either coin that come, become final and leave the chain, so that the coin is chosen, and chosen
 * again.
 */
const choosing = fc
  .array(
    fc.oneof(
      {
        arbitrary: fc
          .record({
            tx: fc.integer({ min: 1, max: 3 }),
            coin: fc.constantFrom('USDT' as const, 'USDC' as const),
            cents: fc.constantFrom(501, 1002),
            then: fc.constantFrom('confirm' as const, 'confirm' as const, 'revert' as const, 'wait' as const),
          })
          .map(({ tx, coin, cents, then }): SessionCommand[] => {
            const facts = factsOf({ tx, coin, cents, network: 'ethereum', late: false, payer: '0xA' });
            const { depositKey, blockNumber, blockHash, blockTimeSec } = facts;
            const data = {
              ...{ depositKey, blockNumber, blockHash, blockTimeSec, headNumber: 300 },
              rule: { kind: 'finalized' as const },
            };
            return [
              { type: 'RecordDeposit', facts },
              ...(then === 'confirm'
                ? [{ type: 'ConfirmDeposit' as const, data, nowSec: EXPIRES_AT - 1, valuation: null }]
                : []),
              ...(then === 'revert'
                ? [
                    {
                      type: 'RevertDeposit' as const,
                      depositKey,
                      reason: 'reorg' as const,
                      headNumber: 300,
                      revertedAtSec: EXPIRES_AT,
                    },
                  ]
                : []),
            ];
          }),
        weight: 3,
      },
      { arbitrary: command.map((one) => [one]), weight: 1 },
    ),
    { minLength: 3, maxLength: 20 },
  )
  .map((steps): SessionCommand[] => [{ type: 'CreateSession', data: choiceFacts() }, ...steps.flat()]);

const asked = (id: number, units: bigint): SessionCommand =>
  refundCommand({ refundId: `re_${id}` as RefundId, units: units * 10n ** 18n });

/** Two payers whose money is final, two refunds of it, and whatever may happen to their payouts. */
const refunding = fc
  .array(fc.oneof({ arbitrary: command, weight: 1 }, { arbitrary: payoutCommand, weight: 3 }), {
    minLength: 40,
    maxLength: 60,
  })
  .map((commands): SessionCommand[] => {
    const paid = (['0xA', '0xB'] as const).flatMap((payer, index): SessionCommand[] => {
      const facts = factsOf({ tx: 10 + index, network: 'ethereum', coin: 'USDT', cents: 600, late: false, payer });
      const { data } = depositConfirmed(facts);
      return [
        { type: 'RecordDeposit', facts },
        { type: 'ConfirmDeposit', data, nowSec: EXPIRES_AT - 1, valuation: null },
      ];
    });
    return [{ type: 'CreateSession', data: createdFacts() }, ...paid, asked(1, 7n), asked(2, 5n), ...commands];
  });

/** Runs the commands, holding the machine to everything the decider proposes. */
function run(
  commands: readonly SessionCommand[],
  step: (before: SessionState, after: SessionState, events: readonly SessionEvent[]) => void = () => undefined,
) {
  let state: SessionState = sessionTable.initial;
  const events: SessionEvent[] = [];
  for (const one of commands) {
    const decision = decideSession(one, state);
    if (!decision.ok) continue;
    const after = sessionTable.replay(decision.events, state);
    step(state, after, decision.events);
    events.push(...decision.events);
    state = after;
  }
  return { state, events };
}

describe('the checkout session, over random histories', () => {
  it('never proposes an event that its machine refuses, and a repeated command adds nothing', () => {
    fc.assert(
      fc.property(fc.oneof(history, refunding), (commands) => {
        let state: SessionState = sessionTable.initial;
        for (const one of commands) {
          const decision = decideSession(one, state);
          if (!decision.ok) continue;
          state = sessionTable.replay(decision.events, state);
          const again = decideSession(one, state);
          if (again.ok) expect(again.events).toEqual([]);
        }
      }),
      { numRuns: runsOf(300) },
    );
  });

  it('keeps sums that agree with their definitions, in every state that anybody may still hold', () => {
    fc.assert(
      fc.property(fc.oneof(history, refunding, choosing), fc.infiniteStream(fc.nat()), (commands, draws) => {
        const seen: { state: SessionState; deposits: unknown[] }[] = [];
        run(commands, (before, after) => {
          for (const state of [before, after]) {
            expect(state.context.deposits.sums).toEqual(plainSums(state.context));
            seen.push({ state, deposits: [...state.context.deposits] });
          }
          // Decisions on an older state must not disturb a newer one.
          const older = seen[draws.next().value! % seen.length]!;
          for (const one of commands) decideSession(one, older.state);
        });
        for (let looks = 0; looks < seen.length; looks++) {
          const { state, deposits } = seen[draws.next().value! % seen.length]!;
          expect([...state.context.deposits]).toEqual(deposits);
          expect(state.context.deposits.sums).toEqual(plainSums(state.context));
        }
      }),
      { numRuns: runsOf(200) },
    );
  });

  it('never refunds or reserves more of a deposit than was final at the request, and never leaves paid', () => {
    fc.assert(
      fc.property(fc.oneof(history, refunding), (commands) => {
        run(commands, (before, after, events) => {
          if (before.value === 'paid') expect(after.value).toBe('paid');
          if (before.value === 'cancelled') expect(after.value).toBe('cancelled');
          for (const event of events) {
            if (event.type !== 'RefundRequested') continue;
            const taken = takenByDeposit(after.context);
            for (const { depositKey } of event.data.legs.flatMap((leg) => leg.takenFrom)) {
              expect(before.context.deposits.get(depositKey)).toMatchObject({
                status: 'final',
                facts: { coin: event.data.coin },
              });
              expect(taken.get(depositKey)).toBeLessThanOrEqual(before.context.deposits.get(depositKey)!.units);
            }
            expect(refundable(after.context, event.data.coin)).toBeGreaterThanOrEqual(0n);
          }
          expect(after.context.expiresAtSec).toBeLessThanOrEqual(Math.max(before.context.expiresAtSec, EXPIRES_AT));
        });
      }),
      { numRuns: runsOf(300) },
    );
  });

  it('is paid exactly when final on-time money reached the due amount in a state that can be paid', () => {
    fc.assert(
      fc.property(history, (commands) => {
        run(commands, (before, after, events) => {
          const pays = events.some((event) => event.type === 'SessionPaid');
          expect(pays).toBe(before.value !== 'paid' && after.value === 'paid');
          if (pays) expect(arrived(after.context)).toBeGreaterThanOrEqual(after.context.due);
        });
      }),
      { numRuns: runsOf(300) },
    );
  });

  it('is paid in one coin, chosen by the first money that counts, and never by the same money twice', () => {
    const seen = { chosen: 0, paidInOther: 0, changed: 0 };
    fc.assert(
      fc.property(choosing, (commands) => {
        run(commands, (before, after, events) => {
          if (before.value === 'absent') return;
          const { created, deposits, due } = after.context;
          const there = [...deposits].filter(
            ({ kind, status }) => kind === 'on_time' && (status === 'detected' || status === 'final'),
          );
          expect(new Set(there.map(({ facts }) => facts.coin)).size).toBeLessThanOrEqual(1);
          for (const { facts } of there) expect(facts.coin).toBe(created!.dueCoin);
          expect(formatAmount(due)).toBe(created!.dueCoin === 'USDC' ? '10.02' : '10.00');
          for (const event of events) {
            if (event.type === 'CoinChosen') {
              seen.chosen += 1;
              if (event.data.coin === 'USDT') seen.changed += 1;
              // Only the money that chooses is there.
              expect(there.map(({ facts }) => facts.coin)).toEqual([event.data.coin]);
              expect([before.context.paid, before.context.cancelled, Object.keys(before.context.refunds)]).toEqual([
                null,
                null,
                [],
              ]);
            }
            if (event.type === 'SessionPaid') {
              const final = there.filter(({ status, facts }) => status === 'final' && facts.coin === event.data.coin);
              expect(event.data.coin).toBe(created!.dueCoin);
              expect(final.reduce((sum, { units }) => sum + units, 0n)).toBeGreaterThanOrEqual(
                amountOf(event.data.received),
              );
              expect(amountOf(event.data.received)).toBeGreaterThanOrEqual(due);
              if (event.data.coin === 'USDC') seen.paidInOther += 1;
            }
            // What went in as a coin goes out as that coin.
            if (event.type === 'RefundRequested')
              for (const { coin, takenFrom } of event.data.legs)
                for (const { depositKey } of takenFrom) expect(deposits.get(depositKey)!.facts.coin).toBe(coin);
          }
        });
      }),
      { numRuns: runsOf(400) },
    );
    for (const times of Object.values(seen)) expect(times).toBeGreaterThan(0);
  });

  it('ends each refund once, reports it correctly, and never goes back from signed', () => {
    let completed = 0;
    let reverted = 0;
    fc.assert(
      fc.property(refunding, (commands) => {
        const ends = new Map<string, number>();
        const { events } = run(commands, (before, after, happened) => {
          for (const [id, refund] of Object.entries(before.context.refunds)) {
            const now = after.context.refunds[id]!;
            // What was complete has failed when its payout left the chain and can never be in it again.
            const lostAgain =
              refund.status === 'COMPLETED' && Object.values(now.legs).some(({ status }) => status === 'FAILED');
            if (lostAgain) expect(now.status).toBe('FAILED');
            else if (refund.status === 'COMPLETED' || refund.status === 'FAILED')
              expect(now.status).toBe(refund.status);
            for (const { leg: of, status, txHashes } of Object.values(refund.legs)) {
              const leg = now.legs[of.legId]!;
              expect(leg.txHashes.slice(0, txHashes.length)).toEqual(txHashes);
              if (status !== 'PENDING') expect(leg.status).not.toBe('PENDING');
              if (status === 'FAILED') expect(leg.status).toBe('FAILED');
            }
          }
          for (const event of happened) {
            if (event.type === 'RefundPayoutReverted') reverted += 1;
            if (event.type !== 'RefundCompleted' && event.type !== 'RefundFailed') continue;
            const { refundId } = event.data;
            ends.set(`${refundId} ${event.type}`, (ends.get(`${refundId} ${event.type}`) ?? 0) + 1);
            const legs = Object.values(after.context.refunds[refundId]!.legs);
            const paidUnits = legs
              .filter(({ status }) => status === 'COMPLETED')
              .reduce((sum, { units }) => sum + units, 0n);
            if (event.type === 'RefundCompleted') expect(paidUnits).toBe(after.context.refunds[refundId]!.units);
            else expect(formatAmount(paidUnits)).toBe(event.data.amountReturned);
            if (event.type === 'RefundCompleted') completed += 1;
          }
        });
        for (const times of ends.values()) expect(times).toBe(1);
        expect(() => sessionTable.replay(events)).not.toThrow();
      }),
      { numRuns: runsOf(400) },
    );
    // The draw must reach what the property is about.
    expect(completed).toBeGreaterThan(0);
    expect(reverted).toBeGreaterThan(0);
  });

  it('has the same transitions in the compiled table as in XState', () => {
    fc.assert(
      fc.property(fc.oneof(history, refunding), (commands) => {
        const { events } = run(commands);
        let table: SessionState = sessionTable.initial;
        let snapshot = checkoutSessionMachine.resolveState({
          value: 'absent',
          context: checkoutSessionMachine.config.context as never,
        }) as AnyMachineSnapshot;
        for (const event of events) {
          expect(snapshot.can(event)).toBe(sessionTable.can(table, event));
          [snapshot] = transition(checkoutSessionMachine as never, snapshot as never, event as never) as unknown as [
            AnyMachineSnapshot,
          ];
          table = sessionTable.next(table, event)!;
          expect({ value: snapshot.value, context: snapshot.context }).toEqual({
            value: table.value,
            context: table.context,
          });
        }
      }),
      { numRuns: runsOf(100) },
    );
  });

  it('agrees with XState on events that are illegal now', () => {
    const unmatched = fc.tuple(history, history);
    fc.assert(
      fc.property(unmatched, ([one, other]) => {
        const { state } = run(one);
        const snapshot = checkoutSessionMachine.resolveState({ value: state.value, context: state.context });
        for (const event of run(other).events) expect(snapshot.can(event)).toBe(sessionTable.can(state, event));
      }),
      { numRuns: runsOf(100) },
    );
  });
});
