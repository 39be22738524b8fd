import { setPriority } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { leafOf, LogWalker, type LogFault, type WalkedEvent } from '../adapters/sqlite/log-walker.ts';
import type { CheckpointSigned } from '../domain/events/operations-events.ts';
import type { AuditHead, AuditState } from '../ports/audit.ts';
import { HeadCheck, headOfAnchor, headOfEvent, type PromisedHead } from '../runtime/checkpoint-check.ts';
import { parseVerifierKey } from '../runtime/checkpoint-note.ts';
import { MerkleLog } from '../runtime/merkle-log.ts';
import type { AuditQuestion, AuditWorkerData, FromAudit, ToAudit } from './audit-messages.ts';

/*
 * The thread that reads the ledger as an auditor would: at the start all of it, against every hash and every checkpoint, and
 * from then on what is appended. It takes no time from the requests and never writes.
 */

const { dataDir, verifierKey, anchors } = workerData as AuditWorkerData;
const SLICE = 1_000;
const FOLLOW_EVERY_MS = 1_000;
const NICE = 10;

// On Linux this is the priority of the calling thread alone; elsewhere it would be that of the whole process.
if (process.platform === 'linux') setPriority(0, NICE);

const walker = new LogWalker(dataDir);
const tree = new MerkleLog((from, to) => walker.leaves(from, to));
const heads = new HeadCheck();
const key = verifierKey === null ? null : parseVerifierKey(verifierKey);
const promised: PromisedHead[] = anchors.map(headOfAnchor).sort((one, other) => one.size - other.size);
/** Leaves that are signed checkpoints themselves, ascending. */
const checkpointLeaves: number[] = [];
let state: AuditState = { size: 0, integrity: 'checking', fault: null };
let isStopped = false;

const tell = (message: FromAudit): void => parentPort!.postMessage(message);

function setState(integrity: AuditState['integrity'], fault: string | null): void {
  state = { size: tree.size, integrity, fault };
  tell({ kind: 'state', state });
}

/** Puts the events into the tree; the text of the first fault, or null. */
function take(events: readonly WalkedEvent[], isChecking: boolean): string | null {
  for (const event of events) {
    tree.append(leafOf(event.hash));
    if (event.type === 'CheckpointSigned') {
      checkpointLeaves.push(tree.size - 1);
      const fault = isChecking ? faultOfCheckpoint(event) : null;
      if (fault !== null) return fault;
    }
    while (promised[0]?.size === tree.size) {
      const fault = heads.check(promised.shift()!, tree.rootAt(tree.size));
      if (fault !== null) return fault;
    }
  }
  return null;
}

function faultOfCheckpoint(event: WalkedEvent): string | null {
  const head = headOfEvent(JSON.parse(event.data) as CheckpointSigned['data'], key);
  if ('fault' in head) return `event ${event.position} of the log is a checkpoint, but ${head.fault}`;
  if (head.size > tree.size) return `event ${event.position} of the log is a checkpoint of ${head.size} events: more than there were`;
  return heads.check(head, tree.rootAt(head.size));
}

const textOf = ({ position, reason }: LogFault): string =>
  position === null ? reason : `the log in ${dataDir} is damaged at event ${position}: ${reason}`;

/** Null when the whole history up to now is what it was. */
async function checkHistory(): Promise<string | null> {
  for (const end = walker.end; tree.size < end && !isStopped; await nextTurn()) {
    const { events, fault } = walker.check(Math.min(SLICE, end - tree.size));
    const found = take(events, true) ?? (fault && textOf(fault));
    if (found !== null) return found;
    setState('checking', null);
  }
  const [ahead] = promised;
  if (ahead && !isStopped)
    return `the log ends after ${tree.size} events, but ${ahead.size} were signed: events were lost, or an old copy was put in place`;
  const ofFile = isStopped ? null : walker.faultOfFile();
  return ofFile && textOf(ofFile);
}

async function run(): Promise<void> {
  const fault = await checkHistory();
  if (isStopped) return;
  if (fault !== null) return setState('damaged', fault);
  setState('sound', null);
  setInterval(() => {
    try {
      follow();
    } catch {
      // The next look tries again; whoever asks for a proof meanwhile is told.
    }
  }, FOLLOW_EVERY_MS).unref();
}

function follow(): void {
  if (state.integrity !== 'sound' || isStopped) return;
  for (let events = walker.follow(SLICE); events.length > 0; events = walker.follow(SLICE)) take(events, false);
  if (state.size !== tree.size) setState('sound', null);
}

function answer(question: AuditQuestion): unknown {
  switch (question.kind) {
    case 'head':
      follow();
      return headOf(question.since);
    case 'inclusion':
      return tree.inclusionProof(question.leaf, question.size).map((node) => node.toString('base64'));
    case 'consistency':
      return tree.consistencyProof(question.first, question.second).map((node) => node.toString('base64'));
    case 'stop':
      isStopped = true;
      walker.close();
      return null;
  }
}

function headOf(since: number): AuditHead {
  const { size } = tree;
  const checkpoints = checkpointLeaves.length - lowerBound(checkpointLeaves, since);
  return {
    size,
    rootHash: tree.rootAt(size).toString('base64'),
    position: size === 0 ? null : String(size),
    othersSince: Math.max(0, size - since) - checkpoints,
  };
}

/** Index of the first value that is not below `least`. */
function lowerBound(values: readonly number[], least: number): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (values[middle]! < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

parentPort!.on('message', ({ id, ...question }: ToAudit) => {
  try {
    tell({ kind: 'answer', id, value: answer(question) });
  } catch (error) {
    tell({ kind: 'refusal', id, message: error instanceof Error ? error.message : String(error), isBehind: error instanceof RangeError });
  }
  if (question.kind === 'stop') parentPort!.close();
});

await run();
