import type { MerchantPolicy } from '../events/merchant-events.ts';
import { amountOf, least } from '../money/money.ts';

/**
 * The operator's lower bound on finality: merchants may ask for more safety, never for less. Only Ethereum counts
 * confirmations; every other network waits for its own finality, which no policy changes.
 */
export interface FinalityFloor {
  readonly ethereumConfirmations: number;
  /** The highest amount that a policy may accept on confirmations alone. */
  readonly ethereumFinalizedFrom: string;
}

/** The effective policy: one written under another floor is raised to the current one. */
export function withFloor(policy: MerchantPolicy, floor: FinalityFloor): MerchantPolicy {
  const { ethereumFinalizedFrom: asked } = policy;
  const bound = amountOf(floor.ethereumFinalizedFrom);
  return {
    ...policy,
    ethereumConfirmations: Math.max(policy.ethereumConfirmations, floor.ethereumConfirmations),
    ethereumFinalizedFrom: least(amountOf(asked), bound) === bound ? floor.ethereumFinalizedFrom : asked,
  };
}
