import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { must } from '../../domain/values/must.ts';

/** The client's address of a request according to the trusted proxies, never according to the client. */
export type ClientAddress = (request: Pick<IncomingMessage, 'headers' | 'socket'>) => string;

/**
 * Each reverse proxy appends its caller's address to `X-Forwarded-For`, so only the last `trustedProxies` entries come
 * from our proxies; everything before them comes from the client. Without trusted proxies the header is ignored. An
 * invalid entry counts as the proxy's own address. IPv4-mapped IPv6 addresses become IPv4.
 */
export function createClientAddress(trustedProxies: number): ClientAddress {
  return ({ headers, socket }) => {
    const peer = canonicalAddress(socket.remoteAddress ?? '') ?? 'unknown';
    const forwarded = headers['x-forwarded-for'];
    if (trustedProxies === 0 || forwarded === undefined) return peer;
    const entries = (Array.isArray(forwarded) ? forwarded.join(',') : forwarded).split(',');
    return canonicalAddress(must(entries.at(-Math.min(trustedProxies, entries.length))).trim()) ?? peer;
  };
}

/** With or without a port; null for an invalid address. */
function canonicalAddress(text: string): string | null {
  const bare = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ?? text;
  const withoutZone = must(bare.split('%', 1)[0]);
  if (!ipaddr.IPv6.isValid(withoutZone) && !ipaddr.IPv4.isValidFourPartDecimal(withoutZone)) return null;
  return ipaddr.process(withoutZone).toString();
}

/**
 * The unit for limits: one IPv4 address, or one IPv6 network: the /64 of a link, or the /48 that a single subscriber
 * may have.
 */
export function addressGroup(address: string, ipv6Prefix: 48 | 64 = 64): string {
  if (!ipaddr.IPv6.isValid(address)) return address;
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/${ipv6Prefix}`).toString()}/${ipv6Prefix}`;
}
