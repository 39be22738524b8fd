import type { DomainEvent } from '../../src/domain/events/domain-event.ts';
import type { MakeKeyedMemory } from '../../src/ports/read-model/keyed-memory.ts';
import type { RecordedEvent } from '../../src/ports/event-log/event-store.ts';
import { checkpointText, noteOf, parseCheckpoint, verifierKeyText } from '../../src/runtime/merkle/checkpoint-note.ts';
import { encodeEvent, hashRecorded } from '../../src/runtime/commands/codec.ts';
import { MerkleFrontier } from '../../src/runtime/merkle/frontier.ts';
import { leafHash } from '../../src/runtime/merkle/tree.ts';
import { AuditKey } from '../../src/signer/audit/key.ts';
import { auditLine } from '../../src/features/audit/lines.ts';
import { SpilledMap } from '../../src/adapters/sqlite/read-model/spilled-map.ts';
import { verifyExport, type VerifyReport } from '../../src/features/audit/verify.ts';

/*
 * An export as somebody makes it who has the log, the sources and the signer's key: every hash, the tree and the
 * signature fit whatever events there are.
 */

const key = new AuditKey(Buffer.alloc(64, 7));

export interface SignedExport {
  readonly lines: readonly string[];
  readonly checkpoint: string;
  readonly verifierKey: string;
}

/** The events in their order, each the next one of its stream. */
export function recordedEvents(
  events: readonly (readonly [stream: string, event: DomainEvent])[],
  atMs: number,
): RecordedEvent[] {
  const recorded = events.map(([stream, event], index) => {
    const metadata = { correlationId: 'test', actor: 'test', prev: '' };
    const id = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
    return { ...encodeEvent({ id, stream, revision: 0, atMs, event, metadata }), stream, revision: 0, position: '' };
  });
  return rechained(recorded);
}

/** Positions, revisions, `prev` and hashes made to fit. */
export function rechained(events: readonly RecordedEvent[]): RecordedEvent[] {
  const ends = new Map<string, { revision: number; hash: string }>();
  return events.map((event, index) => {
    const before = ends.get(event.stream);
    const metadata = event.metadata.replace(/"prev":"[0-9a-f]*"/, `"prev":"${before?.hash ?? ''}"`);
    const moved = { ...event, metadata, revision: (before?.revision ?? -1) + 1, position: String(index + 1) };
    const rehashed = { ...moved, hash: hashRecorded(moved) };
    ends.set(event.stream, rehashed);
    return rehashed;
  });
}

/** Of the tree over just these events. */
export function rootOf(events: readonly Pick<RecordedEvent, 'hash'>[]): Buffer {
  const tree = new MerkleFrontier();
  for (const { hash } of events) tree.append(leafHash(Buffer.from(hash, 'hex')));
  return tree.root();
}

/** Under a checkpoint that was signed over just these events. */
export function signedExport(events: readonly RecordedEvent[]): SignedExport {
  const text = checkpointText({ origin: key.verifierKey.name, size: events.length, root: rootOf(events) });
  return {
    lines: events.map((event, index) => auditLine(event, index + 1)),
    checkpoint: noteOf(text, key.verifierKey, key.sign(text)),
    verifierKey: verifierKeyText(key.verifierKey),
  };
}

export function verifiedAsSigned(
  events: readonly RecordedEvent[],
  memory: MakeKeyedMemory = () => new SpilledMap(),
): Promise<VerifyReport> {
  const { lines, checkpoint } = signedExport(events);
  return verifyExport({
    lines: async function* () {
      yield* lines;
    },
    checkpoints: [parseCheckpoint(checkpoint)!],
    key: key.verifierKey,
    memory,
  });
}
