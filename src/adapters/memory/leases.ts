import { type Clock, systemClock } from '../../ports/clock.ts';
import type { Lease, Leases } from '../../ports/leases.ts';

interface Grant {
  readonly token: number;
  expiresAtMs: number;
}

/** Leases of the embedded profile. One process holds the data directory, so its memory is enough. */
export function createSingleProcessLeases(clock: Clock = systemClock): Leases {
  const grants = new Map<string, Grant>();
  // A later process must not grant lower numbers than this one did.
  let lastToken = clock.nowMs();

  const isHeld = (name: string, grant: Grant): boolean =>
    grants.get(name) === grant && grant.expiresAtMs > clock.nowMs();

  async function acquire(name: string, ttlMs: number): Promise<Lease | null> {
    const current = grants.get(name);
    if (current && isHeld(name, current)) return null;
    lastToken = Math.max(lastToken + 1, clock.nowMs());
    const grant = { token: lastToken, expiresAtMs: clock.nowMs() + ttlMs };
    grants.set(name, grant);
    return {
      name,
      token: grant.token,
      renew: async () => {
        if (!isHeld(name, grant)) return false;
        grant.expiresAtMs = clock.nowMs() + ttlMs;
        return true;
      },
      release: async () => {
        if (grants.get(name) === grant) grants.delete(name);
      },
    };
  }

  return { acquire, close: async () => grants.clear() };
}
