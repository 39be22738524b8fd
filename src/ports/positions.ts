/**
 * How far in the event log an answer is, where several processes answer one caller: what one of them told, no other may
 * seem not to know. The texts are for callers to send back.
 */
export interface Positions {
  /** At or behind everything that this process wrote, read or shows by now; null while that is nothing. */
  told(): Promise<string | null>;
  /**
   * `shown` once the look-ups of this process show everything up to there, or where the log never was so far; `behind`
   * when they do not in a bounded time;
   * `malformed` for what no answer carried.
   */
  shownUpTo(given: string): Promise<'shown' | 'behind' | 'malformed'>;
}
