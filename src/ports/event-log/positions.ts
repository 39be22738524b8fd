/**
 * How far in the event log a response is. Where several processes serve one caller, none may return older data than
 * another one did. Callers send the texts back.
 */
export interface Positions {
  /** At or after everything that this process has written, read or served; null while that is nothing. */
  reported(): Promise<string | null>;
  /**
   * `shown` once this process's look-ups include everything up to the position, or if the log never reached it;
   * `behind` on timeout; `malformed` for text that no response contained.
   */
  shownUpTo(given: string): Promise<'shown' | 'behind' | 'malformed'>;
}
