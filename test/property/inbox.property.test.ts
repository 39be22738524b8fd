import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  INBOX_PLACES_TABLE,
  INBOX_TABLE,
  INBOX_TRANSIT_TABLE,
  type InboxPlaceRow,
  type InboxRow,
  type InboxState,
} from '../../projections/unmatched/row.ts';
import { inbox as inboxProjection } from '../../projections/unmatched/unmatched.projection.ts';
import { sessionView } from '../../projections/sessions/session-view.projection.ts';
import { UNMATCHED } from '../../src/domain/money/ledger.ts';
import { amountOf, signedAmountOf } from '../../src/domain/money/money.ts';
import { decodeEvent } from '../../src/runtime/commands/codec.ts';
import { ProjectionRunner } from '../../src/runtime/projections/runner.ts';
import type { SessionState } from '../../state-machines/checkout-session/session.decider.ts';
import type { DepositState } from '../../state-machines/checkout-session/deposits.ts';
import { MemoryBooks } from '../support/books.ts';
import type { MemoryEventStore } from '../support/memory-event-store.ts';
import { MemoryReadModel } from '../support/memory-read-model.ts';
import { inboxSteps, keyOf, RandomInbox, SESSIONS, TRANSFERS } from '../support/random-inbox.ts';
import { runsOf } from '../support/runs.ts';

const PROJECTIONS = [inboxProjection, sessionView];
const MOVING: readonly string[] = ['attaching', 'detaching', 'returning', 'cancelling'] satisfies InboxState[];

const runnerOver = (store: MemoryEventStore, readModel: MemoryReadModel, maxBatch: number): ProjectionRunner =>
  new ProjectionRunner({
    store,
    readModel,
    projections: PROJECTIONS,
    clock: { nowMs: () => 0 },
    maxBatch,
    cacheRows: 3,
  });

const rowsOf = <Type>(model: MemoryReadModel, table: string): [string, Type][] =>
  [...(model.tables.get(table) ?? [])] as unknown as [string, Type][];
const contents = (model: MemoryReadModel) =>
  Object.fromEntries(
    [...model.tables]
      .filter(([name, rows]) => name.startsWith('inbox') && rows.size > 0)
      .map(([name, rows]) => [name, Object.fromEntries([...rows].sort())]),
  );

interface World {
  readonly inbox: RandomInbox;
  readonly model: MemoryReadModel;
  readonly runner: ProjectionRunner;
}

async function inHistory(
  steps: Parameters<RandomInbox['take']>[0][],
  maxBatch: number,
  look: (world: World) => Promise<void>,
): Promise<void> {
  const model = new MemoryReadModel();
  let runner!: ProjectionRunner;
  const inbox = new RandomInbox((store) => {
    runner = runnerOver(store, model, maxBatch);
    return { readModel: model, caughtUp: () => runner.caughtUpTo(String(store.events.length)) };
  });
  try {
    await runner.start();
    await inbox.create();
    for (const step of steps) await inbox.take(step);
    await runner.caughtUpTo(String(inbox.store.events.length));
    expect(await runner.parked()).toEqual([]);
    await look({ inbox, model, runner });
  } finally {
    await runner.stop();
    await inbox.store.close();
  }
}

/**
 * A deposit of a session that pays no order and that nobody decided about or refunded, by what the session itself says.
 */
function isUnmatched({ context }: SessionState, { facts, kind, status }: DepositState): boolean {
  const legs = Object.values(context.refunds).flatMap((refund) => Object.values(refund.legs));
  const isRefunded = legs.some(
    (leg) => leg.status !== 'FAILED' && leg.leg.takenFrom.some(({ depositKey }) => depositKey === facts.depositKey),
  );
  const hasEnded = (context.expired ?? context.failed ?? context.cancelled) !== null && context.paid === null;
  return status === 'final' && kind !== 'dust' && !isRefunded && (kind !== 'on_time' || hasEnded);
}

/** Where each transfer stands, by its own stream and its session; absent when it is no matter of the inbox. */
async function expectedStates(inbox: RandomInbox): Promise<Map<string, string>> {
  const { sessionOf, transferOf } = inbox.process();
  const expected = new Map<string, string>();
  for (let transfer = 0; transfer < TRANSFERS; transfer += 1) {
    const key = keyOf(transfer);
    const state = await transferOf(transfer);
    const session = await sessionOf(SESSIONS[transfer % SESSIONS.length]!);
    const deposit = [...session.context.deposits].find(
      ({ facts, credit }) => facts.depositKey === key && credit === undefined,
    );
    const waits = state === 'open' || state === 'absent';
    if (waits && deposit && !isUnmatched(session, deposit)) continue;
    if (state === 'absent' && !deposit) continue;
    expected.set(key, state === 'absent' ? 'open' : state);
  }
  return expected;
}

function booksOf({ store }: RandomInbox): MemoryBooks {
  const books = new MemoryBooks();
  for (const recorded of store.events) {
    const { stream, event, atMs } = decodeEvent(recorded);
    books.take(stream, event, atMs);
    for (const [key, sum] of books.sums()) expect([key, sum]).toEqual([key, 0n]);
  }
  return books;
}

/**
 * In how many places the money of a transfer is: a session it came to or is attached to, who paid it, or nobody's
 * account.
 */
async function placesOf(inbox: RandomInbox, transfer: number): Promise<number> {
  const { sessionOf, transferOf, treasury } = inbox.process();
  const key = keyOf(transfer);
  const sessions = await Promise.all(SESSIONS.map(sessionOf));
  const held = sessions
    .map(({ context }) => context.deposits.get(key))
    .filter((deposit) => deposit?.status === 'final' && deposit.aside === undefined);
  const paid = inbox.store.events.filter(
    ({ type, data }) => type === 'ReturnCompleted' && data.includes(`"depositKey":"${key}"`),
  );
  expect(await treasury.context().then((context) => Object.keys(context?.moves ?? {}))).toEqual([]);
  const isNobodys =
    (await transferOf(transfer)) === 'open' &&
    sessions.every(({ context }) => !context.deposits.get(key) || context.deposits.get(key)!.credit);
  return held.length + paid.length + (isNobodys ? 1 : 0);
}

describe('the inbox', () => {
  it('has every unmatched transfer in exactly one state, whatever was decided, refunded, reorganised or killed', async () => {
    await fc.assert(
      fc.asyncProperty(inboxSteps, fc.integer({ min: 1, max: 30 }), (steps, maxBatch) =>
        inHistory(steps, maxBatch, async ({ inbox, model }) => {
          const rows = rowsOf<InboxRow>(model, INBOX_TABLE);
          const shown = rows.map(([, { depositKey, state }]) => [depositKey, state] as const);
          expect(shown.toSorted()).toEqual([...(await expectedStates(inbox))].toSorted());
          const places = rowsOf<InboxPlaceRow>(model, INBOX_PLACES_TABLE).map(([depositKey, { key, state }]) => [
            key,
            depositKey,
            state,
          ]);
          expect(places.toSorted()).toEqual(
            rows.map(([key, { depositKey, state }]) => [key, depositKey, state]).toSorted(),
          );
          const moving = shown.flatMap(([key, state]) => (MOVING.includes(state) ? key : []));
          expect(
            rowsOf(model, INBOX_TRANSIT_TABLE)
              .map(([key]) => key)
              .toSorted(),
          ).toEqual(moving.toSorted());
        }),
      ),
      { numRuns: runsOf(100) },
    );
  });

  it('is the same when replayed in other batches, and when rebuilt next to the served rows', async () => {
    await fc.assert(
      fc.asyncProperty(inboxSteps, fc.integer({ min: 1, max: 30 }), (steps, maxBatch) =>
        inHistory(steps, 1, async ({ inbox, model, runner }) => {
          const live = contents(model);
          const replayed = new MemoryReadModel();
          const again = runnerOver(inbox.store, replayed, maxBatch);
          await again.start();
          await again.ready();
          await again.stop();
          expect(contents(replayed)).toEqual(live);
          await runner.rebuild([inboxProjection.name]);
          await runner.ready();
          expect(contents(model)).toEqual(live);
        }),
      ),
      { numRuns: runsOf(40) },
    );
  });

  it('counts no money twice: once all is carried out it is in one place, and what waits for nobody is what the books call unmatched', async () => {
    await fc.assert(
      fc.asyncProperty(inboxSteps, (steps) =>
        inHistory(steps, 20, async ({ inbox, model, runner }) => {
          await inbox.settleAll();
          await runner.caughtUpTo(String(inbox.store.events.length));
          const states = await expectedStates(inbox);
          const { sessionOf } = inbox.process();
          for (let transfer = 0; transfer < TRANSFERS; transfer += 1) {
            const { context } = await sessionOf(SESSIONS[transfer % SESSIONS.length]!);
            const deposit = context.deposits.get(keyOf(transfer));
            const isThere = states.has(keyOf(transfer)) || (deposit?.status === 'final' && !deposit.credit);
            expect([transfer, states.get(keyOf(transfer)), await placesOf(inbox, transfer)]).toEqual([
              transfer,
              states.get(keyOf(transfer)),
              isThere ? 1 : 0,
            ]);
          }
          const waiting = rowsOf<InboxRow>(model, INBOX_TABLE).filter(
            ([, { state, sessionId }]) => state === 'open' && sessionId === null,
          );
          const units = waiting.reduce((sum, [, { amount }]) => sum + amountOf(amount), 0n);
          const unmatched = booksOf(inbox)
            .balances()
            .filter(({ account }) => account === UNMATCHED);
          expect(unmatched.reduce((sum, { balance }) => sum + signedAmountOf(balance), 0n)).toBe(-units);
        }),
      ),
      { numRuns: runsOf(40) },
    );
  });
});
