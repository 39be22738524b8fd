import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareProjection, ReadModelSnapshot } from '../../src/adapters/sqlite/read-model/compare.ts';
import { serveSqliteReadModel } from '../../src/adapters/sqlite/read-model/read-model.ts';
import { PROJECTIONS } from '../../src/look-ups/projections.ts';
import type { EventStore } from '../../src/ports/event-log/event-store.ts';
import { decodeData } from '../../src/runtime/commands/codec.ts';
import { ownedRows, projectionId } from '../../src/runtime/projections/batch.ts';
import { ProjectionRunner } from '../../src/runtime/projections/runner.ts';
import { MemoryEventStore } from '../support/memory-event-store.ts';
import { appendHistory, historyOf, steps } from '../support/random-history.ts';

const RUNS = 8;
/** Each run opens four databases. */
const TIMEOUT_MS = 60_000;
const cut = fc.integer({ min: 1, max: 60 });

/** The embedded profile's rows in a directory of their own, as its thread keeps them. */
async function withRows(
  work: (
    dataDir: string,
    startOver: (store: EventStore, maxBatch: number) => Promise<ProjectionRunner>,
  ) => Promise<void>,
) {
  const dataDir = mkdtempSync(join(tmpdir(), 'quittance-rebuild-'));
  const { port1, port2 } = new MessageChannel();
  const readModel = serveSqliteReadModel({ dataDir, port: port1 });
  try {
    await work(dataDir, async (store, maxBatch) => {
      const clock = { nowMs: () => 0 };
      const runner = new ProjectionRunner({
        store,
        readModel,
        projections: PROJECTIONS,
        clock,
        maxBatch,
        cacheRows: 4,
        decode: decodeData,
      });
      await runner.start();
      return runner;
    });
  } finally {
    await readModel.close();
    port1.close();
    port2.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

function digestsOf(dataDir: string): Record<string, string> {
  const snapshot = new ReadModelSnapshot(dataDir);
  try {
    return Object.fromEntries(
      PROJECTIONS.map((one) => [projectionId(one), compareProjection(ownedRows(one), snapshot, snapshot).digest]),
    );
  } finally {
    snapshot.close();
  }
}

describe('rows that were rebuilt', () => {
  it(
    'are byte for byte those that were kept while the events came, with what comes afterwards',
    { timeout: TIMEOUT_MS },
    async () => {
      await fc.assert(
        fc.asyncProperty(
          steps.map(historyOf),
          fc.array(cut, { minLength: 1, maxLength: 6 }),
          cut,
          async ({ entries }, cuts, maxBatch) => {
            const [store, other] = [new MemoryEventStore(), new MemoryEventStore()];
            const last = entries.slice(-3);
            await withRows(async (live, startLive) => {
              const running = await startLive(store, 16);
              await running.ready();
              for (let [from, turn] = [0, 0]; from < entries.length; turn += 1) {
                const to = Math.min(entries.length, from + cuts[turn % cuts.length]!);
                await appendHistory(store, entries.slice(from, to));
                await running.caughtUpTo((await store.head())!);
                from = to;
              }
              const kept = digestsOf(live);
              await running.rebuild(PROJECTIONS.map(({ name }) => name));
              await running.ready();
              expect(digestsOf(live)).toEqual(kept);
              await running.stop();
              await withRows(async (built, startBuilt) => {
                await appendHistory(other, entries.slice(0, -last.length));
                const filled = await startBuilt(other, maxBatch);
                await filled.ready();
                await appendHistory(other, last);
                if (entries.length > 0) await filled.caughtUpTo((await other.head())!);
                expect(await filled.parked()).toEqual([]);
                expect(digestsOf(built)).toEqual(kept);
                await filled.stop();
              });
            });
          },
        ),
        { numRuns: RUNS },
      );
    },
  );
});
