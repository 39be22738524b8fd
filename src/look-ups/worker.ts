import { parentPort, type MessagePort } from 'node:worker_threads';
import { serveSqliteReadModel } from '../adapters/sqlite/read-model/read-model.ts';
import { systemClock } from '../ports/clock.ts';
import { decodeData } from '../runtime/commands/codec.ts';
import { ProjectionRunner } from '../runtime/projections/runner.ts';
import type { Follows, FromProjections, Question, ToProjections } from './messages.ts';
import { projectionsNamed } from './projections.ts';
import { followLog } from './followed-log.ts';
import { forgetOtherLog } from './other-log.ts';
import { messageOf } from '../runtime/util/message-of.ts';
import { threadData } from '../runtime/util/thread-data.ts';
import { must } from '../domain/values/must.ts';
import { lowerPriority } from '../runtime/util/lower-priority.ts';

/*
 * The projection thread: follows the log on a separate connection and owns the read model's writer, so that neither
 * decoding nor projecting nor committing takes time from requests.
 */

const { dataDir, log, projections, archiveAfterDays, control } = threadData<
  Follows & { readonly control: MessagePort }
>();
/** Lags change without any batch: when events arrive, and when the thread is busy. */
const STATUS_EVERY_MS = 1_000;

lowerPriority(5);

const tell = (message: FromProjections): void => control.postMessage(message);

const onError = (error: unknown): void => tell({ kind: 'error', message: messageOf(error) });
const follower = await followLog(log, dataDir, onError);
const kept = projectionsNamed(projections);
const noted = follower.servers && (await forgetOtherLog({ dataDir, log, store: follower.servers }));
const readModel = serveSqliteReadModel({
  dataDir,
  port: must(parentPort),
  archive: {
    times: Object.fromEntries(kept.flatMap(({ archived }) => (archived ? Object.entries(archived) : []))),
    afterSec: archiveAfterDays === undefined ? null : archiveAfterDays * 86_400,
    nowMs: () => systemClock.nowMs(),
    onError,
  },
});
const runner = new ProjectionRunner({
  store: follower,
  readModel,
  projections: kept,
  clock: systemClock,
  maxBatch: follower.maxBatch,
  decode: decodeData,
  isChained: log.kind === 'servers',
  hooks: {
    onBatch: (report) => {
      tell({ kind: 'status', status: runner.status(), report });
      noted?.taken();
    },
    onParked: (event) => tell({ kind: 'parked', event }),
    onRebuild: (projection, reason) => tell({ kind: 'rebuilding', projection, reason }),
    onSwitched: (projection) => tell({ kind: 'switched', projection }),
    onError,
  },
});

const reporting = setInterval(
  () => tell({ kind: 'status', status: runner.status(), report: null }),
  STATUS_EVERY_MS,
).unref();

control.on('message', (message: ToProjections) => {
  if (message.kind === 'advance') return follower.advance();
  answer(message).then(
    (value) => {
      tell({ kind: 'status', status: runner.status(), report: null });
      tell({ kind: 'answer', id: message.id, value });
      if (message.kind === 'stop') control.close();
    },
    (error: unknown) =>
      tell({
        kind: 'refusal',
        id: message.id,
        name: error instanceof Error ? error.name : '',
        message: messageOf(error),
      }),
  );
});

async function answer(question: Question): Promise<unknown> {
  switch (question.kind) {
    case 'start':
      if (noted?.forgotten) tell({ kind: 'error', message: noted.forgotten });
      return runner.start();
    case 'ready':
      return runner.ready();
    case 'reach':
      follower.advance();
      return runner.caughtUpTo(question.position, question.timeoutMs);
    case 'rebuild':
      return runner.rebuild(question.names);
    case 'parked':
      return runner.parked(question.limit);
    case 'stop':
      clearInterval(reporting);
      await runner.stop();
      await noted?.noted();
      return follower.close();
  }
}
