import ipaddr from 'ipaddr.js';

/** Whether an address, in the form of `createClientAddress`, is on a list. */
export type AddressList = (address: string) => boolean;

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Parses IPv4 and IPv6 addresses and CIDR ranges; returns the first invalid entry. */
export function parseAddressList(
  entries: readonly string[],
): { readonly allows: AddressList } | { readonly invalid: string } {
  const ranges: Range[] = [];
  for (const entry of entries) {
    const range = rangeOf(entry);
    if (range === null) return { invalid: entry };
    ranges.push(range);
  }
  return {
    allows: (address) => {
      if (!ipaddr.isValid(address)) return false;
      const parsed = ipaddr.process(address);
      return ranges.some(([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits));
    },
  };
}

/** IPv4-mapped IPv6 is refused: such callers are known by their IPv4 address, so the entry would never match. */
function rangeOf(entry: string): Range | null {
  const [text = '', prefix, ...more] = entry.split('/');
  const isFour = ipaddr.IPv4.isValidFourPartDecimal(text);
  if (more.length > 0 || (!isFour && (!ipaddr.IPv6.isValid(text) || text.includes('%')))) return null;
  const network = ipaddr.parse(text);
  if (network instanceof ipaddr.IPv6 && network.isIPv4MappedAddress()) return null;
  const most = isFour ? 32 : 128;
  if (prefix === undefined) return [network, most];
  return /^(?:0|[1-9]\d{0,2})$/.test(prefix) && Number(prefix) <= most ? [network, Number(prefix)] : null;
}
