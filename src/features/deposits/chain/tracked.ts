import type { DepositFacts, FinalityRule } from '../../../domain/events/session-events.ts';
import { isFinalEnough } from '../../../domain/networks/finality.ts';
import type { SessionId } from '../../../domain/values/ids.ts';
import type { Block, BlockLook, Disproof } from '../../../ports/chain/chain.ts';
import type { ChainView } from './facts.ts';
import type { DepositTrackingDeps } from './types.ts';

/* What is known of a deposit that the chain may still revert. */

export interface Tracked {
  readonly sessionId: SessionId;
  /** Updated when the transfer moves to another block. */
  facts: DepositFacts;
  readonly rule: FinalityRule;
  status: 'detected' | 'final';
  /**
   * The chain itself finalised its block after the confirmation. Only a reorganisation beyond finality makes it
   * unsettled again.
   */
  settled: boolean;
  /** Its block left the chain: check it at once. */
  suspect: boolean;
  /** Sandbox: the chain was rewound, so losing this deposit raises no alarm. */
  rewound: boolean;
  /** Consecutive checks in which the chain showed that it cannot contain the transfer. */
  disproofs: number;
  /** The check in which that was last shown. */
  disprovedIn: number | null;
  /** Consecutive checks in which the transfer was missing although nothing on the chain explains it. */
  doubts: number;
  /** Not checked before this time (`performance.now()`), because its providers disagreed or its session refused it. */
  notBeforeMs: number;
}

export const NEW = {
  settled: false,
  suspect: false,
  rewound: false,
  disproofs: 0,
  disprovedIn: null,
  doubts: 0,
  notBeforeMs: 0,
} as const;

/** Number of concurrent commands and look-ups, which share the cost of a commit. */
const CONCURRENCY = 128;
/** From this many transfers in one block, the whole block is read. */
const WHOLE_BLOCK_FROM = 4;

/** A block during one pass, read once for all its transfers. */
export interface SeenBlock {
  readonly look: BlockLook | undefined;
  canonical: Promise<Block | null> | null;
}

/** Whether it is in another block than recorded, where it may count differently. */
export const isMoved = ({ status, facts }: Tracked, now: DepositFacts): boolean =>
  status === 'final' && facts.blockHash !== now.blockHash;

export function isDue(
  { suspect, settled, status, rule, facts, notBeforeMs }: Tracked,
  view: ChainView,
  nowMs: number,
): boolean {
  if (nowMs < notBeforeMs) return false;
  if (suspect) return true;
  if (settled) return false;
  return status === 'detected'
    ? isFinalEnough(rule, facts.blockNumber, view)
    : facts.blockNumber <= view.finalizedNumber;
}

export function seenBlocks(due: readonly Pick<Tracked, 'facts'>[]): Map<number, SeenBlock> {
  const counts = new Map<number, number>();
  for (const { facts } of due) counts.set(facts.blockNumber, (counts.get(facts.blockNumber) ?? 0) + 1);
  return new Map(
    [...counts].map(([blockNumber, count]) => [
      blockNumber,
      { look: count < WHOLE_BLOCK_FROM ? undefined : { blockNumber }, canonical: null },
    ]),
  );
}

/**
 * Runs the tasks in list order with bounded concurrency. Rejects once the tasks that started alongside the failed one
 * have ended.
 */
export async function inParallel<Item>(items: readonly Item[], task: (item: Item) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += CONCURRENCY) {
    const results = await Promise.allSettled(items.slice(at, at + CONCURRENCY).map(task));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  }
}

/** Why the chain cannot contain it; null if nothing shows that. */
export const disproofOf = async (
  { chain, finalIsForever }: Pick<DepositTrackingDeps, 'chain' | 'finalIsForever'>,
  { status, facts }: Tracked,
): Promise<Disproof | null> => (status === 'final' && finalIsForever ? null : chain.disprove(facts));
