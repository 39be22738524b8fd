import type { Position } from '../../ports/event-log/event-store.ts';

export interface ProjectionStatus {
  readonly projection: string;
  readonly position: Position | null;
  readonly hasCaughtUp: boolean;
  readonly lagEvents: number;
  readonly lagSec: number;
}

/** A rebuild is running; a second one of the same projection would undo it. */
export class RebuildRunning extends Error {
  override readonly name = 'RebuildRunning';
}
