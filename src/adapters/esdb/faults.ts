import { ErrorType, isCommandError } from '@eventstore/db-client';
import { DamagedEvent, StoreUnavailable } from '../../ports/event-log/event-store.ts';
import { within } from '../../runtime/util/within.ts';

/** Our own timer expired, so the outcome of the call is unknown. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/** The store denies access to the user, or does not know the user. */
export class StoreDenies extends Error {
  override readonly name = 'StoreDenies';
}

/** INTERNAL and DATA_LOSS arrive as "unknown": the node may be fine, and the outcome is not known. */
const WORTH_A_RETRY: ReadonlySet<string> = new Set([
  ErrorType.NOT_LEADER,
  ErrorType.UNAVAILABLE,
  ErrorType.CANCELLED,
  ErrorType.DEADLINE_EXCEEDED,
  ErrorType.TIMEOUT,
  ErrorType.UNKNOWN,
]);

/** True if a retry may help. For appends the first outcome is then unknown. */
export function mayRetry(error: unknown): boolean {
  if (error instanceof Error && isCommandError(error)) return WORTH_A_RETRY.has(error.type);
  // Discovery and the channel throw plain errors; our own mistakes have other types.
  return error instanceof NoAnswer || (error instanceof Error && !isOurMistake(error));
}

const isOurMistake = (error: Error): boolean =>
  error instanceof DamagedEvent ||
  error instanceof TypeError ||
  error instanceof RangeError ||
  error instanceof StoreUnavailable ||
  error instanceof StoreDenies;

/** Whether the driver reports one of these types. */
export const isFault = (error: unknown, ...types: readonly ErrorType[]): boolean =>
  error instanceof Error && isCommandError(error) && types.includes(error.type);

/** No right, a wrong password, or no user: the driver does not distinguish them. */
export const isDenied = (error: unknown): boolean => isFault(error, ErrorType.ACCESS_DENIED);

/** The node did not answer in time. The channel looks healthy, so a new connection is needed. */
export const wasSilent = (error: unknown): boolean =>
  error instanceof NoAnswer || isFault(error, ErrorType.DEADLINE_EXCEEDED, ErrorType.TIMEOUT);

export interface RetryTimes {
  /** Time limit of one attempt. */
  readonly attemptMs: number;
  /** Time limit of all attempts together, with pauses. */
  readonly totalMs: number;
}

const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 1_000;

/** Half of the pause is random, so that nodes that lost the same leader do not return at once. */
export function pauseMs(attempt: number, longestMs = LONGEST_PAUSE_MS): number {
  const fullMs = Math.min(longestMs, FIRST_PAUSE_MS * 2 ** Math.min(attempt, 20));
  return fullMs / 2 + (Math.random() * fullMs) / 2;
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

/** A pause that does not keep an idle process alive. */
export const rest = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms).unref());

/** Rejects with `NoAnswer` if the promise has not settled in time; its later result is ignored. */
export const answeredWithin = <Value>(ms: number, what: string, promise: Promise<Value>): Promise<Value> =>
  within(ms, promise, () => {
    throw new NoAnswer(`${what}: no answer within ${ms} ms`);
  });
