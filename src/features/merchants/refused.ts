import { refuse, type Refused } from '../../domain/values/result.ts';
import type { KeyRestrictions } from '../../domain/api-keys.ts';
import { parseAddressList } from '../../runtime/http/address-list.ts';

export const noSuchMerchant: Refused = refuse('not_found', 'no such merchant');

export const invalidHost: Refused = refuse(
  'invalid_request',
  'host must be a host name such as shop.example, without scheme, port or path',
  'host',
);

/** The host as URLs normalise it (lower case, punycode); null if the text is anything other than a host. */
export function normalHost(text: string): string | null {
  const url = /^[^\s/\\?#@:%[\]]{1,253}$/.test(text) ? URL.parse(`https://${text}/`) : null;
  return url === null ? null : url.hostname;
}

export function addressFault({ addresses = [] }: Partial<KeyRestrictions>): Refused | null {
  const list = parseAddressList(addresses);
  if (!('invalid' in list)) return null;
  const message = `addresses: ${list.invalid} is no IPv4 or IPv6 address or CIDR range, such as 203.0.113.7 or 2001:db8::/32`;
  return refuse('invalid_request', message, 'addresses');
}
