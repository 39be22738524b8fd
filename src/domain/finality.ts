import type { FinalityRule } from './events/session-events.ts';

/** Heights of a chain as one look at it found them. */
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
