import { prevOf } from '../../domain/events/envelope.ts';
import type { CheckpointSigned } from '../../domain/events/operations-events.ts';
import type { RecordedEvent } from '../../ports/event-log/event-store.ts';
import type { KeyedMemory, MakeKeyedMemory } from '../../ports/read-model/keyed-memory.ts';
import { HeadCheck, headOfEvent, type ExpectedHead } from '../../runtime/merkle/checkpoint-check.ts';
import { verifySignature, type SignedCheckpoint, type VerifierKey } from '../../runtime/merkle/checkpoint-note.ts';
import { hashRecorded } from '../../runtime/commands/codec.ts';
import { MerkleFrontier } from '../../runtime/merkle/frontier.ts';
import { leafHash } from '../../runtime/merkle/tree.ts';
import { parseAuditLine } from './lines.ts';
import { HistoryReplay } from './replay.ts';

export interface VerifyInput {
  /** The export from its beginning; called twice. */
  readonly lines: () => AsyncIterable<string>;
  /** At least one. The export is compared with the newest. */
  readonly checkpoints: readonly SignedCheckpoint[];
  readonly key: VerifierKey;
  /** Stores the state of every stream until the end. */
  readonly memory: MakeKeyedMemory;
  /** Called occasionally with the number of lines read so far. */
  readonly onProgress?: (lines: number) => void;
}

export interface VerifyReport {
  readonly ok: boolean;
  /** The fault and its location; null if there is none. */
  readonly fault: string | null;
  readonly events: number;
  readonly streams: number;
  /** Number of checkpoints whose root matches the export. */
  readonly checkpoints: number;
  /** Number of events after the newest checkpoint (given or in the export), which no signature covers yet. */
  readonly uncovered: number;
  /** Number of closed months whose figures match their events. */
  readonly closedMonths: number;
}

type Counts = { -readonly [Name in keyof Omit<VerifyReport, 'ok' | 'fault'>]: VerifyReport[Name] };

const PROGRESS_EVERY = 50_000;

/** A fault that ends the verification. */
class Found extends Error {}

/**
 * Verifies an export against checkpoints with the public key alone: signatures, every event's hash and position in its
 * stream, the tree, every stream's life cycle, and the books.
 */
export async function verifyExport(input: VerifyInput): Promise<VerifyReport> {
  const counts: Counts = { events: 0, streams: 0, checkpoints: 0, uncovered: 0, closedMonths: 0 };
  const streams = new StreamHashes(input.memory());
  const replay = new Replay(input.memory);
  try {
    for (const checkpoint of input.checkpoints) assertSigned(checkpoint, input.key);
    const heads = await expectedHeads(input);
    await readThrough(input, heads, { streams, replay }, counts);
    replay.assertLegal();
    counts.closedMonths = replay.closedMonths;
    return { ok: true, fault: null, ...counts };
  } catch (error) {
    if (!(error instanceof Found)) throw error;
    return { ok: false, fault: error.message, ...counts };
  } finally {
    streams.close();
    replay.close();
  }
}

function assertSigned(checkpoint: SignedCheckpoint, key: VerifierKey): void {
  const verdict = verifySignature(checkpoint, key);
  if (verdict === 'valid') return;
  const what =
    verdict === 'invalid'
      ? 'carries a signature of the key that does not verify'
      : `is not signed by the key ${key.name}+${key.id}`;
  throw new Found(`the checkpoint of ${checkpoint.size} events ${what}`);
}

/** Every expected tree head in ascending order, from the given checkpoints and from those in the export. */
async function expectedHeads({ lines, checkpoints, key }: VerifyInput): Promise<ExpectedHead[]> {
  const heads: ExpectedHead[] = checkpoints.map(({ size, root }) => ({ size, root, source: 'the file given' }));
  for await (const text of lines()) {
    if (!text.includes('"CheckpointSigned"')) continue;
    const event = parseAuditLine(text);
    if (typeof event === 'string' || event.type !== 'CheckpointSigned' || event.hash !== hashRecorded(event)) continue;
    const head = headOfEvent(JSON.parse(event.data) as CheckpointSigned['data'], key);
    if ('fault' in head)
      throw new Found(`event ${event.position} (${event.stream} ${event.revision}) is a checkpoint, but ${head.fault}`);
    heads.push({ ...head, source: `event ${event.position} of the export` });
  }
  return heads.sort((one, other) => one.size - other.size);
}

async function readThrough(
  { lines, onProgress }: VerifyInput,
  heads: ExpectedHead[],
  { streams, replay }: { readonly streams: StreamHashes; readonly replay: Replay },
  counts: Counts,
): Promise<void> {
  const tree = new MerkleFrontier();
  const check = new HeadCheck();
  let covered = 0;
  for await (const text of lines()) {
    const number = tree.size + 1;
    const event = parseAuditLine(text);
    if (typeof event === 'string') throw new Found(`line ${number} of the export: ${event}`);
    const fault =
      event.position === String(number)
        ? streams.take(event)
        : `it says that it is event ${event.position}: events are missing or in another order`;
    if (fault !== null)
      throw new Found(
        `event ${number} (revision ${event.revision} of stream ${event.stream}, ${event.type}): ${fault}`,
      );
    tree.append(leafHash(Buffer.from(event.hash, 'hex')));
    await replay.take(event);
    counts.events = tree.size;
    counts.streams = streams.size;
    for (let head = heads[0]; head && head.size === tree.size; head = heads[0]) {
      heads.shift();
      const difference = check.check(head, tree.root());
      if (difference !== null) throw new Found(difference);
      counts.checkpoints += 1;
      covered = head.size;
    }
    if (number % PROGRESS_EVERY === 0) onProgress?.(number);
  }
  const beyond = heads.at(-1);
  if (beyond)
    throw new Found(
      `the export ends after ${tree.size} events, but ${beyond.size} were signed (${beyond.source}): ${beyond.size - tree.size} at the end are missing`,
    );
  counts.uncovered = tree.size - covered;
}

interface StreamHead {
  readonly revision: number;
  readonly hash: string;
}

/** The chain of hashes within each stream. */
class StreamHashes {
  readonly #heads: KeyedMemory<StreamHead>;

  constructor(heads: KeyedMemory<StreamHead>) {
    this.#heads = heads;
  }

  get size(): number {
    return this.#heads.size;
  }

  close(): void {
    this.#heads.close();
  }

  take(event: RecordedEvent): string | null {
    const before = this.#heads.get(event.stream);
    if (hashRecorded(event) !== event.hash) return 'its text does not have its hash';
    if (event.revision !== (before?.revision ?? -1) + 1)
      return `its stream goes on at revision ${(before?.revision ?? -1) + 1}: events are missing or in another order`;
    if (prevOf(event.metadata) !== (before?.hash ?? ''))
      return 'it does not name the hash of the event before it in its stream';
    this.#heads.set(event.stream, { revision: event.revision, hash: event.hash });
    return null;
  }
}

/** Reports an illegal history only after all hashes have matched, because a wrong hash says more. */
class Replay {
  readonly #history: HistoryReplay;
  #fault: string | null = null;

  constructor(memory: MakeKeyedMemory) {
    this.#history = new HistoryReplay(memory);
  }

  get closedMonths(): number {
    return this.#history.closedMonths;
  }

  async take(event: RecordedEvent): Promise<void> {
    if (this.#fault !== null) return;
    const fault = await this.#history.take(event);
    if (fault !== null)
      this.#fault = `event ${event.position} (revision ${event.revision} of stream ${event.stream}): ${fault}`;
  }

  assertLegal(): void {
    if (this.#fault !== null) throw new Found(this.#fault);
  }

  close(): void {
    this.#history.close();
  }
}
