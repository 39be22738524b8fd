import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/domain/events/session-events.ts';
import { sessionTable } from '../../src/features/shared/handlers/session-handler.ts';
import type { RefundId } from '../../src/domain/values/ids.ts';
import {
  decideSession,
  type SessionCommand,
  type SessionState,
} from '../../state-machines/checkout-session/session.decider.ts';
import { coverOf } from '../../state-machines/checkout-session/refund-cover.ts';
import { sessionStream } from '../../src/domain/values/streams.ts';
import { MemoryBooks } from '../support/books.ts';
import { countedWork } from '../support/counted-work.ts';
import { runsOf } from '../support/runs.ts';
import {
  createdFacts,
  depositConfirmed,
  depositFacts,
  depositReverted,
  EXPIRES_AT,
  refundCommand,
  SESSION_ID,
} from '../support/session-facts.ts';

/** What strangers can do to one address, in some proportion. */
const crowd = fc.record({
  amount: fc.constantFrom('0.001', '0.02', '1.00'),
  coin: fc.constantFrom('USDT' as const, 'USDC' as const),
  late: fc.boolean(),
  payers: fc.integer({ min: 1, max: 3 }),
  reverts: fc.boolean(),
});

type Crowd = typeof crowd extends fc.Arbitrary<infer Drawn> ? Drawn : never;

function commandsOf(number: number, { amount, coin, late, payers, reverts }: Crowd): SessionCommand[] {
  const paid = Array.from({ length: number }, (_, index): SessionCommand[] => {
    const facts = depositFacts({
      ...{ txHash: `0x${index}`, amount, coin, blockNumber: 100 + index, fromAddress: `0xP${index % payers}` },
      blockTimeSec: late ? EXPIRES_AT + index : EXPIRES_AT - number + index,
    });
    return [
      { type: 'RecordDeposit', facts },
      { type: 'ConfirmDeposit', data: depositConfirmed(facts).data, nowSec: EXPIRES_AT - 1, valuation: null },
      ...(reverts && index % 3 === 0
        ? [{ type: 'RevertDeposit', ...depositReverted(facts.depositKey, { headNumber: 500 }).data } as const]
        : []),
    ];
  });
  return [{ type: 'CreateSession', data: createdFacts() }, ...paid.flat()];
}

function run(commands: readonly SessionCommand[]): { state: SessionState; events: SessionEvent[] } {
  let state: SessionState = sessionTable.initial;
  const events: SessionEvent[] = [];
  for (const command of commands) {
    const decision = decideSession(command, state);
    if (!decision.ok) continue;
    state = sessionTable.replay(decision.events, state);
    events.push(...decision.events);
  }
  return { state, events };
}

/** Twice the deposits may take twice the work, and a little for what is sorted. */
const TWICE = 2.2;

/** Bytes of the rows that the books write for it, each time an event is booked. */
function bookedBytes(events: readonly SessionEvent[]): number {
  const books = new MemoryBooks();
  for (const [at, event] of events.entries()) books.take(sessionStream(SESSION_ID), event, at);
  return books.writtenBytes;
}

describe('the work for a session with many deposits', () => {
  it('grows with their number in the books: rows and what is written', () => {
    const crowd = { amount: '1.00', coin: 'USDT', late: false, payers: 2, reverts: true } as const;
    const [once, twice] = [40, 80].map((number) => run(commandsOf(number, crowd)).events);
    expect(bookedBytes(twice!)).toBeLessThan(TWICE * bookedBytes(once!));
    const [few, many] = [once!, twice!].map((events) => countedWork(() => bookedBytes(events)));
    expect(many!).toBeLessThan(TWICE * few! + 50);
  });

  it('grows with their number, whatever they are: decided, replayed and refunded', () => {
    fc.assert(
      fc.property(crowd, (drawn) => {
        const work = (number: number): number[] => {
          const commands = commandsOf(number, drawn);
          const refund: SessionCommand = {
            ...refundCommand(),
            ...{ refundId: 're_1' as RefundId, coin: drawn.coin, units: null, acknowledgedSender: true },
          };
          const { state, events } = run(commands);
          const asked = decideSession(refund, state);
          return [
            () => run(commands),
            () => sessionTable.replay(events),
            () => decideSession(refund, state),
            () => asked.ok && coverOf(sessionTable.replay(asked.events, state).context, 're_1-1'),
          ].map(countedWork);
        };
        const once = work(60);
        const twice = work(120);
        for (const [index, count] of twice.entries()) expect(count).toBeLessThan(TWICE * once[index]! + 50);
      }),
      { numRuns: runsOf(8) },
    );
  });
});
