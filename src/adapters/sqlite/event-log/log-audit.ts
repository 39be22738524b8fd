import type { CheckpointSigned } from '../../../domain/events/operations-events.ts';
import type { AuditAnchor, AuditHead } from '../../../ports/event-log/audit.ts';
import { HeadCheck, headOfAnchor, headOfEvent, type ExpectedHead } from '../../../runtime/merkle/checkpoint-check.ts';
import { parseVerifierKey, type VerifierKey } from '../../../runtime/merkle/checkpoint-note.ts';
import { MerkleLog } from '../../../runtime/merkle/log.ts';
import { LogRecheck } from './log-recheck.ts';
import { leafOf, LogWalker, type InspectEvent, type LogFault, type WalkedEvent } from './log-walker.ts';
import { must } from '../../../domain/values/must.ts';

const SLICE = 1_000;

export interface LogAuditOptions {
  readonly dataDir: string;
  /** Null if nobody signs. */
  readonly verifierKey: string | null;
  /** The checkpoints that the signer remembers. */
  readonly anchors: readonly AuditAnchor[];
  /** Called with every event of the first reading, in order. */
  readonly inspect?: InspectEvent;
}

export type AuditStep = 'more' | 'sound' | { readonly fault: string };

/**
 * Reads the log like an auditor: first all of it, verifying every hash and every checkpoint, then what is appended.
 * Maintains its Merkle tree. Synchronous, one slice at a time, so it runs in a separate thread.
 */
export class LogAudit {
  readonly #dataDir: string;
  readonly #walker: LogWalker;
  readonly #end: number;
  readonly #tree: MerkleLog;
  readonly #recheck: LogRecheck;
  readonly #heads = new HeadCheck();
  readonly #inspect: InspectEvent | undefined;
  readonly #key: VerifierKey | null;
  readonly #expected: ExpectedHead[];
  /** Leaves of signed checkpoints, ascending. */
  readonly #checkpointLeaves: number[] = [];

  constructor({ dataDir, verifierKey, anchors, inspect }: LogAuditOptions) {
    this.#inspect = inspect;
    this.#dataDir = dataDir;
    this.#walker = new LogWalker(dataDir);
    this.#end = this.#walker.end;
    this.#tree = new MerkleLog((from, to) => this.#walker.leaves(from, to));
    this.#recheck = new LogRecheck(dataDir, this.#tree);
    this.#key = verifierKey === null ? null : parseVerifierKey(verifierKey);
    this.#expected = anchors.map(headOfAnchor).sort((one, other) => one.size - other.size);
  }

  get tree(): MerkleLog {
    return this.#tree;
  }

  /** Verifies the next slice of the initial history. The last step reads the whole file. */
  check(): AuditStep {
    if (this.#tree.size < this.#end) {
      const { events, fault } = this.#walker.check(Math.min(SLICE, this.#end - this.#tree.size), this.#inspect);
      const found = this.#take(events, true) ?? (fault && this.#textOf(fault));
      return found === null ? 'more' : { fault: found };
    }
    const [ahead] = this.#expected;
    if (ahead)
      return {
        fault: `the log in ${this.#dataDir} ends after ${this.#tree.size} events, but ${ahead.size} were signed: events were lost, or an old copy was put in place`,
      };
    const ofFile = this.#walker.faultOfFile();
    return ofFile ? { fault: this.#textOf(ofFile) } : 'sound';
  }

  /** Adds what was appended since, once the history is verified. Returns the fault, or null. */
  follow(): string | null {
    for (;;) {
      const { events, fault } = this.#walker.follow(SLICE);
      this.#take(events, false);
      if (fault) return this.#textOf(fault);
      if (events.length === 0) return null;
    }
  }

  /** Rereads some verified events. Returns the fault, or null. */
  recheck(): string | null {
    if (this.#tree.size === 0) return null;
    const fault = this.#recheck.step();
    return fault && this.#textOf(fault);
  }

  head(since: number): AuditHead {
    const { size } = this.#tree;
    const checkpoints = this.#checkpointLeaves.length - lowerBound(this.#checkpointLeaves, since);
    return {
      size,
      rootHash: this.#tree.rootAt(size).toString('base64'),
      position: size === 0 ? null : String(size),
      othersSince: Math.max(0, size - since) - checkpoints,
    };
  }

  close(): void {
    this.#walker.close();
    this.#recheck.close();
  }

  /** Adds the events to the tree. Returns the text of the first fault, or null. */
  #take(events: readonly WalkedEvent[], isChecking: boolean): string | null {
    for (const event of events) {
      this.#tree.append(leafOf(event.hash));
      if (event.type === 'CheckpointSigned') {
        this.#checkpointLeaves.push(this.#tree.size - 1);
        const fault = isChecking ? this.#faultOfCheckpoint(event) : null;
        if (fault !== null) return fault;
      }
      while (this.#expected[0]?.size === this.#tree.size) {
        const fault = this.#heads.check(must(this.#expected.shift()), this.#tree.rootAt(this.#tree.size));
        if (fault !== null) return fault;
      }
    }
    return null;
  }

  #faultOfCheckpoint(event: WalkedEvent): string | null {
    const head = headOfEvent(JSON.parse(event.data) as CheckpointSigned['data'], this.#key);
    if ('fault' in head) return `event ${event.position} of the log is a checkpoint, but ${head.fault}`;
    if (head.size > this.#tree.size)
      return `event ${event.position} of the log is a checkpoint of ${head.size} events: more than there were`;
    return this.#heads.check(head, this.#tree.rootAt(head.size));
  }

  #textOf({ position, reason }: LogFault): string {
    return position === null ? reason : `the log in ${this.#dataDir} is damaged at event ${position}: ${reason}`;
  }
}

/** Index of the first value that is at least `least`. */
function lowerBound(values: readonly number[], least: number): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (must(values[middle]) < least) low = middle + 1;
    else high = middle;
  }
  return low;
}
