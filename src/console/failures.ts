import { CommandRefused } from '../operator/server/commands.ts';
import { StoreUnavailable } from '../ports/event-log/event-store.ts';
import { asSentence } from './sentence.ts';
import { Refused } from './visit.ts';
import { words, type Words } from './words.ts';

interface Failure {
  readonly status: number;
  /** Commands refuse in English. */
  readonly message: Words | string;
}

/** What a failed request shows; null for an unexpected error. */
export function failureOf(error: unknown): Failure | null {
  if (error instanceof Refused) return { status: error.status, message: error.words };
  if (error instanceof CommandRefused) return { status: 400, message: asSentence(error.message) };
  if (error instanceof StoreUnavailable)
    return { status: 503, message: words`The records are unavailable right now. Try again in a moment.` };
  return null;
}

export const UNKNOWN_OUTCOME: Failure = {
  status: 500,
  message: words`The service failed, and the outcome of your request is unknown. Check before you try again.`,
};
