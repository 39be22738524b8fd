export interface Clock {
  /** Unix milliseconds. May step; never use it to order events. */
  nowMs(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };

export const toSec = (ms: number): number => Math.floor(ms / 1000);
