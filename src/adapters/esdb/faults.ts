import { Metadata, status } from '@grpc/grpc-js';
import { DamagedEvent, StoreUnavailable } from '../../ports/event-log/event-store.ts';
import { within } from '../../runtime/util/within.ts';
import type { Refusal } from './client/messages.ts';
import type { Endpoint } from './client/settings.ts';

/** Our own timer expired, so the outcome of the call is unknown. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/** The store denies access to the user, or does not know the user. */
export class StoreDenies extends Error {
  override readonly name = 'StoreDenies';
}

export type FaultKind =
  | 'not-leader'
  | 'unavailable'
  | 'cancelled'
  /** The time of a call was up. */
  | 'deadline'
  /** The server did not write in time; it may have written all the same. */
  | 'timeout'
  | 'unknown'
  /** No right, a wrong password, or no user: a server does not tell them apart. */
  | 'denied'
  | 'wrong-revision'
  | 'stream-deleted'
  | 'user-exists'
  | 'no-such-user'
  | 'refused';

/** What a server or the way to it answered instead of doing what it was asked for. */
export class StoreFault extends Error {
  override readonly name = 'StoreFault';
  readonly kind: FaultKind;
  /** Of a node that does not lead. */
  readonly leader?: Endpoint;
  /** Of a wrong revision: where the stream is; null for no stream. */
  readonly current: bigint | null;

  constructor(
    kind: FaultKind,
    message: string,
    { leader, current = null }: { readonly leader?: Endpoint | undefined; readonly current?: bigint | null } = {},
  ) {
    super(message);
    this.kind = kind;
    this.current = current;
    if (leader) this.leader = leader;
  }
}

/** By the name in the trailer `exception` (`Constants.Exceptions` of the server). */
const EXCEPTIONS: Readonly<Record<string, FaultKind>> = {
  'not-leader': 'not-leader',
  'access-denied': 'denied',
  'stream-deleted': 'stream-deleted',
  'wrong-expected-version': 'wrong-revision',
  'user-conflict': 'user-exists',
  'user-not-found': 'no-such-user',
  'maximum-append-size-exceeded': 'refused',
  'maximum-append-event-size-exceeded': 'refused',
};

/** INTERNAL, DATA_LOSS and the others are "unknown": the node may be fine, and the outcome is not known. */
const CODES: Readonly<Partial<Record<status, FaultKind>>> = {
  [status.ABORTED]: 'timeout',
  [status.DEADLINE_EXCEEDED]: 'deadline',
  [status.UNAVAILABLE]: 'unavailable',
  [status.CANCELLED]: 'cancelled',
  [status.UNAUTHENTICATED]: 'denied',
  [status.PERMISSION_DENIED]: 'denied',
};

/** An error of gRPC, by the server's word for it or else by its code. */
export function faultOf(error: unknown): StoreFault {
  if (error instanceof StoreFault) return error;
  const { code, metadata } = partsOf(error);
  const trailer = (name: string): string => String(metadata.get(name)[0] ?? '');
  const kind = EXCEPTIONS[trailer('exception')] ?? CODES[code] ?? 'unknown';
  const leader = { host: trailer('leader-endpoint-host'), port: Number(trailer('leader-endpoint-port')) };
  return new StoreFault(kind, error instanceof Error ? error.message : 'no reason given', {
    leader: kind === 'not-leader' && leader.host !== '' && leader.port > 0 ? leader : undefined,
  });
}

function partsOf(error: unknown): { readonly code: status; readonly metadata: Metadata } {
  const parts = error instanceof Error ? error : {};
  const code = 'code' in parts && typeof parts.code === 'number' ? parts.code : status.UNKNOWN;
  const metadata = 'metadata' in parts && parts.metadata instanceof Metadata ? parts.metadata : new Metadata();
  return { code, metadata };
}

/** By the name of the message in the answer to one append of a batch (`Google.Rpc.Status` of the server). */
const REFUSALS: Readonly<Record<string, FaultKind>> = {
  WrongExpectedVersion: 'wrong-revision',
  StreamDeleted: 'stream-deleted',
  AccessDenied: 'denied',
  Timeout: 'timeout',
  Unknown: 'unknown',
  InvalidTransaction: 'refused',
  MaximumAppendSizeExceeded: 'refused',
  MaximumAppendEventSizeExceeded: 'refused',
  BadRequest: 'refused',
};

const OK: number = status.OK;

/** A node that is not ready, too busy or knows no leader says so in a text alone. */
export function faultOfRefusal({ why, code, text, current }: Refusal): StoreFault {
  const kind = REFUSALS[why] ?? (code === OK ? 'unavailable' : 'unknown');
  return new StoreFault(kind, text === '' ? 'the append was refused' : `the append was refused: ${text}`, { current });
}

const WORTH_A_RETRY: ReadonlySet<FaultKind> = new Set([
  'not-leader',
  'unavailable',
  'cancelled',
  'deadline',
  'timeout',
  'unknown',
]);

/** True if a retry may help. For appends the first outcome is then unknown. */
export function mayRetry(error: unknown): boolean {
  if (error instanceof StoreFault) return WORTH_A_RETRY.has(error.kind);
  // Discovery and the channel throw plain errors; our own mistakes have other types.
  return error instanceof NoAnswer || (error instanceof Error && !isOurMistake(error));
}

const isOurMistake = (error: Error): boolean =>
  error instanceof DamagedEvent ||
  error instanceof TypeError ||
  error instanceof RangeError ||
  error instanceof StoreUnavailable ||
  error instanceof StoreDenies;

export const isFault = (error: unknown, ...kinds: readonly FaultKind[]): error is StoreFault =>
  error instanceof StoreFault && kinds.includes(error.kind);

/** The node did not answer in time. The channel looks healthy, so a new connection is needed. */
export const wasSilent = (error: unknown): boolean =>
  error instanceof NoAnswer || isFault(error, 'deadline', 'timeout');

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
