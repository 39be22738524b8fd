import type { Network } from './networks.ts';

/** What a canary payment goes through, in order. */
export const CANARY_STEPS = ['create', 'pay', 'seen', 'final', 'webhook', 'refund'] as const;
export type CanaryStep = (typeof CANARY_STEPS)[number];

export interface CanaryStepTime {
  readonly step: CanaryStep;
  readonly ms: number;
}

/** The step that did not happen, and why, as far as it is known. */
export interface CanaryFailure {
  readonly step: CanaryStep;
  readonly reason: string;
}

/**
 * Of the networks: from the transaction to its block, from there to the session, on to finality, and a refund until it
 * is complete.
 */
const OF_NETWORK: Readonly<Record<Network, Pick<Record<CanaryStep, number>, 'pay' | 'seen' | 'final' | 'refund'>>> = {
  ethereum: { pay: 120, seen: 30, final: 1_200, refund: 900 },
  bsc: { pay: 30, seen: 15, final: 60, refund: 180 },
  tron: { pay: 30, seen: 20, final: 120, refund: 240 },
  solana: { pay: 30, seen: 15, final: 60, refund: 180 },
};

/** Seconds within which a step is to be over, each counted from the end of the one before. */
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
