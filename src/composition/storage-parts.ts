import type { HealthFact } from '../observability/health.ts';
import type { Logger } from '../observability/logger.ts';
import type { Clock } from '../ports/clock.ts';
import type { DeliveryAnswers } from '../ports/delivery-answers.ts';
import type { EventStore, Position } from '../ports/event-store.ts';
import type { KeptBytes } from '../ports/kept-bytes.ts';
import type { Leases } from '../ports/leases.ts';
import type { Nonces } from '../ports/nonces.ts';
import type { PersonalKeys } from '../ports/personal-keys.ts';
import type { Positions } from '../ports/positions.ts';
import type { Random } from '../ports/random.ts';
import type { RateLimiter } from '../ports/rate-limiter.ts';
import type { ReadModel } from '../ports/read-model.ts';
import type { StatusBoard } from '../ports/status-board.ts';
import type { ProjectionHooks } from '../runtime/projections/hooks.ts';
import type { RunningProjections } from '../runtime/projections/runner.ts';
import type { LedgerGuard } from './guarded-store.ts';
import type { Follows } from './workers/projection-messages.ts';
import type { ProjectionComparison } from './workers/projection-compare.ts';
import type { LookUpAgreement } from './look-up-agreement.ts';
import type { Roles } from './roles.ts';
import type { LookUpSnapshots } from './snapshots/snapshots.ts';

/** The read side at work. */
export interface ServiceProjections extends RunningProjections {
  readonly follows: Follows;
  /** Follows the ledger from each projection's checkpoint. Resolves when all are under way. */
  start(store: EventStore, hooks?: ProjectionHooks): Promise<void>;
}

/** Everything that outlives a process, whatever technology keeps it: the one choice between the two profiles. */
export interface Storage {
  readonly store: EventStore;
  /** The look-ups: files of this process alone. */
  readonly readModel: ReadModel;
  /** Where the filter of addresses is kept beside them. */
  readonly addressFilter: KeptBytes | null;
  /** Not started; stop it before `close`. */
  readonly projections: ServiceProjections;
  readonly nonces: Nonces;
  readonly personalKeys: PersonalKeys;
  readonly answers: DeliveryAnswers;
  readonly leases: Leases;
  /** After so long without a sign a holder has lost its lease. */
  readonly leaseTtlMs: number;
  readonly board: StatusBoard;
  /** No other process appends to the store. */
  readonly soleWriter: boolean;
  rateLimiter(settings: { readonly ratePerSec: number; readonly burst: number }): Promise<RateLimiter>;
  /** Resolves once everything this process wrote is in the look-ups, or after a bounded wait. */
  caughtUp(): Promise<void>;
  /** For callers of several processes; null where this process is the only one, which shows everything that it told. */
  readonly positions: Positions | null;
  /** Compares look-ups with those of other processes, not started; null where there are none. */
  readonly agreement: LookUpAgreement | null;
  /** Of the look-ups of this process, for others to begin with, not started; null where none are made. */
  readonly snapshots: LookUpSnapshots | null;
  /** The ledger as a file of this process, whose history it checks and signs; null where servers keep it. */
  readonly ownLog: OwnLog | null;
  /** Compares the look-ups with a replay of the ledger, on demand. */
  readonly comparison: ProjectionComparison;
  /** The ledger on servers; null where it is a file of this process. */
  readonly sharedLog: SharedLog | null;
  /** What is down outside of this process; a node without its stores can serve nobody. */
  health(): readonly HealthFact[];
  close(): Promise<void>;
}

/** A ledger that stops taking appends when its history turns out not to be what it was. */
export interface OwnLog extends EventStore {
  readonly refusal: string | null;
  refuseAppends(reason: string): void;
}

/** A ledger that several processes write. */
export interface SharedLog {
  readonly guard: LedgerGuard;
  /** Whether one position comes after another. */
  readonly isAfter: (one: Position, other: Position) => boolean;
}

export interface StorageDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly roles: Roles;
  /** Keeps installations apart that share servers; empty for the only one. */
  readonly namespace: string;
  /** The ledger cannot be written any more. */
  readonly onFatal: (error: Error) => void;
  /** Open a damaged ledger all the same, for reading. */
  readonly readDamaged?: boolean;
}
