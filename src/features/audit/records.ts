import { canonicalText } from '../../domain/events/canonical-text.ts';
import type { SessionId } from '../../domain/values/ids.ts';
import { AUDIT_STREAM, sessionStream } from '../../domain/values/streams.ts';
import type { AuditTree } from '../../ports/event-log/audit.ts';
import { toSec } from '../../ports/clock.ts';
import type { EventStore, RecordedEvent } from '../../ports/event-log/event-store.ts';
import { must } from '../../domain/values/must.ts';
import { dataOf } from '../../runtime/commands/codec.ts';

export interface SignedCheckpointRecord {
  readonly origin: string;
  readonly size: number;
  /** Base64. */
  readonly rootHash: string;
  /** The signed note. */
  readonly checkpoint: string;
  readonly createdSec: number;
}

/** One event with the proof of its inclusion in the event log. */
export interface EventProof {
  readonly type: string;
  readonly revision: number;
  /** From 0. */
  readonly leafIndex: number;
  /** The event's canonical text. Its SHA-256 is the event's hash and the entry of the leaf. */
  readonly text: string;
  /** Hex. */
  readonly hash: string;
  /** Base64, from the bottom up. */
  readonly inclusionProof: readonly string[];
}

/** An event with the checkpoint under which it is proven. */
export interface EventEvidence {
  readonly checkpoint: SignedCheckpointRecord;
  readonly proof: EventProof;
}

export interface SessionProof {
  /** True if `events` are all events of the session that the checkpoint covers; false if only some types. */
  readonly isWhole: boolean;
  /** Null before the first checkpoint. */
  readonly checkpoint: SignedCheckpointRecord | null;
  readonly events: readonly EventProof[];
  /** Number of events that await the next checkpoint. */
  readonly pendingEvents: number;
}

export interface CheckpointPage {
  readonly checkpoints: readonly SignedCheckpointRecord[];
  /** Cursor for older checkpoints; null at the end. */
  readonly before: number | null;
}

/** What auditors, merchants and payers may read about the event log as a whole. */
export class AuditRecords {
  /** The public key in the form that auditors keep; null if nobody signs or the key is not known yet. */
  readonly verifierKey: () => string | null;
  readonly #store: Pick<EventStore, 'readStream' | 'lastOfStream'>;
  readonly #tree: AuditTree;

  constructor(deps: {
    store: Pick<EventStore, 'readStream' | 'lastOfStream'>;
    tree: AuditTree;
    verifierKey: () => string | null;
  }) {
    this.verifierKey = deps.verifierKey;
    this.#store = deps.store;
    this.#tree = deps.tree;
  }

  /** Newest first. `before` is the cursor of the previous page; absent for the first. */
  async checkpoints({ before, limit }: { readonly before?: number; readonly limit: number }): Promise<CheckpointPage> {
    const last = await this.#store.lastOfStream(AUDIT_STREAM);
    const end = Math.min(before ?? Infinity, (last?.revision ?? -1) + 1);
    if (end <= 0) return { checkpoints: [], before: null };
    const from = Math.max(0, end - limit);
    const events = await this.#store.readStream(AUDIT_STREAM, { from, limit: end - from });
    return { checkpoints: events.map(recordOf).reverse(), before: from > 0 ? from : null };
  }

  /** Number of events in the tree; null while history is still being read. */
  async reached(): Promise<number | null> {
    return this.#tree.state.integrity === 'checking' ? null : (await this.#tree.head(0)).size;
  }

  /** Base64. Rejects with `AuditTreeBehind` unless `0 < from <= to` and the event log has reached `to` events. */
  consistency(from: number, to: number): Promise<readonly string[]> {
    return this.#tree.consistencyProof(from, to);
  }

  /** Proofs under the newest checkpoint. Rejects with `AuditTreeBehind` while history is still being read. */
  async proofOf(id: SessionId, types?: ReadonlySet<string>): Promise<SessionProof> {
    const last = await this.#store.lastOfStream(AUDIT_STREAM);
    const checkpoint = last && recordOf(last);
    const events = (await this.#store.readStream(sessionStream(id))).filter(({ type }) => types?.has(type) ?? true);
    const leaves = await Promise.all(events.map(({ position }) => this.#tree.leafOf(position)));
    const proofs = events.flatMap((event, index) => {
      const leaf = must(leaves[index]);
      return checkpoint && leaf < checkpoint.size ? [this.#proof(event, leaf, checkpoint.size)] : [];
    });
    return {
      isWhole: types === undefined,
      checkpoint,
      events: await Promise.all(proofs),
      pendingEvents: events.length - proofs.length,
    };
  }

  /** The event with this id as recorded in the stream; null if there is none. */
  async eventOf(stream: string, id: string): Promise<RecordedEvent | null> {
    return (await this.#store.readStream(stream)).find((event) => event.id === id) ?? null;
  }

  /**
   * The proof under the newest checkpoint; null if no checkpoint covers the event yet. Rejects with `AuditTreeBehind`
   * while history is still being read.
   */
  async proofOfEvent(event: RecordedEvent): Promise<EventEvidence | null> {
    const last = await this.#store.lastOfStream(AUDIT_STREAM);
    const checkpoint = last && recordOf(last);
    const leaf = await this.#tree.leafOf(event.position);
    return checkpoint && leaf < checkpoint.size
      ? { checkpoint, proof: await this.#proof(event, leaf, checkpoint.size) }
      : null;
  }

  async #proof(event: RecordedEvent, leafIndex: number, size: number): Promise<EventProof> {
    const inclusionProof = await this.#tree.inclusionProof(leafIndex, size);
    return {
      type: event.type,
      revision: event.revision,
      leafIndex,
      text: canonicalText(event),
      hash: event.hash,
      inclusionProof,
    };
  }
}

function recordOf(event: RecordedEvent): SignedCheckpointRecord {
  const { origin, size, rootHash, checkpoint } = dataOf(event, 'CheckpointSigned');
  return { origin, size, rootHash, checkpoint, createdSec: toSec(event.atMs) };
}
