import type { ParkedEvent } from './batch.ts';
import type { BatchReport } from './group.ts';

/** What the runner tells of its work. */
export interface ProjectionHooks {
  readonly onBatch?: (report: BatchReport) => void;
  /** An alarm: the projection goes on without the event. */
  readonly onParked?: (event: ParkedEvent) => void;
  /**
   * A projection is replayed from the beginning, and why; `resumed`: a rebuild that was asked for in an earlier run
   * goes on.
   */
  readonly onRebuild?: (projection: string, reason: 'asked' | 'resumed' | 'checkpoint_beyond_log') => void;
  /** Rows that were rebuilt are served from now on. */
  readonly onSwitched?: (projection: string) => void;
  /** What happened outside a batch and is not waited for, such as a straggler that cannot start. */
  readonly onError?: (error: unknown) => void;
}
