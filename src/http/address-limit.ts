import type { IncomingMessage } from 'node:http';
import { addressGroup, type ClientAddress } from '../runtime/http/client-address.ts';
import type { LocalRateLimiter } from '../ports/rate-limiter.ts';
import type { Answer } from './answer.ts';

export interface AddressLimits {
  readonly limiter: LocalRateLimiter;
  readonly clientAddress: ClientAddress;
}

/** Counts a request without a valid key against the caller's address. Returns the refusal once there were too many. */
export type AddressLimit = (request: IncomingMessage, nowMs: number) => Answer | null;

export function createAddressLimit({ limiter, clientAddress }: AddressLimits): AddressLimit {
  return (request, nowMs) => {
    const { allowed, limit, retryAfterSec } = limiter.take(addressGroup(clientAddress(request)), nowMs);
    if (allowed) return null;
    const message = `Without a valid key, this address may send at most ${limit} requests in a burst.`;
    return { ok: false, refusal: { code: 'rate_limited', message }, retryAfterSec };
  };
}
