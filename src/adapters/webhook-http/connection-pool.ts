import type { MerchantId } from '../../domain/values/ids.ts';
import { Connection, type ConnectionRules, type Origin } from './connection.ts';
import { must } from '../../domain/values/must.ts';

/** Idle connections over all merchants; the oldest ones are closed first. */
const MAX_IDLE = 512;
/**
 * For this long an origin that closed a kept connection during a request gets a new connection per request. It may
 * close silently after every answer, which would make every other one of closely spaced attempts fail.
 */
const UNKEPT_MS = 60_000;

/** A connection with its owner. */
export interface Lease {
  readonly merchantId: MerchantId;
  readonly origin: Origin;
  readonly connection: Connection;
  /** It carried an earlier exchange. */
  isReused: boolean;
}

/** Connections kept for the next request of the same merchant to the same origin, and for no other. */
export class ConnectionPool {
  readonly #rules: ConnectionRules;
  readonly #open = new Set<Lease>();
  /** Most recently used last. */
  readonly #idleOf = new Map<MerchantId, Lease[]>();
  /** Longest idle first. */
  readonly #idle = new Set<Lease>();
  /** Origins whose connections are not kept, with the end of that time. */
  readonly #unkept = new WeakMap<Origin, number>();
  #isClosed = false;

  constructor(rules: ConnectionRules) {
    this.#rules = rules;
  }

  /** `origin` is compared by identity. */
  take(merchantId: MerchantId, origin: Origin): Lease {
    const idle = this.#idleOf.get(merchantId);
    for (let lease = idle?.at(-1); lease; lease = idle?.at(-1)) {
      // The endpoint moved, so connections to its old origin are useless.
      if (lease.origin !== origin) {
        this.#drop(lease);
        continue;
      }
      must(idle).pop();
      this.#idle.delete(lease);
      lease.isReused = true;
      return lease;
    }
    return this.#openNew(merchantId, origin);
  }

  /** Takes a connection back. `isSound`: the answer was complete. `isLost`: the connection ended before an answer. */
  release(lease: Lease, isSound: boolean, isLost: boolean): void {
    const nowMs = performance.now();
    lease.connection.release();
    if (isLost && lease.isReused) this.#unkept.set(lease.origin, nowMs + UNKEPT_MS);
    if (!isSound || this.#isClosed || (this.#unkept.get(lease.origin) ?? 0) > nowMs) {
      this.#drop(lease);
      return;
    }
    this.#idle.add(lease);
    const idle = this.#idleOf.get(lease.merchantId);
    if (idle) idle.push(lease);
    else this.#idleOf.set(lease.merchantId, [lease]);
    if (this.#idle.size > MAX_IDLE) this.#drop(must(this.#idle.values().next().value));
  }

  /** Closes every connection, including those in use. */
  close(): void {
    this.#isClosed = true;
    for (const lease of this.#open) this.#drop(lease);
  }

  #openNew(merchantId: MerchantId, origin: Origin): Lease {
    const connection = new Connection(origin, this.#rules, () => this.#drop(lease));
    const lease: Lease = { merchantId, origin, connection, isReused: false };
    this.#open.add(lease);
    return lease;
  }

  #drop(lease: Lease): void {
    this.#open.delete(lease);
    if (this.#idle.delete(lease)) this.#forget(lease);
    lease.connection.destroy();
  }

  #forget(lease: Lease): void {
    const idle = must(this.#idleOf.get(lease.merchantId));
    idle.splice(idle.indexOf(lease), 1);
    if (idle.length === 0) this.#idleOf.delete(lease.merchantId);
  }
}
