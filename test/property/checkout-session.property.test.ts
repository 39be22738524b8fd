import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { transition, type AnyMachineSnapshot } from 'xstate';
import type { SessionEvent } from '../../src/domain/events/session-events.ts';
import type { RefundId } from '../../src/domain/ids.ts';
import { sessionTable } from '../../src/use-cases/session-handler.ts';
import { decideSession, type SessionCommand, type SessionState } from '../../state-machines/checkout-session.decider.ts';
import { checkoutSessionMachine } from '../../state-machines/checkout-session.machine.ts';
import { finalOf, received, refundable, refundedOrReserved } from '../../state-machines/checkout-session.state.ts';
import { createdFacts, depositFacts, EXPIRES_AT } from '../support/session-facts.ts';

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
  })),
  fc.integer({ min: -5, max: 5 }).map((offset): SessionCommand => ({ type: 'CancelSession', nowSec: EXPIRES_AT + offset })),
  fc.integer({ min: -5, max: 5 }).map((offset): SessionCommand => ({ type: 'ExpireSession', nowSec: EXPIRES_AT + offset, scannedToSec: {} })),
  fc
    .record({
      id: fc.integer({ min: 1, max: 5 }),
      cents: fc.option(fc.integer({ min: 0, max: 1500 })),
      coin: fc.constantFrom('USDT' as const, 'USDC' as const),
    })
    .map(({ id, cents, coin }): SessionCommand => ({
      type: 'RequestRefund',
      refundId: `re_${id}` as RefundId,
      coin,
      units: cents === null ? null : BigInt(cents) * 10n ** 16n,
      asked: null,
      reason: null,
      idempotencyStream: null,
      acknowledgedSender: false,
      senders: {},
      nowSec: EXPIRES_AT,
    })),
);

const history = fc
  .array(command, { maxLength: 40 })
  .map((commands): SessionCommand[] => [{ type: 'CreateSession', data: createdFacts() }, ...commands]);

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
  it('never proposes what its machine refuses, and a repeated command adds nothing', () => {
    fc.assert(
      fc.property(history, (commands) => {
        let state: SessionState = sessionTable.initial;
        for (const one of commands) {
          const decision = decideSession(one, state);
          if (!decision.ok) continue;
          state = sessionTable.replay(decision.events, state);
          const again = decideSession(one, state);
          if (again.ok) expect(again.events).toEqual([]);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('never refunds or reserves more than was final when it was asked, and never goes back from paid', () => {
    fc.assert(
      fc.property(history, (commands) => {
        run(commands, (before, after, events) => {
          if (before.value === 'paid') expect(after.value).toBe('paid');
          if (before.value === 'cancelled') expect(after.value).toBe('cancelled');
          for (const event of events) {
            if (event.type !== 'RefundRequested') continue;
            expect(refundedOrReserved(after.context, event.data.coin)).toBeLessThanOrEqual(finalOf(before.context, event.data.coin));
            expect(refundable(after.context, event.data.coin)).toBeGreaterThanOrEqual(0n);
          }
          expect(after.context.expiresAtSec).toBeLessThanOrEqual(Math.max(before.context.expiresAtSec, EXPIRES_AT));
        });
      }),
      { numRuns: 300 },
    );
  });

  it('is paid exactly when final on-time money reached the due amount in a state that can be paid', () => {
    fc.assert(
      fc.property(history, (commands) => {
        run(commands, (before, after, events) => {
          const pays = events.some((event) => event.type === 'SessionPaid');
          expect(pays).toBe(before.value !== 'paid' && after.value === 'paid');
          if (pays) expect(received(after.context)).toBeGreaterThanOrEqual(after.context.due);
        });
      }),
      { numRuns: 300 },
    );
  });

  it('moves by the compiled table exactly as by XState itself', () => {
    fc.assert(
      fc.property(history, (commands) => {
        const { events } = run(commands);
        let table: SessionState = sessionTable.initial;
        let snapshot = checkoutSessionMachine.resolveState({
          value: 'absent',
          context: checkoutSessionMachine.config.context as never,
        }) as AnyMachineSnapshot;
        for (const event of events) {
          expect(snapshot.can(event)).toBe(sessionTable.can(table, event));
          [snapshot] = transition(checkoutSessionMachine as never, snapshot as never, event as never) as unknown as [AnyMachineSnapshot];
          table = sessionTable.next(table, event)!;
          expect({ value: snapshot.value, context: snapshot.context }).toEqual({ value: table.value, context: table.context });
        }
      }),
      { numRuns: 100 },
    );
  });

  it('agrees with XState on events that are illegal now', () => {
    const stray = fc.tuple(history, history);
    fc.assert(
      fc.property(stray, ([one, other]) => {
        const { state } = run(one);
        const snapshot = checkoutSessionMachine.resolveState({ value: state.value, context: state.context });
        for (const event of run(other).events) expect(snapshot.can(event)).toBe(sessionTable.can(state, event));
      }),
      { numRuns: 100 },
    );
  });
});
