import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, expect, it } from 'vitest';
import { compareProjection, ReadModelSnapshot } from '../../src/adapters/sqlite/read-model/compare.ts';
import { openSqliteEventStore } from '../../src/adapters/sqlite/event-log/event-store.ts';
import { openProjectionThread } from '../../src/look-ups/thread.ts';
import { PROJECTIONS } from '../../src/look-ups/projections.ts';
import { ownedRows, projectionId } from '../../src/runtime/projections/batch.ts';
import { appendRandomHistory } from '../support/audited-log.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const CHILD = join(import.meta.dirname, 'rebuild-killed.child.ts');
const KILLS = 2;
const LONGEST_MS = 60;
/** Each kill is a start of the service's threads. */
const TIMEOUT_MS = 120_000;

let dataDir: string;

beforeEach(() => {
  dataDir = temporaryFolder('rebuild-killed');
});

function digests(): Record<string, string> {
  const snapshot = new ReadModelSnapshot(dataDir);
  try {
    return Object.fromEntries(
      PROJECTIONS.map((one) => [projectionId(one), compareProjection(ownedRows(one), snapshot, snapshot).digest]),
    );
  } finally {
    snapshot.close();
  }
}

/** With what the log holds, every projection caught up and no rebuild under way. */
async function served(
  work: (store: Awaited<ReturnType<typeof openSqliteEventStore>>) => Promise<void>,
): Promise<Record<string, string>> {
  const store = await openSqliteEventStore({ dataDir });
  const thread = await openProjectionThread(dataDir);
  try {
    await thread.start(store);
    await work(store);
    await thread.ready();
    expect(await thread.caughtUpTo((await store.head())!, 20_000)).toBe(true);
    return digests();
  } finally {
    await thread.stop();
    await thread.readModel.close();
    await store.close();
  }
}

it(
  'a rebuild that is killed leaves the rows served as they were, and is made good by the next start',
  { timeout: TIMEOUT_MS },
  async () => {
    const whole = await served((store) => appendRandomHistory(store));
    for (let kill = 0; kill < KILLS; kill += 1) {
      const child = fork(CHILD, [dataDir], { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
      const ended = once(child, 'exit');
      await new Promise<void>((resolve, reject) => {
        child.on('message', (message) => message === 'rebuilding' && resolve());
        child.on('exit', () => reject(new Error('the child ended by itself')));
      });
      await sleep((LONGEST_MS * kill) / KILLS);
      child.kill('SIGKILL');
      await ended;
      expect(digests()).toEqual(whole);
    }
    expect(await served(async () => undefined)).toEqual(whole);
  },
);
