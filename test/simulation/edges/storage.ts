import { createSingleProcessLeases } from '../../../src/adapters/memory/leases.ts';
import { createMemorySharedStatus } from '../../../src/adapters/memory/shared-status.ts';
import { projectionsOf, PROJECTIONS } from '../../../src/look-ups/projections.ts';
import type { Roles } from '../../../src/settings/roles.ts';
import { SeenPositions } from '../../../src/look-ups/seen-positions.ts';
import type { ServiceProjections, Storage } from '../../../src/composition/storage/parts.ts';
import { isLater } from '../../../src/look-ups/followed-log.ts';
import type { Follows } from '../../../src/look-ups/messages.ts';
import { systemClock } from '../../../src/ports/clock.ts';
import type { DeliveryAnswers } from '../../../src/ports/webhooks/delivery-answers.ts';
import type { EventStore } from '../../../src/ports/event-log/event-store.ts';
import type { PersonalKeys } from '../../../src/ports/event-log/personal-keys.ts';
import type { Projection } from '../../../src/ports/read-model/projection.ts';
import type { ReadModel } from '../../../src/ports/read-model/read-model.ts';
import { ownedRows, projectionId } from '../../../src/runtime/projections/batch.ts';
import { caughtUpWithLog } from '../../../src/runtime/projections/caught-up.ts';
import { ProjectionRunner } from '../../../src/runtime/projections/runner.ts';
import { MemoryReadModel } from '../../support/memory-read-model.ts';
import type { Profile } from '../plan/plan.ts';
import type { Prng } from '../time/prng.ts';
import { mortal } from './edge.ts';
import type { EventLog } from './event-log.ts';
import { LeaseServer } from './shared-leases.ts';

const NOBODY_ELSE_MS = 3 * 86_400_000;
/** As in the distributed profile. */
const LEASE_TTL_MS = 8_000;
const SERVERS = { kind: 'servers', connectionString: 'esdb://model', namespace: '' } as const;

/** Who opens the storage. */
interface Opener {
  readonly profile: Profile;
  readonly node: number;
  readonly roles: Roles;
}

/** What outlives every process: files of the embedded profile, or shared servers and each process's own look-ups. */
export class Disk {
  readonly log: EventLog;
  readonly salts = new Map<string, Uint8Array>();
  readonly leaseServer: LeaseServer;
  readonly #rows = new Map<number, MemoryReadModel>();
  readonly #prng: Prng;

  constructor(log: EventLog, prng: Prng) {
    this.log = log;
    this.#prng = prng;
    this.leaseServer = new LeaseServer(log.scheduler, prng.fork('leases'));
  }

  /** The look-ups of a process; those of the first one are complete. */
  rowsOf(node: number): MemoryReadModel {
    const known = this.#rows.get(node) ?? new MemoryReadModel();
    this.#rows.set(node, known);
    return known;
  }

  /** A release with other versions of this share of the projections builds those out of the log. */
  forgetRows(node: number, share = 1): void {
    if (share === 1) return void this.#rows.delete(node);
    for (const projection of PROJECTIONS)
      if (this.#prng.chance(share)) void this.rowsOf(node).clear(ownedRows(projection));
  }

  /** As the current process has it open. */
  open(opener: Opener): Storage {
    return opener.profile === 'embedded' ? this.#openFiles() : this.#openServers(opener);
  }

  #openServers({ node, roles }: Opener): Storage {
    const connection = mortal(this.log.connect());
    const readModel = mortal<ReadModel>(this.rowsOf(node));
    const kept = projectionsOf(roles);
    const follows: Follows = { dataDir: '', log: SERVERS, projections: kept.map(projectionId) };
    const projections = projectionsOver(readModel, kept, follows);
    const positions = new SeenPositions({ follows, readModel, projections, store: connection });
    const storage: Partial<Storage> = {
      ...{ store: positions.observe(connection), readModel, addressFilter: null, projections, positions },
      leases: mortal(this.leaseServer.leases()),
      personalKeys: mortal(this.#personalKeys()),
      answers: NO_ANSWERS,
      leaseTtlMs: LEASE_TTL_MS,
      sharedStatus: mortal(this.leaseServer.sharedStatus()),
      soleWriter: false,
      ownLog: null,
      sharedLog: {
        certificates: () => [],
        guard: { refusal: null, refuse: () => undefined },
        isAfter: (one, other) => isLater(SERVERS, one, other),
      },
      comparison: NEVER_DIFFERS,
      caughtUp: async () => {
        if (positions.written !== null) await projections.caughtUpTo(positions.written);
      },
      health: () => [],
      close: () => connection.close(),
    };
    return storage as Storage;
  }

  #openFiles(): Storage {
    const store = mortal(this.log.connect());
    const readModel = mortal<ReadModel>(this.rowsOf(0));
    const projections = projectionsOver(readModel, PROJECTIONS, {
      dataDir: '',
      log: { kind: 'files' },
      projections: PROJECTIONS.map(projectionId),
    });
    const storage: Partial<Storage> = {
      ...{ store, readModel, addressFilter: null, projections, positions: null },
      personalKeys: mortal(this.#personalKeys()),
      answers: NO_ANSWERS,
      leases: createSingleProcessLeases(systemClock),
      leaseTtlMs: NOBODY_ELSE_MS,
      sharedStatus: createMemorySharedStatus(),
      soleWriter: true,
      ...{ ownLog: null, sharedLog: null },
      comparison: NEVER_DIFFERS,
      caughtUp: async () => void (await caughtUpWithLog({ store, projections })),
      health: () => [],
      close: () => store.close(),
    };
    return storage as Storage;
  }

  #personalKeys(): PersonalKeys {
    return {
      create: async (subject) => {
        const salt = this.salts.get(subject) ?? this.#prng.bytes(32);
        this.salts.set(subject, salt);
        return { salt };
      },
      get: async (subject) => this.salts.get(subject) ?? null,
      erase: async (subject) => void this.salts.delete(subject),
    };
  }
}

/** Whether look-ups are what a replay makes of them is the oracle's question. */
const NEVER_DIFFERS = {
  compare: async () => [],
  first: async () => undefined,
  drift: () => [],
  isWhole: () => true,
  close: async () => undefined,
} satisfies { [Name in keyof Storage['comparison']]: Storage['comparison'][Name] } as unknown as Storage['comparison'];
const NO_ANSWERS: DeliveryAnswers = { keep: () => undefined, of: async () => new Map(), close: async () => undefined };

/** The projections as their thread runs them, in this one. */
function projectionsOver(
  readModel: ReadModel,
  projections: readonly Projection[],
  follows: Follows,
): ServiceProjections {
  let runner: ProjectionRunner | null = null;
  const running = (): ProjectionRunner => {
    if (!runner) throw new Error('the projections were not started');
    return runner;
  };
  return {
    follows,
    start: async (store: EventStore, hooks = {}) => {
      runner = new ProjectionRunner({ store, readModel, projections, clock: systemClock, hooks });
      await runner.start();
    },
    ready: () => running().ready(),
    caughtUpTo: (position, timeoutMs) => running().caughtUpTo(position, timeoutMs),
    rebuild: (names) => running().rebuild(names),
    status: () => running().status(),
    parked: (limit) => running().parked(limit),
    stop: async () => runner?.stop(),
  };
}
