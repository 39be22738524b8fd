import { AUDIT_STREAM } from '../domain/streams.ts';
import type { AuditAnchor, AuditIdentity, AuditTree, CheckpointSigner, CheckpointWitness } from '../ports/audit.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { Lease, Leases } from '../ports/leases.ts';
import type { Log } from '../ports/log.ts';
import type { Random } from '../ports/random.ts';
import { encodeEvent } from '../runtime/codec.ts';

export interface SignCheckpointsDeps {
  readonly store: Pick<EventStore, 'append' | 'lastOfStream'>;
  readonly tree: AuditTree;
  readonly signer: CheckpointSigner;
  readonly identity: AuditIdentity;
  /** When the newest checkpoint was signed, Unix milliseconds; null before the first. */
  readonly lastAtMs: number | null;
  readonly leases: Leases;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** A checkpoint is due after this many new events, or when anything new is this old. Checkpoints themselves are not new. */
  readonly everyEvents: number;
  readonly everyMs: number;
  /** Null: nobody outside is asked. */
  readonly witness: CheckpointWitness | null;
  /** The signer will not sign: what is in the log is not a continuation of what it signed before. */
  readonly onRefused: (message: string) => void;
}

const LEASE = 'audit-sequencer';
const LEASE_MS = 30_000;
const LOOK_EVERY_MS = 1_000;

/**
 * The sequencer of the audit log: under a lease, so that one process numbers leaves and asks for signatures. Signing is off
 * the write path; what it writes is one event on the stream `audit`.
 */
export class SignAuditCheckpoints {
  readonly #deps: SignCheckpointsDeps;
  #last: AuditAnchor | null;
  #lastAtMs: number | null;
  #lease: Lease | null = null;
  #turn: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | null = null;
  #refused = false;

  constructor(deps: SignCheckpointsDeps) {
    this.#deps = deps;
    this.#last = deps.identity.anchors.at(-1) ?? null;
    this.#lastAtMs = deps.lastAtMs;
  }

  /** The newest checkpoint; null before the first. */
  get last(): AuditAnchor | null {
    return this.#last;
  }

  /** Unix milliseconds; null before the first. */
  get lastAtMs(): number | null {
    return this.#lastAtMs;
  }

  start(): void {
    this.#timer = setInterval(() => void this.look(), Math.min(LOOK_EVERY_MS, this.#deps.everyMs));
  }

  async stop(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    await this.#turn;
    await this.#lease?.release();
  }

  /** Signs when a checkpoint is due. Never rejects. */
  look(): Promise<void> {
    return this.#inTurn(async () => {
      const { tree, clock, everyEvents, everyMs } = this.#deps;
      if (tree.state.integrity !== 'sound' || this.#refused) return;
      const { othersSince } = await tree.head(this.#last?.size ?? 0);
      const isOld = clock.nowMs() - (this.#lastAtMs ?? 0) >= everyMs;
      if (othersSince >= everyEvents || (othersSince > 0 && isOld)) await this.#sign();
    }).catch((error: unknown) => this.#deps.log.warn({ err: error }, 'no checkpoint could be signed now'));
  }

  /** Signs at once, whatever is new. Rejects when the log is not sound or the signer refuses. */
  signNow(): Promise<AuditAnchor> {
    return this.#inTurn(async () => {
      const { integrity, fault } = this.#deps.tree.state;
      if (integrity !== 'sound') throw new Error(fault ?? 'the history is still being checked: try again in a moment');
      const { othersSince } = await this.#deps.tree.head(this.#last?.size ?? 0);
      if (this.#last === null || othersSince > 0) await this.#sign();
      if (this.#last === null) throw new Error('no checkpoint was signed');
      return this.#last;
    });
  }

  async #sign(): Promise<void> {
    const { tree, signer, onRefused, clock } = this.#deps;
    if (!(await this.#isLeader())) return;
    const { size, rootHash, position } = await tree.head(0);
    if (size === 0 || position === null) return;
    const consistency = this.#last ? await tree.consistencyProof(this.#last.size, size) : [];
    const verdict = await signer.signCheckpoint({ size, rootHash, consistency });
    if (!verdict.ok) {
      this.#refused = true;
      onRefused(verdict.message);
      throw new Error(verdict.message);
    }
    const checkpoint = await this.#witnessed(verdict.checkpoint, size);
    this.#last = { size, rootHash, checkpoint };
    this.#lastAtMs = clock.nowMs();
    await this.#append(this.#last, position);
  }

  async #witnessed(checkpoint: string, size: number): Promise<string> {
    const { witness, tree, log } = this.#deps;
    if (!witness) return checkpoint;
    try {
      return checkpoint + (await witness.cosign(checkpoint, size, async (from) => (from === 0 ? [] : tree.consistencyProof(from, size))));
    } catch (error) {
      log.warn({ err: error, size }, 'the witness did not cosign a checkpoint');
      return checkpoint;
    }
  }

  async #append({ size, rootHash, checkpoint }: AuditAnchor, throughPosition: string): Promise<void> {
    const { store, clock, random, identity } = this.#deps;
    const before = await store.lastOfStream(AUDIT_STREAM);
    const event = { type: 'CheckpointSigned', data: { origin: identity.origin, size, rootHash, checkpoint, throughPosition } } as const;
    const encoded = encodeEvent({
      id: random.uuid(),
      stream: AUDIT_STREAM,
      revision: before ? before.revision + 1 : 0,
      atMs: clock.nowMs(),
      event,
      metadata: { correlationId: random.uuid(), actor: 'clock', prev: before?.hash ?? '' },
    });
    const appended = await store.append({ stream: AUDIT_STREAM, expected: before ? before.revision : 'no-stream', events: [encoded] });
    if (!appended.ok) throw new Error('another process signed a checkpoint at the same moment');
  }

  async #isLeader(): Promise<boolean> {
    if (this.#lease && (await this.#lease.renew())) return true;
    this.#lease = await this.#deps.leases.acquire(LEASE, LEASE_MS);
    return this.#lease !== null;
  }

  #inTurn<Result>(task: () => Promise<Result>): Promise<Result> {
    const run = this.#turn.then(task);
    this.#turn = run.catch(() => undefined);
    return run;
  }
}
