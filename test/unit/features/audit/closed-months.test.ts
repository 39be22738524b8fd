import { describe, expect, it } from 'vitest';
import { ledger } from '../../../../projections/ledger/ledger.projection.ts';
import { figureKey } from '../../../../projections/ledger/rows.ts';
import { SpilledMap } from '../../../../src/adapters/sqlite/read-model/spilled-map.ts';
import type { DomainEvent } from '../../../../src/domain/events/domain-event.ts';
import type { StoredEvent } from '../../../../src/domain/events/envelope.ts';
import type { PeriodClosed } from '../../../../src/domain/events/operations-events.ts';
import type { SessionEvent } from '../../../../src/domain/events/session-events.ts';
import { OPERATOR_FUNDING, TREASURY } from '../../../../src/domain/money/ledger.ts';
import { KeyedMemoryFailed, type KeyedMemory } from '../../../../src/ports/read-model/keyed-memory.ts';
import type { RecordedEvent } from '../../../../src/ports/event-log/event-store.ts';
import { ProjectionRunner } from '../../../../src/runtime/projections/runner.ts';
import { createWholeRows } from '../../../../src/runtime/projections/whole-rows.ts';
import { LedgerAgain } from '../../../../src/features/audit/ledger.ts';
import { LedgerBalances } from '../../../../src/features/ledger/balances.ts';
import { LedgerPeriods } from '../../../../src/features/ledger/periods.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';
import { MemoryReadModel } from '../../../support/memory-read-model.ts';
import { appendHistory, sessionIdOf } from '../../../support/random-history.ts';
import {
  createdFacts,
  depositFacts,
  sessionPaid,
  depositDetected,
  depositConfirmed,
} from '../../../support/session-facts.ts';
import { rechained, verifiedAsSigned } from '../../../support/signed-export.ts';

/*
 * Whoever has the signer's key as well can make hashes, tree and signatures fit any history that is legal and balances.
 * What was sealed when a month was closed is then all that is left to compare with.
 */

const SEPTEMBER = Date.parse('2026-09-12T12:00:00Z');
const OCTOBER = Date.parse('2026-10-03T12:00:00Z');

/** Two payments in September, the month closed, a payment in October. */
async function closedMonth(): Promise<readonly RecordedEvent[]> {
  const store = new MemoryEventStore();
  const readModel = new MemoryReadModel();
  const runner = new ProjectionRunner({ store, readModel, projections: [ledger], clock: { nowMs: () => 0 } });
  await runner.start();
  let uuids = 0;
  const periods = new LedgerPeriods({
    store,
    balances: new LedgerBalances(readModel),
    clock: { nowMs: () => OCTOBER },
    random: { uuid: () => `close-${(uuids += 1)}`, bytes: (length) => new Uint8Array(length) },
    caughtUpTo: (position) => runner.caughtUpTo(position),
    wholeBooks: createWholeRows({ store, readModel, projections: runner }, ledger),
  });
  await pay(store, 0, SEPTEMBER);
  await pay(store, 1, SEPTEMBER + 1_000);
  expect(await periods.close('test', '2026-09', 'operator')).toMatchObject({ ok: true });
  await pay(store, 2, OCTOBER);
  await runner.stop();
  return store.events;
}

async function pay(store: MemoryEventStore, session: number, atMs: number): Promise<void> {
  const facts = depositFacts({ txHash: `0x${session}`, blockTimeSec: atMs / 1000 });
  const ends = { createdAtSec: atMs / 1000 - 60, expiresAtSec: atMs / 1000 + 60 };
  const events: SessionEvent[] = [
    {
      type: 'SessionCreated',
      data: createdFacts({ sessionId: sessionIdOf(session), orderId: `order-${session}`, ...ends }),
    },
    depositDetected(facts),
    depositConfirmed(facts),
    sessionPaid({ paidAtSec: atMs / 1000 }),
  ];
  await appendHistory(
    store,
    events.map((event) => ({ session, event, atMs })),
  );
}

const changedClosing = (
  events: readonly RecordedEvent[],
  change: (balances: Record<string, string>) => Record<string, string>,
): RecordedEvent[] =>
  rechained(
    events.map((event) => {
      if (event.type !== 'PeriodClosed') return event;
      const data = JSON.parse(event.data) as PeriodClosed['data'];
      return { ...event, data: JSON.stringify({ ...data, balances: change({ ...data.balances }) }) };
    }),
  );

/** Money that the operator put into the treasury, as the only thing that the books of these tests hold. */
function funded(id: string, atMs: number): StoredEvent<DomainEvent> {
  const place = { mode: 'test', network: 'ethereum', coin: 'USDT', address: '0xTreasury', fromAddress: null } as const;
  return stored('treasury-test-ethereum', id, atMs, {
    type: 'TreasuryFunded',
    data: { ...place, ...{ amount: '1', txHash: null, logIndex: null, blockNumber: 7, recordedAtSec: atMs / 1000 } },
  });
}

const stored = (stream: string, id: string, atMs: number, event: DomainEvent): StoredEvent<DomainEvent> => ({
  ...{ stream, revision: 0, position: id, id, version: 1, atMs, hash: '', event },
  metadata: { correlationId: 'test', actor: 'test', prev: '' },
});

describe('a closed month', () => {
  it('holds what the events before its closing add up to', async () => {
    expect(await verifiedAsSigned(rechained(await closedMonth()))).toMatchObject({ ok: true, fault: null });
  });

  it('whose sealed figures were changed so that they still balance is found by adding the books up again', async () => {
    const forged = changedClosing(await closedMonth(), (balances) =>
      Object.fromEntries(Object.entries(balances).map(([name, amount]) => [name, amount.replace(/20$/, '19')])),
    );
    const { fault } = await verifiedAsSigned(forged);
    expect(fault).toMatch(
      /stream ledger-periods-test\): the closed period 2026-09 says -?19 for .*, the events add up to -?20/,
    );
  });

  it('is closed by two operators at once without a fault, however much of the next month was booked before', async () => {
    const books = new LedgerAgain(() => new SpilledMap(1_000));
    expect(await books.take(funded('september', SEPTEMBER))).toBeNull();
    for (let number = 0; number < 45_000; number += 1) await books.take(funded(`october-${number}`, OCTOBER));
    const sides = [
      [TREASURY, '1'],
      [OPERATOR_FUNDING, '-1'],
    ] as const;
    const figures = (['recorded', 'chain'] as const).flatMap((clock) =>
      sides.map(([account, amount]) => [figureKey(clock, account, 'ethereum', 'USDT'), amount] as const),
    );
    const data = {
      mode: 'test',
      period: '2026-09',
      throughPosition: 'september',
      balances: Object.fromEntries(figures),
      actor: 'operator',
    } as const;
    const closing = (id: string) => stored('ledger-periods-test', id, OCTOBER, { type: 'PeriodClosed', data });
    expect([await books.take(closing('first')), await books.take(closing('second')), books.closedMonths]).toEqual([
      null,
      null,
      1,
    ]);
    books.close();
  }, 30_000);

  it('that lacks an account is found, and so is one that has an account too many', async () => {
    const events = await closedMonth();
    const without = changedClosing(events, (balances) => Object.fromEntries(Object.entries(balances).slice(1)));
    expect((await verifiedAsSigned(without)).fault).toMatch(
      /the closed period 2026-09 says nothing for .*, the events add up to -?\d/,
    );
    const [name] = Object.keys(
      (JSON.parse(events.find(({ type }) => type === 'PeriodClosed')!.data) as PeriodClosed['data']).balances,
    );
    const more = changedClosing(events, (balances) => ({
      ...balances,
      [name!.replace('bsc', 'tron').replace('ethereum', 'tron')]: '1',
    }));
    expect((await verifiedAsSigned(more)).fault).toMatch(
      /the closed period 2026-09 says 1 for .*, the events add up to nothing/,
    );
  });

  it('detects that a whole payment of it was removed and everything else adjusted', async () => {
    const events = await closedMonth();
    const without = rechained(events.filter(({ stream }) => !stream.endsWith(sessionIdOf(0))));
    expect((await verifiedAsSigned(without)).fault).toMatch(/the closed period 2026-09 says .*, the events add up to/);
  });

  it('detects that the last payment before its closing was removed, whose event the closing names', async () => {
    const events = await closedMonth();
    const without = rechained(events.filter(({ stream }) => !stream.endsWith(sessionIdOf(1))));
    expect((await verifiedAsSigned(without)).fault).toMatch(
      /the closing of 2026-09 names an event that is not in the books/,
    );
  });

  it('detects that an amount in it was changed to another legal one and everything else adjusted', async () => {
    const events = await closedMonth();
    const more = rechained(
      events.map((event) =>
        event.stream.endsWith(sessionIdOf(1))
          ? {
              ...event,
              data: event.data
                .replace(/"(amount|received)":"10.00"/, '"$1":"11.00"')
                .replace('"excess":"0.00"', '"excess":"1.00"'),
            }
          : event,
      ),
    );
    expect((await verifiedAsSigned(more)).fault).toMatch(/the closed period 2026-09 says .*, the events add up to/);
  });
});

describe('a verification whose temporary files fail', () => {
  it('ends without a verdict, whatever was to be kept', async () => {
    const events = rechained(await closedMonth());
    for (let broken = 1; broken <= 5; broken += 1) {
      let made = 0;
      const memory = <Value>(): KeyedMemory<Value> => {
        const full = (): never => {
          throw new KeyedMemoryFailed('disk full');
        };
        return (made += 1) === broken
          ? { size: 0, get: () => undefined, set: full, close: () => undefined }
          : new SpilledMap();
      };
      await expect(verifiedAsSigned(events, memory)).rejects.toThrow(KeyedMemoryFailed);
    }
  });
});
