import { Metadata, status, type ServiceError } from '@grpc/grpc-js';
import type { ServerRules } from './double-log.ts';

/** What a call may meet; each one is spent once. */
export type CallFault =
  /** The call is taken and never answered; nothing is stored. */
  | { readonly kind: 'silent' }
  /** The events are stored, the answer never comes. */
  | { readonly kind: 'silent-after-commit' }
  /** The events are stored, the answer is the server's own timeout. */
  | { readonly kind: 'timeout-after-commit' }
  /** The events are stored and the connection's call breaks. */
  | { readonly kind: 'unavailable-after-commit' }
  /** A read whose events come one by one, and which breaks after some of them. */
  | { readonly kind: 'slow'; readonly everyMs: number; readonly breaksAfter?: number }
  | { readonly kind: 'unavailable' }
  /** The server takes nothing now; in a batch it says so in a text, without a code. */
  | { readonly kind: 'busy' }
  | { readonly kind: 'not-leader'; readonly host: string; readonly port: number };

export class FaultQueue {
  readonly #queued = { append: [] as CallFault[], read: [] as CallFault[], subscribe: [] as CallFault[] };

  /** The next calls of this kind meet these faults, in order. */
  plan(kind: 'append' | 'read' | 'subscribe', ...faults: readonly CallFault[]): void {
    this.#queued[kind].push(...faults);
  }

  take(kind: 'append' | 'read' | 'subscribe'): CallFault | undefined {
    return this.#queued[kind].shift();
  }

  get left(): number {
    return Object.values(this.#queued).reduce((sum, faults) => sum + faults.length, 0);
  }
}

/** `RpcExceptions.Timeout` of the server: the write may have happened all the same. */
export function operationTimedOut(): ServiceError {
  return serviceError(status.ABORTED, 'Operation timed out: Commit phase timeout.', new Metadata());
}

export function unavailable(): ServiceError {
  return serviceError(status.UNAVAILABLE, 'Server Is Not Ready', new Metadata());
}

/** Trailers as `RpcExceptions.LeaderInfo` of the server writes them and `NotLeaderError` of the client reads them. */
function notLeader(host: string, port: number): ServiceError {
  return withException(status.NOT_FOUND, 'Leader info available', 'not-leader', {
    'leader-endpoint-host': host,
    'leader-endpoint-port': String(port),
  });
}

/** The trailers are those of `RpcExceptions.StreamDeleted`. */
export function streamDeleted(stream: string): ServiceError {
  return withException(status.FAILED_PRECONDITION, `Event stream '${stream}' is deleted.`, 'stream-deleted', {
    'stream-name': stream,
  });
}

export function appendTooLarge(mostBytes: number): ServiceError {
  const details = `Maximum Append Size of ${mostBytes} Exceeded.`;
  return withException(status.INVALID_ARGUMENT, details, 'maximum-append-size-exceeded', {
    'maximum-append-size': String(mostBytes),
  });
}

export function wrongVersionForDelete(stream: string, expected: number, current: number): ServiceError {
  const details = `Delete failed due to WrongExpectedVersion. Stream: ${stream}, Expected version: ${expected}, Actual version: ${current}`;
  const versions = { 'stream-name': stream, 'expected-version': String(expected), 'actual-version': String(current) };
  return withException(status.FAILED_PRECONDITION, details, 'wrong-expected-version', versions);
}

/** `RpcExceptions.AccessDenied` of the server. */
export const accessDenied = (): ServiceError =>
  withException(status.PERMISSION_DENIED, 'Access Denied', 'access-denied', {});

/** What its authentication answers to a password that is wrong. */
export const unauthenticated = (): ServiceError =>
  serviceError(status.UNAUTHENTICATED, 'Unauthenticated', new Metadata());

/** `RpcExceptions.LoginNotFound` and `LoginConflict`. */
export const noSuchUser = (name: string): ServiceError =>
  withException(status.NOT_FOUND, `User '${name}' is not found.`, 'user-not-found', { 'login-name': name });
export const userExists = (name: string): ServiceError =>
  withException(status.FAILED_PRECONDITION, 'Conflict.', 'user-conflict', { 'login-name': name });

/** What the server says where no record begins at the position of a read. */
export const betweenRecords = (): ServiceError =>
  serviceError(status.UNKNOWN, 'Unexpected ReadAllResult: Error', new Metadata());

/** The same for a subscription. */
export const thrownByHandler = (rules: ServerRules): ServiceError =>
  rules !== '23.10'
    ? invalidPosition()
    : serviceError(status.UNKNOWN, 'Exception was thrown by handler.', new Metadata());

/** `RpcExceptions.InvalidPositionException` of the server. */
const invalidPosition = (): ServiceError =>
  serviceError(status.INVALID_ARGUMENT, 'Trying to read from an invalid position.', new Metadata());

export function errorOf(fault: CallFault): ServiceError {
  return fault.kind === 'not-leader' ? notLeader(fault.host, fault.port) : unavailable();
}

function withException(
  code: status,
  details: string,
  exception: string,
  trailers: Readonly<Record<string, string>>,
): ServiceError {
  const metadata = new Metadata();
  metadata.set('exception', exception);
  for (const [name, value] of Object.entries(trailers)) metadata.set(name, value);
  return serviceError(code, details, metadata);
}

function serviceError(code: status, details: string, metadata: Metadata): ServiceError {
  return Object.assign(new Error(details), { code, details, metadata });
}
