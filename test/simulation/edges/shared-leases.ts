import { StoreUnavailable } from '../../../src/ports/event-log/event-store.ts';
import type { Leases } from '../../../src/ports/leases.ts';
import type { JsonValue } from '../../../src/ports/read-model/read-model.ts';
import type { SharedStatus } from '../../../src/ports/shared-status.ts';
import type { Prng } from '../time/prng.ts';
import type { Scheduler } from '../time/scheduler.ts';
import { callOut, type Latency } from './edge.ts';

const LATENCY: Latency = { leastMs: 0.2, mostMs: 2 };

/**
 * The server of leases, by its own clock; and the status by which processes tell each other how far they are. It may be
 * away, and it may forget.
 */
export class LeaseServer {
  isAway = false;
  readonly #scheduler: Scheduler;
  readonly #prng: Prng;
  readonly #grants = new Map<string, { readonly token: number; expiresAtMs: number }>();
  readonly #notices = new Map<string, { readonly token: number; readonly text: string }>();
  #lastToken = 0;

  constructor(scheduler: Scheduler, prng: Prng) {
    this.#scheduler = scheduler;
    this.#prng = prng;
  }

  /** Everything that is not on a disk. Tokens go on, as they do with a server whose clock goes on. */
  forget(): void {
    this.#grants.clear();
    this.#notices.clear();
  }

  leases(): Leases {
    return {
      acquire: (name, ttlMs) =>
        this.#call(() => {
          const now = this.#scheduler.nowMs;
          if ((this.#grants.get(name)?.expiresAtMs ?? 0) > now) return null;
          this.#lastToken += 1;
          const grant = { token: this.#lastToken, expiresAtMs: now + ttlMs };
          this.#grants.set(name, grant);
          const isHeld = (): boolean => this.#grants.get(name) === grant && grant.expiresAtMs > this.#scheduler.nowMs;
          return {
            ...{ name, token: grant.token },
            renew: () =>
              this.#call(() => {
                if (!isHeld()) return false;
                grant.expiresAtMs = this.#scheduler.nowMs + ttlMs;
                return true;
              }).catch(() => false),
            release: () =>
              this.#call(() => void (this.#grants.get(name) === grant && this.#grants.delete(name))).catch(
                () => undefined,
              ),
          };
        }),
      close: async () => undefined,
    };
  }

  sharedStatus(): SharedStatus {
    return {
      publish: (about, token, notice) => {
        const text = JSON.stringify(notice);
        void this.#call(
          () => void (token >= (this.#notices.get(about)?.token ?? 0) && this.#notices.set(about, { token, text })),
        ).catch(() => undefined);
      },
      read: (about) => JSON.parse(this.#notices.get(about)?.text ?? 'null') as JsonValue,
      readAll: (prefix) =>
        new Map(
          [...this.#notices]
            .filter(([about]) => about.startsWith(prefix))
            .map(([about, { text }]) => [about, JSON.parse(text) as JsonValue]),
        ),
      refresh: () => this.#call(() => undefined),
      close: async () => undefined,
    };
  }

  #call<Value>(work: () => Value): Promise<Value> {
    return callOut({ scheduler: this.#scheduler, prng: this.#prng }, LATENCY, () => {
      if (this.isAway) throw new StoreUnavailable('the server of leases is away');
      return work();
    });
  }
}
