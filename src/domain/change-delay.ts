/** Thirty days: a change that waits longer was forgotten. */
export const MAX_CHANGE_DELAY_MIN = 43_200;
