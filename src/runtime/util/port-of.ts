import type { AddressInfo } from 'node:net';

/** The TCP port of a listening server. Throws for one that listens on none. */
export function portOf(server: { address(): AddressInfo | string | null }): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server listens on no port');
  return address.port;
}
