import type { CheckpointSigned } from '../../domain/events/operations-events.ts';
import { AUDIT_STREAM } from '../../domain/streams.ts';
import type { AuditAnchor, AuditTree, CheckpointSigner, CheckpointWitness } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EventStore, RecordedEvent } from '../../ports/event-store.ts';
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
  /**
   * Whether this process has the lease. Two that believe so do no harm: the expected revision of the stream decides.
   */
  readonly isLeader: () => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /**
   * A checkpoint is due after this many new events, or when anything new is this old. Checkpoints themselves are not
   * new.
   */
  readonly everyEvents: number;
  readonly everyMs: number;
  /** Null: nobody outside is asked. */
  readonly witness: CheckpointWitness | null;
  /** The signer will not sign: what is in the log is not a continuation of what it signed before. */
  readonly onRefused: (message: string) => void;
}

/** A checkpoint as the stream has it. */
export interface KeptCheckpoint {
  /** Events. */
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
 * The sequencer of the audit log: under a lease, so that one process asks for signatures. Signing is off the write
 * path; what it writes is one event on the stream `audit`. Leaves are numbered by the order of the log, the same in
 * every process: whoever signs a size signs the same tree.
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

  /** The newest checkpoint that is known here; null before the first. */
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

  /** Signs when a checkpoint is due. Never rejects. */
  look(): Promise<void> {
    return this.#turns
      .run(async () => {
        const { tree, isLeader } = this.#deps;
        if (tree.state.integrity !== 'sound' || this.#refused || !isLeader()) return;
        if (!(await this.#isDue())) return;
        // Another process may have signed since.
        await this.#refresh();
        if (await this.#isDue()) await this.#sign();
      })
      .catch((error: unknown) => this.#deps.log.warn({ err: error }, 'no checkpoint could be signed now'));
  }

  /**
   * Signs at once, whatever is new. Rejects when the log is not sound, the signer refuses, or another process has the
   * lease.
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
    // One that is as far ahead is of a clock that was wrong: waiting until this one catches up would leave everything
    // since unsigned.
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

  /** Empty when the signer has signed more than there is: it will say so. */
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

  /** Behind the checkpoint that was the newest before signing: whoever was overtaken writes nothing. */
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
