import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import { LogAudit } from '../../adapters/sqlite/event-log/log-audit.ts';
import { StreamNamesCheck } from '../../adapters/sqlite/event-log/stream-names-check.ts';
import { SpilledMap } from '../../adapters/sqlite/read-model/spilled-map.ts';
import { StreamHistories } from '../../features/audit/replay.ts';
import type { AuditState } from '../../ports/event-log/audit.ts';
import type { AuditQuestion, AuditWorkerData, FromAudit, ToAudit } from './messages.ts';
import { messageOf } from '../../runtime/util/message-of.ts';
import { threadData } from '../../runtime/util/thread-data.ts';
import { must } from '../../domain/values/must.ts';
import { lowerPriority } from '../../runtime/util/lower-priority.ts';

/* The audit's thread: reads the log on a separate connection, never writes, and takes no time from requests. */

const FOLLOW_EVERY_MS = 1_000;
/** 512 events a second, so a million in about half an hour, at a hundredth of one core. */
const RECHECKED_TILES = 2;

lowerPriority();

const histories = new StreamHistories(() => new SpilledMap());
const data = threadData<AuditWorkerData>();
const names = new StreamNamesCheck(data.dataDir);
const audit = new LogAudit({ ...data, inspect: (event) => names.faultOf(event) ?? histories.take(event) });
let state: AuditState = { size: 0, integrity: 'checking', fault: null };
let isStopped = false;

const tell = (message: FromAudit): void => must(parentPort).postMessage(message);

function setState(integrity: AuditState['integrity'], fault: string | null): void {
  state = { size: audit.tree.size, integrity, fault };
  tell({ kind: 'state', state });
}

async function run(): Promise<void> {
  while (!isStopped) {
    const step = audit.check();
    if (step === 'sound') break;
    if (step !== 'more') return setState('damaged', step.fault);
    setState('checking', null);
    await nextTurn();
  }
  histories.close();
  names.close();
  if (isStopped) return;
  setState('sound', null);
  setInterval(() => {
    try {
      follow();
      recheck();
    } catch {
      // The next poll retries; a request for a proof in the meantime is told.
    }
  }, FOLLOW_EVERY_MS).unref();
}

function recheck(): void {
  for (let tile = 0; tile < RECHECKED_TILES && state.integrity === 'sound' && !isStopped; tile += 1) {
    const fault = audit.recheck();
    if (fault !== null) setState('damaged', fault);
  }
}

function follow(): void {
  if (state.integrity !== 'sound' || isStopped) return;
  const fault = audit.follow();
  if (fault !== null) setState('damaged', fault);
  else if (state.size !== audit.tree.size) setState('sound', null);
}

const base64 = (nodes: readonly Buffer[]): string[] => nodes.map((node) => node.toString('base64'));

function answer(question: AuditQuestion): unknown {
  switch (question.kind) {
    case 'head':
      follow();
      return audit.head(question.since);
    case 'inclusion':
      return base64(audit.tree.inclusionProof(question.leaf, question.size));
    case 'consistency':
      return base64(audit.tree.consistencyProof(question.first, question.second));
    case 'stop':
      isStopped = true;
      audit.close();
      return null;
  }
}

must(parentPort).on('message', ({ id, ...question }: ToAudit) => {
  try {
    tell({ kind: 'answer', id, value: answer(question) });
  } catch (error) {
    tell({ kind: 'refusal', id, message: messageOf(error), isBehind: error instanceof RangeError });
  }
  if (question.kind === 'stop') must(parentPort).close();
});

await run();
