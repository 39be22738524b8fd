import { Metadata, status, type ServiceError } from '@grpc/grpc-js';

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
  | { readonly kind: 'unavailable' }
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
export function notLeader(host: string, port: number): ServiceError {
  const metadata = new Metadata();
  metadata.set('exception', 'not-leader');
  metadata.set('leader-endpoint-host', host);
  metadata.set('leader-endpoint-port', String(port));
  return serviceError(status.NOT_FOUND, 'Leader info available', metadata);
}

export function errorOf(fault: CallFault): ServiceError {
  return fault.kind === 'not-leader' ? notLeader(fault.host, fault.port) : unavailable();
}

function serviceError(code: status, details: string, metadata: Metadata): ServiceError {
  return Object.assign(new Error(details), { code, details, metadata });
}
