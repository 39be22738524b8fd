import type { Network } from './networks/networks.ts';

/** The steps of a canary payment, in order. */
export const CANARY_STEPS = ['create', 'pay', 'seen', 'final', 'webhook', 'refund'] as const;
export type CanaryStep = (typeof CANARY_STEPS)[number];

export interface CanaryStepTime {
  readonly step: CanaryStep;
  readonly ms: number;
}

/** The step that failed, and why, as far as that is known. */
export interface CanaryFailure {
  readonly step: CanaryStep;
  readonly reason: string;
}

/**
 * Per network: from the transaction to its block, from the block to the session, on to finality, and a refund until it
 * is complete.
 */
const OF_NETWORK: Readonly<Record<Network, Pick<Record<CanaryStep, number>, 'pay' | 'seen' | 'final' | 'refund'>>> = {
  ethereum: { pay: 120, seen: 30, final: 1_200, refund: 900 },
  bsc: { pay: 30, seen: 15, final: 60, refund: 180 },
  tron: { pay: 30, seen: 20, final: 120, refund: 240 },
  solana: { pay: 30, seen: 15, final: 60, refund: 180 },
};

/** Seconds allowed for a step, counted from the end of the previous one. */
export function canaryPromiseSec(network: Network, step: CanaryStep): number {
  switch (step) {
    case 'create':
      return 5;
    case 'webhook':
      return 30;
    default:
      return OF_NETWORK[network][step];
  }
}
