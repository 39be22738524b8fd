import type { FinalityRule } from '../events/session-events.ts';

/** Block heights of a chain, all read at once. */
export interface Heights {
  readonly headNumber: number;
  readonly finalizedNumber: number;
}

export function isFinalEnough(
  rule: FinalityRule,
  blockNumber: number,
  { headNumber, finalizedNumber }: Heights,
): boolean {
  return rule.kind === 'finalized'
    ? blockNumber <= finalizedNumber
    : headNumber - blockNumber + 1 >= rule.confirmations;
}
