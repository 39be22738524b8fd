import type { Mode, SessionId } from '../../../domain/values/ids.ts';
import type { Network } from '../../../domain/networks/networks.ts';
import type { CoveredBlocks } from '../../shared/covered-blocks.ts';

/** One observation or decision, in words and with its facts. */
export interface TimelineEntry {
  readonly atMs: number;
  readonly type: string;
  readonly message: string;
  readonly facts: Readonly<Record<string, string | number | boolean | null>>;
}

/** What was read of one network while the session could be paid, and by whom: the evidence behind "nothing arrived". */
export interface CoveredRange extends CoveredBlocks {
  readonly network: Network;
}

/** Chain time up to which every transfer to the session's address is recorded; null before any read was recorded. */
export interface ReadTo {
  readonly network: Network;
  readonly timeSec: number | null;
}

export interface Timeline {
  readonly sessionId: SessionId;
  readonly mode: Mode;
  readonly entries: readonly TimelineEntry[];
  readonly coverage: readonly CoveredRange[];
  readonly readTo: readonly ReadTo[];
  /** The answer to "why is this (not) paid?" in one paragraph. */
  readonly conclusion: string;
}
