import type { MerchantId } from '../../domain/ids.ts';
import { Connection, type ConnectionRules, type Origin } from './connection.ts';
import { must } from '../../domain/must.ts';

/** Idle connections over all merchants; the oldest ones are closed first. */
const MAX_IDLE = 512;
/**
 * For so long an origin that ended a kept connection under a request gets a new one for each. It may do so after every
 * answer, without saying so; then of the attempts that follow each other closely every other one would fail.
 */
const UNKEPT_MS = 60_000;

/** A connection and whose it is. */
export interface Lease {
  readonly merchantId: MerchantId;
  readonly origin: Origin;
  readonly connection: Connection;
  /** It carried an exchange before this one. */
  isReused: boolean;
}

/** Connections that are kept for the next request of the same merchant to the same origin, and for no other. */
export class ConnectionPool {
  readonly #rules: ConnectionRules;
  readonly #open = new Set<Lease>();
  /** The one that was used last comes last. */
  readonly #idleOf = new Map<MerchantId, Lease[]>();
  /** From the one that has been idle for longest. */
  readonly #idle = new Set<Lease>();
  /** Origins whose connections are not kept for now, until when. */
  readonly #unkept = new WeakMap<Origin, number>();
  #isClosed = false;

  constructor(rules: ConnectionRules) {
    this.#rules = rules;
  }

  /** `origin` is compared by identity. */
  take(merchantId: MerchantId, origin: Origin): Lease {
    const idle = this.#idleOf.get(merchantId);
    for (let lease = idle?.at(-1); lease; lease = idle?.at(-1)) {
      // Where the endpoint moved, what led to its old place is of no more use.
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

  /**
   * Takes a connection back. `isSound`: the answer was complete. `isLost`: the connection ended before there was an
   * answer.
   */
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

  /** Ends every connection, those in use too. */
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
