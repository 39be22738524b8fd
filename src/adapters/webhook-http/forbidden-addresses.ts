import ipaddr from 'ipaddr.js';

/*
 * The addresses that a merchant's endpoint may have (IANA special-purpose address registries, RFC 6890 and successors).
 * IPv4 is public unless a range says otherwise; IPv6 is forbidden unless it is global unicast and no range says
 * otherwise.
 */

const GLOBAL_UNICAST_V6 = ipaddr.parseCIDR('2000::/3');

/**
 * Ranges that `ipaddr.js` treats as ordinary unicast, or that have a name of their own. Never allowed, even in a
 * sandbox.
 */
const NEVER: readonly { readonly reason: string; readonly cidrs: readonly string[] }[] = [
  // Link-local serves metadata on most clouds; the others are Azure, Alibaba, Oracle and AWS over IPv6.
  {
    reason: 'cloud metadata',
    cidrs: ['169.254.0.0/16', '168.63.129.16/32', '100.100.100.200/32', '192.0.0.192/32', 'fd00:ec2::/32', 'fe80::/10'],
  },
  { reason: 'this network', cidrs: ['0.0.0.0/8', '::/128'] },
  { reason: 'multicast', cidrs: ['224.0.0.0/4', 'ff00::/8'] },
  {
    reason: 'reserved',
    cidrs: ['240.0.0.0/4', '192.0.0.0/24', '192.88.99.0/24', '100::/64', '2001::/23', '5f00::/16'],
  },
  {
    reason: 'documentation',
    cidrs: ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '2001:db8::/32', '3fff::/20'],
  },
  { reason: 'benchmarking', cidrs: ['198.18.0.0/15', '2001:2::/48'] },
  {
    reason: 'anycast service',
    cidrs: ['192.31.196.0/24', '192.52.193.0/24', '192.175.48.0/24', '2001:4:112::/48', '2620:4f:8000::/48'],
  },
  // IPv6 forms that contain an IPv4 address, which could be any.
  {
    reason: 'IPv4 inside IPv6',
    cidrs: ['::ffff:0:0/96', '::ffff:0:0:0/96', '64:ff9b::/96', '64:ff9b:1::/48', '2002::/16', '2001::/32'],
  },
  { reason: 'deprecated site-local', cidrs: ['fec0::/10'] },
];

/** The operator's own network, allowed only in a sandbox. */
const PRIVATE: readonly { readonly reason: string; readonly cidrs: readonly string[] }[] = [
  { reason: 'loopback', cidrs: ['127.0.0.0/8', '::1/128'] },
  { reason: 'private', cidrs: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'] },
  { reason: 'carrier-grade NAT', cidrs: ['100.64.0.0/10'] },
];

interface Range {
  readonly reason: string;
  readonly network: [ipaddr.IPv4 | ipaddr.IPv6, number];
}

const rangesOf = (table: typeof NEVER): readonly Range[] =>
  table.flatMap(({ reason, cidrs }) => cidrs.map((cidr) => ({ reason, network: ipaddr.parseCIDR(cidr) })));

const NEVER_RANGES = rangesOf(NEVER);
const PRIVATE_RANGES = rangesOf(PRIVATE);

/** Why no notification may be sent to the address, or null if it may. `allowPrivate` is for sandboxes. */
export function forbiddenReason(address: string, allowPrivate: boolean): string | null {
  if (address.includes('%')) return 'scoped';
  if (!ipaddr.isValid(address) || (!address.includes(':') && !ipaddr.IPv4.isValidFourPartDecimal(address)))
    return 'not an address';
  const parsed = ipaddr.parse(address);
  const never = reasonIn(NEVER_RANGES, parsed);
  if (never !== null) return never;
  const inside = reasonIn(PRIVATE_RANGES, parsed);
  if (inside !== null) return allowPrivate ? null : inside;
  if (parsed.kind() === 'ipv6' && !matches(parsed, GLOBAL_UNICAST_V6)) return 'not global unicast';
  // The library's own table is a second opinion that grows with its releases.
  const range = parsed.range();
  return range === 'unicast' ? null : range;
}

function reasonIn(ranges: readonly Range[], address: ipaddr.IPv4 | ipaddr.IPv6): string | null {
  return ranges.find(({ network }) => matches(address, network))?.reason ?? null;
}

function matches(address: ipaddr.IPv4 | ipaddr.IPv6, [network, bits]: [ipaddr.IPv4 | ipaddr.IPv6, number]): boolean {
  if (address.kind() !== network.kind()) return false;
  return address instanceof ipaddr.IPv4 ? address.match(network, bits) : address.match(network, bits);
}
