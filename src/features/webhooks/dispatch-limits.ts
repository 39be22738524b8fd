import type { QueueLimits } from './merchant-queues.ts';

export interface DispatchLimits extends QueueLimits {
  /** Waiting jobs of one merchant in memory. The rest stays in the backlog until there is room. */
  readonly windowPerMerchant: number;
  /** Jobs in memory over all queues beyond which windows shrink to `crowdedWindow`. */
  readonly jobs: number;
  readonly crowdedWindow: number;
}

export const DISPATCH_LIMITS: DispatchLimits = {
  inFlightPerMerchant: 5,
  inFlight: 1_024,
  unrecordedPerMerchant: 40,
  pacePerSec: 10,
  windowPerMerchant: 1_000,
  jobs: 50_000,
  crowdedWindow: 20,
};
