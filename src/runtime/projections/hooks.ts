import type { ParkedEvent } from './batch.ts';
import type { BatchReport } from './group.ts';

/** Events of the runner. */
export interface ProjectionHooks {
  readonly onBatch?: (report: BatchReport) => void;
  /** An alarm: the projection continues without the event. */
  readonly onParked?: (event: ParkedEvent) => void;
  /**
   * A projection is replayed from the beginning, and why; `resumed`: a rebuild requested in an earlier run continues.
   */
  readonly onRebuild?: (projection: string, reason: 'asked' | 'resumed' | 'checkpoint_beyond_log') => void;
  /** Rebuilt rows are served from now on. */
  readonly onSwitched?: (projection: string) => void;
  /** An error outside a batch for which nobody waits, such as a straggler that cannot start. */
  readonly onError?: (error: unknown) => void;
}
