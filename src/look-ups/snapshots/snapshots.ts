import { InvalidConfig, type Config } from '../../config.ts';
import { SCHEMA_VERSION } from '../../adapters/sqlite/read-model/schema.ts';
import type { Log } from '../../ports/log.ts';
import { CommandRefused, json, type AdminCommands } from '../../operator/server/commands.ts';
import { Recurring } from '../../runtime/util/recurring.ts';
import { messageOf } from '../../runtime/util/message-of.ts';
import { InTurn } from '../../runtime/util/in-turn.ts';
import type { KeyList } from '../../runtime/cryptography/sealing.ts';
import { sealingKeysOrFault } from '../../settings/sealing-keys.ts';
import { makeSnapshot, type MadeSnapshot, type MakeDeps } from './make.ts';
import { isOfFuture, setOf, snapshotsIn } from './manifest.ts';

/** The snapshot folder, and the keys that authenticate it. */
export interface SnapshotSettings {
  readonly folder: string;
  readonly keys: KeyList;
  readonly everyMs: number;
}

/**
 * Null without a folder, and for a process without the key of all API nodes and workers: a signer compares its look-ups
 * with the whole event log anyway. Throws `InvalidConfig`.
 */
export function snapshotSettings(config: Config): SnapshotSettings | null {
  const { LOOK_UP_SNAPSHOT_DIR: folder, LOOK_UP_SNAPSHOT_EVERY_SECONDS: everySec, ROLES: roles } = config;
  if (folder === undefined) return null;
  const keys = sealingKeysOrFault(config)['webhook-secrets'];
  if (keys) return { folder, keys, everyMs: everySec * 1_000 };
  if (roles.every((role) => role === 'signer')) return null;
  throw new InvalidConfig(
    'LOOK_UP_SNAPSHOT_DIR: snapshots are sealed with WEBHOOK_SECRETS_KEY or MASTER_KEY, and neither is set',
  );
}

export interface LookUpSnapshotsDeps extends MakeDeps {
  readonly everyMs: number;
  /** Why this process's look-ups must not be shared; null if they may. */
  readonly doubt: () => string | null;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

const LOOK_MS = 60_000;

/**
 * Puts a snapshot of this process's look-ups into the folder whenever the newest one of its kind is too old; one of
 * several processes does.
 */
export class LookUpSnapshots {
  readonly #deps: LookUpSnapshotsDeps;
  readonly #rounds: Recurring;
  readonly #making = new InTurn();

  constructor(deps: LookUpSnapshotsDeps) {
    this.#deps = deps;
    let logged = '';
    const onError = (error: unknown): void => {
      const reason = messageOf(error);
      // A repeated reason, such as a missing first checkpoint, is logged once.
      if (reason !== logged)
        deps.log.warn({ reason, folder: deps.folder }, 'no snapshot of the look-ups could be made');
      logged = reason;
    };
    this.#rounds = new Recurring(() => this.round(), LOOK_MS, onError);
  }

  start(): void {
    this.#rounds.start();
  }

  close(): Promise<void> {
    return this.#rounds.close();
  }

  /** Throws `CommandRefused` while this process's look-ups must not be shared. */
  async make(): Promise<MadeSnapshot> {
    const doubt = this.#deps.doubt();
    if (doubt !== null) throw new CommandRefused(`no snapshot is made of these look-ups: ${doubt}`);
    return this.#making.run(async () => {
      const startedMs = performance.now();
      const made = await makeSnapshot(this.#deps);
      this.#deps.log.info(
        { ...made, ms: Math.round(performance.now() - startedMs) },
        'a snapshot of the look-ups was made',
      );
      return made;
    });
  }

  async round(): Promise<void> {
    const { folder, follows, clock, everyMs, doubt } = this.#deps;
    const nowMs = clock.nowMs();
    const set = setOf(follows.projections, SCHEMA_VERSION);
    const newest = snapshotsIn(folder).find((one) => one.set === set && !isOfFuture(one, nowMs));
    const ageMs = newest ? nowMs - newest.madeAtMs : Infinity;
    if (ageMs >= everyMs && doubt() === null) await this.make();
  }
}

/** `quittance projection snapshot`. */
export function snapshotCommands(snapshots: LookUpSnapshots | null): AdminCommands {
  return {
    'projection.snapshot': async () => {
      if (!snapshots)
        throw new CommandRefused(
          'this process makes no snapshots: LOOK_UP_SNAPSHOT_DIR is not set, or this is the signer',
        );
      return json(await snapshots.make());
    },
  };
}
