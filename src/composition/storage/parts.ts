import type { CertificateExpiry } from '../../adapters/esdb/certificates.ts';
import type { HealthFact } from '../../observability/health.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Clock } from '../../ports/clock.ts';
import type { DeliveryAnswers } from '../../ports/webhooks/delivery-answers.ts';
import type { EventStore, Position } from '../../ports/event-log/event-store.ts';
import type { KeptBytes } from '../../ports/read-model/kept-bytes.ts';
import type { Leases } from '../../ports/leases.ts';
import type { Nonces } from '../../ports/event-log/nonces.ts';
import type { PersonalKeys } from '../../ports/event-log/personal-keys.ts';
import type { Positions } from '../../ports/event-log/positions.ts';
import type { Random } from '../../ports/random.ts';
import type { RateLimiter } from '../../ports/rate-limiter.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import type { SharedStatus } from '../../ports/shared-status.ts';
import type { SealingKeys } from '../../runtime/cryptography/sealing.ts';
import type { ProjectionHooks } from '../../runtime/projections/hooks.ts';
import type { RunningProjections } from '../../runtime/projections/runner.ts';
import type { EventLogGuard } from '../../runtime/event-log/guarded-store.ts';
import type { Follows } from '../../look-ups/messages.ts';
import type { ProjectionComparison } from '../../look-ups/compare.ts';
import type { LookUpAgreement } from '../../look-ups/agreement.ts';
import type { Roles } from '../../settings/roles.ts';
import type { LookUpSnapshots } from '../../look-ups/snapshots/snapshots.ts';

/** The running read side. */
export interface ServiceProjections extends RunningProjections {
  readonly follows: Follows;
  /** Follows the event log from each projection's checkpoint. Resolves once all are running. */
  start(store: EventStore, hooks?: ProjectionHooks): Promise<void>;
}

/** Everything durable, whatever technology stores it: the only difference between the two profiles. */
export interface Storage {
  readonly store: EventStore;
  /** The look-ups, in files of this process alone. */
  readonly readModel: ReadModel;
  /** Where the address filter is stored next to them. */
  readonly addressFilter: KeptBytes | null;
  /** Not started; stop it before `close`. */
  readonly projections: ServiceProjections;
  readonly nonces: Nonces;
  readonly personalKeys: PersonalKeys;
  readonly answers: DeliveryAnswers;
  readonly leases: Leases;
  /** After this time without a renewal a holder has lost its lease. */
  readonly leaseTtlMs: number;
  readonly sharedStatus: SharedStatus;
  /** No other process appends to the store. */
  readonly soleWriter: boolean;
  rateLimiter(settings: { readonly ratePerSec: number; readonly burst: number }): Promise<RateLimiter>;
  /** Resolves once the look-ups contain everything this process wrote, or after a bounded wait. */
  caughtUp(): Promise<void>;
  /** For callers of several processes; null if this is the only one, which always shows its own writes. */
  readonly positions: Positions | null;
  /** Compares look-ups with those of other processes, not started; null if there are none. */
  readonly agreement: LookUpAgreement | null;
  /** Makes snapshots of this process's look-ups for others, not started; null if none are made. */
  readonly snapshots: LookUpSnapshots | null;
  /** The event log as a file that this process verifies and signs; null if servers hold it. */
  readonly ownLog: OwnLog | null;
  /** Compares the look-ups with a replay of the event log, on demand. */
  readonly comparison: ProjectionComparison;
  /** The event log on servers; null if it is a file of this process. */
  readonly sharedLog: SharedLog | null;
  /** Outages outside this process; a node without its stores cannot serve anybody. */
  health(): readonly HealthFact[];
  close(): Promise<void>;
}

/** An event log that refuses appends once its history turns out to be altered. */
export interface OwnLog extends EventStore {
  readonly refusal: string | null;
  refuseAppends(reason: string): void;
}

/** An event log that several processes write. */
export interface SharedLog {
  readonly guard: EventLogGuard;
  /** Whether one position comes after another. */
  readonly isAfter: (one: Position, other: Position) => boolean;
  /** When the certificates of the servers end. */
  readonly certificates: () => readonly CertificateExpiry[];
}

export interface StorageDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly sealingKeys: SealingKeys;
  readonly roles: Roles;
  /** Separates installations that share servers; empty for the only one. */
  readonly namespace: string;
  /** The event log can no longer be written. */
  readonly onFatal: (error: Error) => void;
  /** Opens a damaged event log for reading. */
  readonly readDamaged?: boolean;
}
