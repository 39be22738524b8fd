import { createSingleProcessLeases } from '../../../src/adapters/memory/leases.ts';
import { createMemoryStatusBoard } from '../../../src/adapters/memory/status-board.ts';
import { PROJECTIONS } from '../../../src/composition/projections.ts';
import type { ServiceProjections, Storage } from '../../../src/composition/storage-parts.ts';
import { followsFiles } from '../../../src/composition/workers/projection-thread.ts';
import { systemClock } from '../../../src/ports/clock.ts';
import type { DeliveryAnswers } from '../../../src/ports/delivery-answers.ts';
import type { EventStore } from '../../../src/ports/event-store.ts';
import type { PersonalKeys } from '../../../src/ports/personal-keys.ts';
import type { ReadModel } from '../../../src/ports/read-model.ts';
import { caughtUpWithLedger } from '../../../src/runtime/projections/caught-up.ts';
import { ProjectionRunner } from '../../../src/runtime/projections/runner.ts';
import { MemoryReadModel } from '../../support/memory-read-model.ts';
import type { Prng } from '../time/prng.ts';
import { mortal } from './edge.ts';
import type { EventLog } from './event-log.ts';

const NOBODY_ELSE_MS = 3 * 86_400_000;

/** The disk of the embedded profile. */
export class Disk {
  readonly log: EventLog;
  readonly readModel = new MemoryReadModel();
  readonly salts = new Map<string, Uint8Array>();
  readonly #prng: Prng;

  constructor(log: EventLog, prng: Prng) {
    this.log = log;
    this.#prng = prng;
  }

  /** As the current process has it open. */
  open(): Storage {
    const store = mortal(this.log.connect());
    const readModel = mortal<ReadModel>(this.readModel);
    const projections = projectionsOver(readModel);
    const storage: Partial<Storage> = {
      ...{ store, readModel, projections },
      personalKeys: mortal(this.#personalKeys()),
      answers: NO_ANSWERS,
      leases: createSingleProcessLeases(systemClock),
      leaseTtlMs: NOBODY_ELSE_MS,
      board: createMemoryStatusBoard(),
      soleWriter: true,
      ...{ ownLog: null, sharedLog: null },
      comparison: NEVER_DIFFERS,
      caughtUp: async () => void (await caughtUpWithLedger({ store, projections })),
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
  first: async () => [],
  drift: () => [],
  isWhole: () => true,
  close: async () => undefined,
} as unknown as Storage['comparison'];
const NO_ANSWERS: DeliveryAnswers = { keep: () => undefined, of: async () => new Map(), close: async () => undefined };

/** The projections as their thread runs them, in this one. */
function projectionsOver(readModel: ReadModel): ServiceProjections {
  let runner: ProjectionRunner | null = null;
  const running = (): ProjectionRunner => {
    if (!runner) throw new Error('the projections were not started');
    return runner;
  };
  return {
    follows: followsFiles(''),
    start: async (store: EventStore, hooks = {}) => {
      runner = new ProjectionRunner({ store, readModel, projections: PROJECTIONS, clock: systemClock, hooks });
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
