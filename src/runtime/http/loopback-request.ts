import type { IncomingHttpHeaders } from 'node:http';

/** A loopback name or address, with or without a port. */
const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

export const isLoopbackHost = (host: string): boolean => LOOPBACK_HOST.test(host);

/**
 * Why a request to a server on this machine is refused, or null. A browser here also runs foreign pages: one whose name
 * resolves to this machine (DNS rebinding) is recognised by `Host`, one that posts across origins by `Origin`.
 * `publicUrl` is accepted besides loopback, for access through a tunnel.
 */
export function foreignRequest(
  headers: IncomingHttpHeaders,
  method: string | undefined,
  publicUrl?: string,
): string | null {
  const own = publicUrl === undefined ? null : new URL(publicUrl);
  const isOwn = (host: string): boolean => isLoopbackHost(host) || host.toLowerCase() === own?.host;
  if (!isOwn(headers.host ?? '')) return 'Host must name this machine, such as 127.0.0.1 or localhost.';
  const { origin } = headers;
  // Without CORS a page cannot read a response from another origin, so read requests need no further check.
  if (origin === undefined || method === 'GET' || method === 'HEAD') return null;
  // A page with `no-referrer` that posts to its own origin is recognised only by this header, which scripts cannot set.
  if (origin === 'null' && headers['sec-fetch-site'] === 'same-origin') return null;
  const from = URL.parse(origin);
  const isHttp = from?.protocol === 'http:' || from?.protocol === 'https:';
  return from && isHttp && isOwn(from.host) ? null : 'Origin must be a page of this machine.';
}
