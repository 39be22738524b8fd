import type { DomainEvent } from '../../domain/events/domain-event.ts';
import type { StoredEvent } from '../../domain/events/envelope.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EventStore, RecordedEvent } from '../../ports/event-log/event-store.ts';
import type { Projection } from '../../ports/read-model/projection.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import type { ProjectionHooks } from './hooks.ts';

export interface ProjectionRunnerOptions {
  readonly store: Pick<EventStore, 'subscribe'>;
  readonly readModel: ReadModel;
  readonly projections: readonly Projection[];
  readonly clock: Clock;
  readonly hooks?: ProjectionHooks;
  /** Events whose rows are written at once, which limits memory and how long the writer is blocked. */
  readonly maxBatch?: number;
  /** Cached rows per projection. */
  readonly cacheRows?: number;
  readonly decode?: (recorded: RecordedEvent) => StoredEvent<DomainEvent>;
  /** Maintains digests for comparison with other processes. */
  readonly isChained?: boolean;
}
