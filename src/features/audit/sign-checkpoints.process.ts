import type { CheckpointSigned } from '../../domain/events/operations-events.ts';
import { AUDIT_STREAM } from '../../domain/values/streams.ts';
import type { AuditAnchor, AuditTree, CheckpointSigner, CheckpointWitness } from '../../ports/event-log/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EventStore, RecordedEvent } from '../../ports/event-log/event-store.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import { appendNext } from '../../runtime/commands/append-next.ts';
import { InTurn } from '../../runtime/util/in-turn.ts';
import { dataOf } from '../../runtime/commands/codec.ts';

export interface SignCheckpointsDeps {
  readonly store: Pick<EventStore, 'append' | 'lastOfStream'>;
  readonly tree: AuditTree;
  readonly signer: CheckpointSigner;
  /** The newest event of the stream `audit`; null before the first. */
  readonly last: RecordedEvent | null;
  /** Whether this process holds the lease. Two holders do no harm: the expected revision of the stream decides. */
  readonly isLeader: () => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /**
   * A checkpoint is due after this many new events, or once the oldest of them reaches this age. Checkpoints do not
   * count.
   */
  readonly everyEvents: number;
  readonly everyMs: number;
  /** Null: no external witness is asked. */
  readonly witness: CheckpointWitness | null;
  /** The signer refuses: the event log does not extend what it signed before. */
  readonly onRefused: (message: string) => void;
}

/** A checkpoint as stored in the stream. */
export interface KeptCheckpoint {
  /** Number of events. */
  readonly size: number;
  /** Base64. */
  readonly rootHash: string;
  /** The signed note. */
  readonly checkpoint: string;
  /** Unix milliseconds. */
  readonly atMs: number;
}

const LOOK_EVERY_MS = 1_000;

/**
 * The sequencer of the audit log. It runs under a lease, so that one process requests signatures, off the write path,
 * and writes one event to the stream `audit`. Leaves are numbered in log order, which is the same in every process, so
 * everyone who signs a given size signs the same tree.
 */
export class SignAuditCheckpoints {
  readonly #deps: SignCheckpointsDeps;
  #last: RecordedEvent | null;
  readonly #turns = new InTurn();
  #timer: NodeJS.Timeout | null = null;
  #refused = false;

  constructor(deps: SignCheckpointsDeps) {
    this.#deps = deps;
    this.#last = deps.last;
  }

  /** The newest checkpoint known to this process; null before the first. */
  get last(): KeptCheckpoint | null {
    if (!this.#last) return null;
    const { size, rootHash, checkpoint } = dataOf(this.#last, 'CheckpointSigned');
    return { size, rootHash, checkpoint, atMs: this.#last.atMs };
  }

  start(): void {
    this.#timer = setInterval(() => void this.look(), Math.min(LOOK_EVERY_MS, this.#deps.everyMs));
  }

  async stop(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    await this.#turns.ended();
  }

  /** Signs if a checkpoint is due. Never rejects. */
  look(): Promise<void> {
    return this.#turns
      .run(async () => {
        const { tree, isLeader } = this.#deps;
        if (tree.state.integrity !== 'sound' || this.#refused || !isLeader()) return;
        if (!(await this.#isDue())) return;
        // Another process may have signed in the meantime.
        await this.#refresh();
        if (await this.#isDue()) await this.#sign();
      })
      .catch((error: unknown) => this.#deps.log.warn({ err: error }, 'no checkpoint could be signed now'));
  }

  /**
   * Signs immediately. Rejects when the event log is unsound, the signer refuses, or another process holds the lease.
   */
  signNow(): Promise<KeptCheckpoint> {
    return this.#turns.run(async () => {
      const { integrity, fault } = this.#deps.tree.state;
      if (integrity !== 'sound') throw new Error(fault ?? 'the history is still being checked: try again in a moment');
      if (!this.#deps.isLeader()) throw new Error('another process signs checkpoints now: ask there');
      await this.#refresh();
      const { othersSince } = await this.#deps.tree.head(this.last?.size ?? 0);
      if (this.#last === null || othersSince > 0) await this.#sign();
      if (!this.last) throw new Error('no checkpoint was signed');
      return this.last;
    });
  }

  async #isDue(): Promise<boolean> {
    const { tree, clock, everyEvents, everyMs } = this.#deps;
    const { othersSince } = await tree.head(this.last?.size ?? 0);
    // A checkpoint far in the future comes from a wrong clock. Waiting for this clock to catch up would leave
    // everything since unsigned.
    const isOld = Math.abs(clock.nowMs() - (this.#last?.atMs ?? 0)) >= everyMs;
    return othersSince >= everyEvents || (othersSince > 0 && isOld);
  }

  async #refresh(): Promise<void> {
    this.#last = await this.#deps.store.lastOfStream(AUDIT_STREAM);
  }

  async #sign(): Promise<void> {
    const { tree, signer, onRefused } = this.#deps;
    const { size, rootHash, position } = await tree.head(0);
    const identity = await signer.auditIdentity();
    if (size === 0 || position === null || !identity) return;
    const signed = identity.anchors.at(-1);
    const verdict = await signer.signCheckpoint({
      size,
      rootHash,
      consistency: signed ? await this.#continuing(signed, size) : [],
    });
    if (!verdict.ok) {
      this.#refused = true;
      onRefused(verdict.message);
      throw new Error(verdict.message);
    }
    const checkpoint = await this.#witnessed(verdict.checkpoint, size);
    await this.#append({ origin: identity.origin, size, rootHash, checkpoint, throughPosition: position });
  }

  /** Empty if the signer has signed more than exists; the signer then refuses. */
  async #continuing(signed: AuditAnchor, size: number): Promise<string[]> {
    return signed.size <= size ? this.#deps.tree.consistencyProof(signed.size, size) : [];
  }

  async #witnessed(checkpoint: string, size: number): Promise<string> {
    const { witness, tree, log } = this.#deps;
    if (!witness) return checkpoint;
    try {
      return (
        checkpoint +
        (await witness.cosign(checkpoint, size, async (from) => (from === 0 ? [] : tree.consistencyProof(from, size))))
      );
    } catch (error) {
      log.warn({ err: error, size }, 'the witness did not cosign a checkpoint');
      return checkpoint;
    }
  }

  /** Appends after the checkpoint that was newest before signing. A process that was overtaken writes nothing. */
  async #append(data: CheckpointSigned['data']): Promise<void> {
    const event: CheckpointSigned = { type: 'CheckpointSigned', data };
    const { result, encoded } = await appendNext(this.#deps, {
      stream: AUDIT_STREAM,
      last: this.#last,
      event,
      actor: 'clock',
    });
    if (!result.ok) throw new Error('another process signed a checkpoint at the same moment');
    this.#last = { ...encoded, stream: AUDIT_STREAM, revision: result.revision, position: result.position };
  }
}
