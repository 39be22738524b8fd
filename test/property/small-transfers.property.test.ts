import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DepositFacts, SessionEvent } from '../../src/domain/events/session-events.ts';
import { amountOf, formatAmount, fromTokenUnits } from '../../src/domain/money/money.ts';
import { sessionTable } from '../../src/features/shared/handlers/session-handler.ts';
import { DUST_KEPT } from '../../state-machines/checkout-session/deposits.decider.ts';
import {
  decideSession,
  type SessionCommand,
  type SessionState,
} from '../../state-machines/checkout-session/session.decider.ts';
import { held, isCounted } from '../../state-machines/checkout-session/session.state.ts';
import { plainSums } from '../support/plain-session-sums.ts';
import { createdFacts, depositConfirmed, depositFacts, EXPIRES_AT } from '../support/session-facts.ts';
import { runsOf } from '../support/runs.ts';

/*
 * Many transfers to one address, read as watchers read them: each reading is offered at once, final ones are confirmed,
 * those that the session does not keep are counted together, and any reading may come again after a restart.
 */

const transfer = fc.record({
  /** In 10^-4 units of the coin: mostly dust, sometimes not. */
  size: fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: 1, max: 99 }) },
    { weight: 1, arbitrary: fc.integer({ min: 100, max: 60_000 }) },
  ),
  coin: fc.constantFrom('USDT' as const, 'USDT' as const, 'USDT' as const, 'USDC' as const),
});
type Drawn = typeof transfer extends fc.Arbitrary<infer Value> ? Value : never;

const reading = fc.record({
  transfers: fc.array(transfer, { minLength: 1, maxLength: 40 }),
  /** From which of its blocks on they are late. */
  lateFrom: fc.integer({ min: 0, max: 4 }),
  /** The process ended before its progress was stored, and reads this and the earlier ones once more. */
  again: fc.boolean(),
});

const factsOf = ({ size, coin }: Drawn, block: number, index: number, isLate = false): DepositFacts =>
  depositFacts({
    ...{ txHash: `0x${block}-${index}`, coin, amount: formatAmount(fromTokenUnits(BigInt(size), 4)) },
    ...{ blockNumber: block, blockHash: `0xblock${block}` },
    blockTimeSec: isLate ? EXPIRES_AT + block : EXPIRES_AT - 500 + block,
  });

class Session {
  state: SessionState = sessionTable.initial;
  readonly events: SessionEvent[] = [];

  tell(command: SessionCommand): readonly SessionEvent[] {
    const decision = decideSession(command, this.state);
    if (!decision.ok) throw new Error(decision.refusal.message);
    this.state = sessionTable.replay(decision.events, this.state);
    this.events.push(...decision.events);
    return decision.events;
  }

  read(transfers: readonly DepositFacts[], at: (key: string) => boolean = () => true): void {
    this.tell({ type: 'RecordDeposits', transfers: transfers.map((facts) => ({ facts })) });
    const { context } = this.state;
    const kept = transfers.filter(({ depositKey }) => context.deposits.get(depositKey));
    const nowSec = EXPIRES_AT;
    const confirmations = kept.map((facts) => depositConfirmed(facts).data);
    this.tell({ type: 'ConfirmDeposits', confirmations, nowSec, valuation: null });
    const small = transfers.filter((facts) => !context.deposits.get(facts.depositKey) && !isCounted(context, facts));
    this.tell({
      ...{ type: 'CountTogether', transfers: small.filter(({ depositKey }) => at(depositKey)) },
      ...{ headNumber: 1_000, nowSec, valuation: null },
    });
  }
}

const sum = (amounts: Iterable<string>): bigint => [...amounts].reduce((total, amount) => total + amountOf(amount), 0n);

describe('many transfers to one address', () => {
  it('are in the session to the last unit, once each, however often they are read, and none hides a real payment', () => {
    let together = 0;
    let paid = 0;
    fc.assert(
      fc.property(fc.array(reading, { minLength: 1, maxLength: 12 }), (readings) => {
        const session = new Session();
        session.tell({ type: 'CreateSession', data: createdFacts() });
        const seen: DepositFacts[][] = [];
        for (const [index, { transfers, again, lateFrom }] of readings.entries()) {
          const facts = transfers.map((drawn, at) =>
            factsOf(drawn, 100 + 4 * index + (at % 4), at, at % 4 >= lateFrom),
          );
          seen.push(facts);
          session.read(facts);
          if (again) session.read(seen.flat());
          const deposits = [...session.state.context.deposits];
          const all = seen.flat();
          for (const coin of ['USDT', 'USDC'] as const)
            expect(sum(deposits.filter((one) => one.facts.coin === coin).map((one) => one.facts.amount))).toBe(
              sum(all.filter((one) => one.coin === coin).map(({ amount }) => amount)),
            );
          const counted = deposits.flatMap(({ facts: { together: of } }) => (of ? [of.transfers] : []));
          expect(deposits.length - counted.length + counted.reduce((total, each) => total + each, 0)).toBe(all.length);
          // What is not dust is a deposit of its own, at once.
          for (const one of all)
            if (amountOf(one.amount) >= amountOf('0.01'))
              expect(session.state.context.deposits.get(one.depositKey)?.status).toBe('final');
          // At most the bound of dust, and two deposits per coin and reading.
          const dust = deposits.filter(({ kind, facts: { together: of } }) => kind === 'dust' && !of);
          expect(dust.length).toBeLessThanOrEqual(DUST_KEPT);
          expect(counted.length).toBeLessThanOrEqual(4 * seen.length);
          expect(session.state.context.deposits.sums).toEqual(plainSums(session.state.context));
          together += counted.length;
        }
        const { context } = session.state;
        if (context.paid) paid += 1;
        else expect(held(context)).toBeLessThan(context.due);
        expect(sessionTable.replay(session.events).context.deposits.sums).toEqual(context.deposits.sums);
      }),
      { numRuns: runsOf(60) },
    );
    expect(together).toBeGreaterThan(0);
    expect(paid).toBeGreaterThan(0);
  });

  it('pay together, even if each of them alone is dust', () => {
    const session = new Session();
    session.tell({ type: 'CreateSession', data: createdFacts() });
    const reading = (block: number): DepositFacts[] =>
      Array.from({ length: 500 }, (_, at) => factsOf({ size: 90, coin: 'USDT' }, block, at));
    session.read(reading(100));
    expect([session.state.value, formatAmount(held(session.state.context))]).toEqual(['open', '4.05']);
    session.read(reading(101));
    session.read(reading(102));
    expect([session.state.value, session.state.context.paid?.received]).toEqual(['paid', '13.05']);
    expect(session.state.context.deposits.size).toBe(DUST_KEPT + 3);
    expect(session.events).toHaveLength(1 + 2 * (DUST_KEPT + 3) + 1);
  });

  it('come back in another block after a reorganisation, and are counted once more', () => {
    const session = new Session();
    session.tell({ type: 'CreateSession', data: createdFacts() });
    const small = (block: number, at: number): DepositFacts => factsOf({ size: 50, coin: 'USDT' }, block, at);
    session.read(Array.from({ length: DUST_KEPT }, (_, at) => small(100, at)));
    session.read([small(101, 0), small(102, 1), small(103, 2)]);
    const counted = [...session.state.context.deposits].at(-1)!;
    expect([counted.facts.amount, counted.facts.together, counted.kind]).toEqual([
      '0.015',
      { transfers: 3, fromBlock: 101, largest: '0.005' },
      'on_time',
    ]);
    const { depositKey } = counted.facts;
    session.tell({ type: 'RevertDeposit', depositKey, reason: 'reorg', headNumber: 110, revertedAtSec: EXPIRES_AT });
    expect(held(session.state.context)).toBe(0n);
    // One of them is gone, the others are where they were or in another block.
    session.read([small(101, 0), { ...small(103, 1), txHash: '0x102-1', depositKey: small(102, 1).depositKey }]);
    expect(formatAmount(held(session.state.context))).toBe('0.01');
    session.read([small(101, 0), small(103, 1)]);
    expect(formatAmount(held(session.state.context))).toBe('0.01');
  });
});
