import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { must } from '../../domain/must.ts';

/**
 * Whose address a request has: of the client as far as the trusted proxies tell, never what the client itself claims.
 */
export type ClientAddress = (request: Pick<IncomingMessage, 'headers' | 'socket'>) => string;

/**
 * Each reverse proxy appends to `X-Forwarded-For` whom it was called by, so only the last `trustedProxies` entries were
 * written by our proxies; whatever stands before them came from the client. Without trusted proxies the header is
 * not read. An entry that is no address counts as the proxy's own. IPv4 addresses in IPv6 form become IPv4.
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

/** With its port or without; null for what is no address. */
function canonicalAddress(text: string): string | null {
  const bare = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ?? text;
  const withoutZone = must(bare.split('%', 1)[0]);
  if (!ipaddr.IPv6.isValid(withoutZone) && !ipaddr.IPv4.isValidFourPartDecimal(withoutZone)) return null;
  return ipaddr.process(withoutZone).toString();
}

/**
 * What limits count together: one IPv4 address, or one IPv6 network: the /64 of a link, or the /48 that a single
 * subscriber may have in all.
 */
export function addressGroup(address: string, ipv6Prefix: 48 | 64 = 64): string {
  if (!ipaddr.IPv6.isValid(address)) return address;
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/${ipv6Prefix}`).toString()}/${ipv6Prefix}`;
}
