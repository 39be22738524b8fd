import type { Position } from '../ports/event-log/event-store.ts';
import type { ParkedEvent } from '../runtime/projections/batch.ts';
import type { BatchReport } from '../runtime/projections/group.ts';
import type { ProjectionStatus } from '../runtime/projections/status.ts';
import type { LogSource } from './followed-log.ts';

/** What a projection thread follows and maintains. */
export interface Follows {
  /** Directory of the look-ups, and of the event log if that is a file. */
  readonly dataDir: string;
  readonly log: LogSource;
  /** `name@version` of each. */
  readonly projections: readonly string[];
  /** How long after its end a row is archived; absent: never. */
  readonly archiveAfterDays?: number | undefined;
}

/* Messages between the service and its projection thread. */

export type Question =
  | { readonly kind: 'start' }
  | { readonly kind: 'reach'; readonly position: Position; readonly timeoutMs: number }
  | { readonly kind: 'ready' }
  | { readonly kind: 'rebuild'; readonly names: readonly string[] }
  | { readonly kind: 'parked'; readonly limit: number | undefined }
  | { readonly kind: 'stop' };

/** What each question is answered with. */
export interface Answers {
  readonly start: unknown;
  readonly reach: boolean;
  readonly ready: unknown;
  readonly rebuild: unknown;
  readonly parked: ParkedEvent[];
  readonly stop: unknown;
}

export type ToProjections = (Question & { readonly id: number }) | { readonly kind: 'advance' };

export type FromProjections =
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'refusal'; readonly id: number; readonly name: string; readonly message: string }
  | { readonly kind: 'status'; readonly status: readonly ProjectionStatus[]; readonly report: BatchReport | null }
  | { readonly kind: 'parked'; readonly event: ParkedEvent }
  | {
      readonly kind: 'rebuilding';
      readonly projection: string;
      readonly reason: 'asked' | 'resumed' | 'checkpoint_beyond_log';
    }
  | { readonly kind: 'switched'; readonly projection: string }
  | { readonly kind: 'error'; readonly message: string };
