import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressIndex } from '../../projections/addresses/address-index.projection.ts';
import { dueKey, DUE_SESSIONS_TABLE } from '../../projections/sessions/due-sessions.ts';
import { sessionView as sessionProjection } from '../../projections/sessions/session-view.projection.ts';
import { refundList } from '../../projections/sessions/refund-list.ts';
import { REFUNDS_TABLE, type RefundRow } from '../../projections/sessions/refund-row.ts';
import { sessionList } from '../../projections/sessions/session-list.ts';
import { SESSIONS_TABLE, type SessionRow } from '../../projections/sessions/session-row.ts';
import { paymentOptionsOf } from '../../projections/sessions/session-fold.ts';
import { transactionList } from '../../projections/sessions/transaction-list.ts';
import { TRANSACTIONS_TABLE, type TransactionRow } from '../../projections/sessions/transaction-row.ts';
import { amountOf, formatAmount } from '../../src/domain/money/money.ts';
import type { JsonValue, Row } from '../../src/ports/read-model/read-model.ts';
import { ProjectionRunner } from '../../src/runtime/projections/runner.ts';
import { RebuildRunning } from '../../src/runtime/projections/status.ts';
import { listedRefund, listedSession } from '../../src/features/sessions/lists/views.ts';
import { paymentTotals } from '../../src/features/sessions/lists/payment-totals.ts';
import { Lists } from '../../src/features/sessions/lists/lists.ts';
import type { Listing, Paging } from '../../src/features/shared/list-page.ts';
import type { CreatedRange } from '../../src/features/sessions/lists/filters.ts';
import type { Outcome } from '../../src/features/shared/merchant-api.ts';
import { refundView, sessionView } from '../../src/features/sessions/view.ts';
import type { SessionState } from '../../state-machines/checkout-session/session.decider.ts';
import { MemoryEventStore } from '../support/memory-event-store.ts';
import { MemoryReadModel } from '../support/memory-read-model.ts';
import { appendHistory, historyOf, ownerOf, sessionIdOf, steps, type HistoryEntry } from '../support/random-history.ts';
import { runsOf } from '../support/runs.ts';

const PROJECTIONS = [sessionProjection, addressIndex];
const history = steps.map(historyOf);

async function project(
  entries: readonly HistoryEntry[],
  maxBatch: number,
  work: (model: MemoryReadModel, runner: ProjectionRunner) => Promise<void> | void,
) {
  const store = new MemoryEventStore();
  const model = new MemoryReadModel();
  const runner = runnerOf(store, model, maxBatch);
  await appendHistory(store, entries);
  try {
    await runner.start();
    await runner.ready();
    expect(await runner.parked()).toEqual([]);
    await work(model, runner);
  } finally {
    await runner.stop();
    await store.close();
  }
}

const runnerOf = (store: MemoryEventStore, readModel: MemoryReadModel, maxBatch: number): ProjectionRunner =>
  new ProjectionRunner({
    ...{ store, readModel, maxBatch, projections: PROJECTIONS, cacheRows: 3 },
    clock: { nowMs: () => 0 },
  });

const rowsOf = <Type extends Row>(model: MemoryReadModel, table: string): Type[] =>
  Array.from<Row, Type>(model.tables.get(table)?.values() ?? [], (row) => row as Type);
const contents = (model: MemoryReadModel) => ({
  checkpoints: Object.fromEntries(model.checkpoints),
  tables: Object.fromEntries([...model.tables].map(([name, rows]) => [name, Object.fromEntries([...rows].sort())])),
  lists: Object.fromEntries([...model.lists].filter(([, members]) => members.length > 0).sort()),
});

/** The fields of a row that a view has as well. */
const common = (row: Row, view: object): Row =>
  Object.fromEntries<JsonValue>(Object.entries(row).filter(([key]) => key in view));

function expectSession(row: SessionRow, state: SessionState): void {
  const view = sessionView(state, null);
  const { personal: _sealed, refunds, ...shared } = common(row, view) as SessionRow;
  expect(view).toMatchObject(shared);
  expect(refunds).toBe(view.refunds.length);
  expect(paymentOptionsOf(row)).toEqual(view.paymentOptions);
  const arrived = view.deposits
    .filter((deposit) => deposit.status === 'detected' || deposit.status === 'final')
    .map((deposit) => deposit.network);
  expect(Object.keys(row.arrivedOn).sort()).toEqual([...new Set(arrived)].sort());
}

function expectRefund(row: RefundRow, state: SessionState): void {
  const view = refundView(state.context, state.context.refunds[row.refundId]!, null);
  const { reason: _sealed, payouts, ...shared } = common(row, view) as RefundRow;
  expect(view).toMatchObject(shared);
  expect(payouts.map(({ signedTxHash: _, takenFrom: _taken, ...payout }) => payout)).toEqual(view.payouts);
}

const STATUSES = [undefined, 'unpaid', 'paid', 'open', 'processing', 'expired', 'failed', 'cancelled'] as const;
const NETWORKS = [undefined, 'ethereum', 'bsc', 'tron', 'solana'] as const;
const COINS = [undefined, 'USDT', 'USDC'] as const;
/** What is wanted of it. */
const given = <Filters extends object>(
  filters: Filters,
): { [Name in keyof Filters]?: Exclude<Filters[Name], undefined> } =>
  Object.fromEntries(Object.entries(filters).filter(([, wanted]) => wanted !== undefined)) as ReturnType<
    typeof given<Filters>
  >;

const meets = (wanted: string | undefined, values: readonly string[]): boolean =>
  wanted === undefined || values.includes(wanted);

async function listed(model: MemoryReadModel, list: string): Promise<string[]> {
  return (await model.page(list, { offset: 0, limit: 1000 })).members.map((member) => member.member);
}

/** A list read page by page and by cursor, two records at a time: the same either way, and the totals are right. */
async function everyWay<ListedRow>(
  list: (paging: Paging) => Promise<Outcome<Listing<ListedRow>>>,
): Promise<readonly ListedRow[]> {
  const answer = async (paging: Paging): Promise<Listing<ListedRow>> => {
    const outcome = await list(paging);
    if (!outcome.ok) throw new Error(outcome.refusal.message);
    return outcome.value;
  };
  const byPage: ListedRow[] = [];
  const totals = new Set<number>();
  for (let page = 1, hasMore = true; hasMore; page += 1) {
    const { rows, pagination } = await answer({ page, pageSize: 2 });
    byPage.push(...rows);
    totals.add((pagination as { total: number }).total);
    hasMore = pagination.has_more;
  }
  const byCursor: ListedRow[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const { rows, pagination }: Listing<ListedRow> = await answer({ cursor, pageSize: 2 });
    byCursor.push(...rows);
    cursor = pagination.next_cursor;
  }
  expect(byCursor).toEqual(byPage);
  expect([...totals]).toEqual([byPage.length]);
  return byPage;
}

const newestFirst = <Type extends { order: number }>(rows: readonly Type[]): Type[] =>
  [...rows].sort((one, other) => other.order - one.order);

describe('the session projection', () => {
  it('shows every session and refund as the session itself does', async () => {
    await fc.assert(
      fc.asyncProperty(history, fc.integer({ min: 1, max: 50 }), async ({ entries, states }, maxBatch) => {
        await project(entries, maxBatch, (model) => {
          const rows = rowsOf<SessionRow>(model, SESSIONS_TABLE);
          expect(rows.length).toBe(states.size);
          for (const [index, state] of states)
            expectSession(
              rows.find((row) => row.sessionId === sessionIdOf(index))!,
              state,
            );
          for (const row of rowsOf<RefundRow>(model, REFUNDS_TABLE))
            expectRefund(row, [...states].find(([index]) => sessionIdOf(index) === row.sessionId)![1]);
        });
      }),
      { numRuns: runsOf(150) },
    );
  });

  it('shows in lists, from rows alone, the same as the session and its refunds', async () => {
    await fc.assert(
      fc.asyncProperty(history, async ({ entries, states }) => {
        await project(entries, 16, async (model) => {
          const lists = new Lists({ readModel: model, cursorKey: new Uint8Array(32), metadataIndex: null });
          for (const row of rowsOf<SessionRow>(model, SESSIONS_TABLE)) {
            const state = [...states].find(([index]) => sessionIdOf(index) === row.sessionId)![1];
            const { deposits, ...listed } = listedSession(row, null, (await lists.transactionsOf([row]))[0]!);
            const view = sessionView(state, null);
            expect(view).toMatchObject(listed);
            expect(view.deposits).toMatchObject(deposits);
          }
          for (const row of rowsOf<RefundRow>(model, REFUNDS_TABLE)) {
            const { context } = [...states].find(([index]) => sessionIdOf(index) === row.sessionId)![1];
            expect(listedRefund(row, null)).toEqual(refundView(context, context.refunds[row.refundId]!, null));
          }
        });
      }),
      { numRuns: runsOf(80) },
    );
  });

  it('has one transaction for each deposit, signed payout and fee, in the standing the session gives it', async () => {
    await fc.assert(
      fc.asyncProperty(history, async ({ entries, states }) => {
        await project(entries, 16, (model) => {
          const rows = rowsOf<TransactionRow>(model, TRANSACTIONS_TABLE);
          const expected = [...states.values()].flatMap((state) => [
            ...sessionView(state, null).deposits.map(
              ({ txHash, network, status, amount, coin, kind, blockNumber }) => ({
                type: 'deposit',
                txHash,
                network,
                status,
                amount,
                coin,
                kind,
                blockNumber,
              }),
            ),
            ...Object.values(state.context.refunds)
              .flatMap((refund) => Object.values(refund.legs))
              .filter((leg) => leg.txHashes.length > 0)
              .map((leg) => ({
                type: 'refund',
                amount: leg.leg.amount,
                network: leg.leg.network,
                toAddress: leg.leg.toAddress,
              })),
          ]);
          expect(rows.filter((row) => row.type !== 'fee').length).toBe(expected.length);
          for (const facts of expected) expect(rows).toContainEqual(expect.objectContaining(facts));
          for (const fee of rows.filter((row) => row.type === 'fee'))
            expect(rows).toContainEqual(expect.objectContaining({ type: 'refund', refundId: fee.refundId }));
        });
      }),
      { numRuns: runsOf(80) },
    );
  });

  it('lists exactly the records that meet the filters, newest first, under any combination', async () => {
    await fc.assert(
      fc.asyncProperty(history, async ({ entries }) => {
        await project(entries, 32, async (model) => {
          const sessions = newestFirst(rowsOf<SessionRow>(model, SESSIONS_TABLE));
          const owners = [
            ...new Map(sessions.map(({ mode, merchantId }) => [`${mode}${merchantId}`, { mode, merchantId }])).values(),
          ];
          for (const { mode, merchantId } of owners) {
            const own = sessions.filter((row) => row.mode === mode && row.merchantId === merchantId);
            expect(own.map((row) => row.order)).toEqual(own.map((_, index) => own.length - 1 - index));
            const refunds = newestFirst(
              rowsOf<RefundRow>(model, REFUNDS_TABLE).filter(
                (row) => row.mode === mode && row.merchantId === merchantId,
              ),
            );
            const transactions = newestFirst(
              rowsOf<TransactionRow>(model, TRANSACTIONS_TABLE).filter(
                (row) => row.mode === mode && row.merchantId === merchantId,
              ),
            );
            for (const network of NETWORKS) {
              for (const coin of COINS) {
                for (const status of STATUSES) {
                  const wanted = own.filter(
                    (row) =>
                      meets(status, [row.status, row.status === 'paid' ? 'paid' : 'unpaid']) &&
                      meets(network, Object.keys(row.arrivedOn)) &&
                      meets(coin, [row.dueCoin]),
                  );
                  expect(await listed(model, sessionList(mode, merchantId, given({ status, network, coin })))).toEqual(
                    wanted.map((row) => row.sessionId),
                  );
                }
                for (const status of [undefined, 'PENDING', 'PROCESSING', 'COMPLETED', 'FAILED'] as const) {
                  const wanted = refunds.filter(
                    (row) =>
                      meets(status, [row.status]) &&
                      meets(
                        network,
                        row.payouts.map((payout) => payout.network),
                      ) &&
                      meets(coin, [row.coin]),
                  );
                  expect(await listed(model, refundList(mode, merchantId, given({ status, network, coin })))).toEqual(
                    wanted.map((row) => row.refundId),
                  );
                }
                for (const type of [undefined, 'deposit', 'refund', 'fee'] as const) {
                  for (const status of [undefined, 'detected', 'final', 'reverted', 'failed'] as const) {
                    const wanted = transactions.filter(
                      (row) =>
                        meets(status, [row.status]) &&
                        meets(type, [row.type]) &&
                        meets(network, [row.network]) &&
                        meets(coin, [row.coin]),
                    );
                    expect(
                      await listed(model, transactionList(mode, merchantId, given({ status, type, network, coin }))),
                    ).toEqual(wanted.map((row) => row.transactionId));
                  }
                }
              }
            }
          }
        });
      }),
      { numRuns: runsOf(40) },
    );
  });

  it('adds up, by status and coin, exactly the amounts of the sessions that a list shows', async () => {
    await fc.assert(
      fc.asyncProperty(history, async ({ entries }) => {
        await project(entries, 16, async (model) => {
          const lists = new Lists({ readModel: model, cursorKey: new Uint8Array(32), metadataIndex: null });
          for (const owner of [0, 1, 2].map(ownerOf)) {
            for (const status of STATUSES) {
              const rows = await everyWay((paging) =>
                lists.listSessions({ ...owner, filters: given({ status }), paging }),
              );
              const sum = (coin: string, amountIn: (row: SessionRow) => string): string =>
                formatAmount(
                  rows
                    .filter(({ dueCoin }) => dueCoin === coin)
                    .reduce((units, row) => units + amountOf(amountIn(row)), 0n),
                );
              const coins = [...new Set(rows.map(({ dueCoin }) => dueCoin))].sort();
              expect(await paymentTotals({ readModel: model, lists }, owner, given({ status }))).toEqual(
                coins.map((coin) => ({
                  ...{ day: null, coin, payments: rows.filter(({ dueCoin }) => dueCoin === coin).length },
                  due: sum(coin, ({ dueAmount }) => dueAmount),
                  received: sum(coin, ({ received }) => received),
                  refunded: sum(coin, ({ refunded }) => refunded),
                })),
              );
            }
          }
        });
      }),
      { numRuns: runsOf(60) },
    );
  });

  it("shows a session's transactions and refunds in its own lists, by page and by cursor, in any range of time", async () => {
    await fc.assert(
      fc.asyncProperty(history, fc.nat(), fc.nat(), async ({ entries }, one, other) => {
        await project(entries, 16, async (model) => {
          const lists = new Lists({ readModel: model, cursorKey: new Uint8Array(32), metadataIndex: null });
          const [transactions, refunds] = [
            rowsOf<TransactionRow>(model, TRANSACTIONS_TABLE),
            rowsOf<RefundRow>(model, REFUNDS_TABLE),
          ];
          for (const { sessionId, merchantId, mode } of rowsOf<SessionRow>(model, SESSIONS_TABLE)) {
            const owner = { merchantId, mode };
            const ofSession = <Own extends { sessionId: string; sessionOrder: number }>(rows: readonly Own[]): Own[] =>
              rows
                .filter((row) => row.sessionId === sessionId)
                .sort((row, next) => next.sessionOrder - row.sessionOrder);
            const own = { transactions: ofSession(transactions), refunds: ofSession(refunds) };
            const times = [
              ...own.transactions.map((row) => row.createdSec),
              ...own.refunds.map((row) => row.listedSec),
              0,
            ];
            const [createdFrom, createdTo] = [times[one % times.length]!, times[other % times.length]!];
            for (const range of [{}, { createdFrom }, { createdTo }] satisfies CreatedRange[]) {
              const isMeant = (sec: number): boolean =>
                (range.createdFrom ?? sec) <= sec && sec <= (range.createdTo ?? sec);
              const filters = { sessionId, ...range };
              expect(await everyWay((paging) => lists.listTransactions({ ...owner, filters, paging }))).toEqual(
                own.transactions.filter((row) => isMeant(row.createdSec)),
              );
              expect(await everyWay((paging) => lists.listRefunds({ ...owner, filters, paging }))).toEqual(
                own.refunds.filter((row) => isMeant(row.listedSec)),
              );
            }
          }
        });
      }),
      { numRuns: runsOf(60) },
    );
  });

  it('keeps a deadline for exactly the sessions that can still expire, in order of time', async () => {
    await fc.assert(
      fc.asyncProperty(history, async ({ entries, states }) => {
        await project(entries, 8, async (model) => {
          const open = [...states].filter(([, state]) => state.value === 'open' || state.value === 'processing');
          const keys = open
            .map(([index, state]) => dueKey(state.context.created!.expiresAtSec, sessionIdOf(index)))
            .sort();
          expect((await model.scan(DUE_SESSIONS_TABLE, { limit: 100 })).map((entry) => entry.key)).toEqual(keys);
        });
      }),
      { numRuns: runsOf(60) },
    );
  });

  it('lists under times that never decrease, whatever the clocks of the nodes say', async () => {
    await fc.assert(
      fc.asyncProperty(history, async ({ entries }) => {
        await project(entries, 8, (model) => {
          for (const members of model.lists.values()) {
            const times = members.map((member) => member.atSec);
            expect(times).toEqual([...times].sort((one, other) => other - one));
          }
        });
      }),
      { numRuns: runsOf(60) },
    );
  });
});

describe('a rebuild', () => {
  it('ends with the same rows, lists and checkpoints, however the events were cut into batches', async () => {
    await fc.assert(
      fc.asyncProperty(
        history,
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 40 }),
        async ({ entries }, first, second) => {
          await project(entries, first, async (model, runner) => {
            const before = contents(model);
            await runner.rebuild(['session-view']);
            await runner.ready();
            expect(contents(model)).toEqual(before);
            await project(entries, second, (other) => expect(contents(other)).toEqual(before));
          });
        },
      ),
      { numRuns: runsOf(60) },
    );
  });

  it('neither loses nor duplicates an event, however appends, rebuilds and crashes follow each other', async () => {
    const turn = fc.oneof(
      fc.record({ kind: fc.constant('append' as const), events: fc.integer({ min: 1, max: 12 }) }),
      fc.record({ kind: fc.constant('rebuild' as const) }),
      fc.record({ kind: fc.constant('crash' as const) }),
      fc.record({ kind: fc.constant('wait' as const), turns: fc.integer({ min: 1, max: 8 }) }),
    );
    await fc.assert(
      fc.asyncProperty(
        history,
        fc.array(turn, { minLength: 3, maxLength: 14 }),
        fc.integer({ min: 1, max: 9 }),
        async ({ entries }, turns, maxBatch) => {
          const store = new MemoryEventStore();
          const model = new MemoryReadModel();
          const started = async (): Promise<ProjectionRunner> => {
            const runner = runnerOf(store, model, maxBatch);
            await runner.start();
            return runner;
          };
          let runner = await started();
          let appended = 0;
          try {
            for (const step of turns) {
              if (step.kind === 'append')
                await appendHistory(store, entries.slice(appended, (appended += step.events)));
              else if (step.kind === 'wait')
                for (let n = 0; n < step.turns; n += 1) await new Promise((resolve) => setImmediate(resolve));
              else if (step.kind === 'rebuild')
                await runner
                  .rebuild(['session-view'])
                  .catch((error: unknown) => expect(error).toBeInstanceOf(RebuildRunning));
              else {
                await runner.stop();
                runner = await started();
              }
            }
            await appendHistory(store, entries.slice(appended));
            await runner.ready();
            const head = await store.head();
            if (head !== null) expect(await runner.caughtUpTo(head)).toBe(true);
            expect([...model.nextModels.keys()]).toEqual([]);
            const reached = contents(model);
            await project(entries, 64, (fresh) => expect(reached).toEqual(contents(fresh)));
          } finally {
            await runner.stop();
            await store.close();
          }
        },
      ),
      { numRuns: runsOf(80) },
    );
  });
});
