/** Thirty days: a change that waits longer has been forgotten. */
export const MAX_CHANGE_DELAY_MIN = 43_200;
