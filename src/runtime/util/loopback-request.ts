import type { IncomingHttpHeaders } from 'node:http';

/** A loopback name or address, with a port or without. */
const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

export const isLoopbackHost = (host: string): boolean => LOOPBACK_HOST.test(host);

/**
 * Why a request to a server of this machine is refused, or null. A browser here also runs pages from elsewhere: one
 * whose name was made to resolve to this machine (DNS rebinding) is told by `Host`, one that posts across origins by
 * `Origin`. `publicUrl` is accepted beside loopback, for whoever reaches the server through a tunnel.
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
  // Without our leave a page cannot read what another origin answers, so what only reads needs no second look.
  if (origin === undefined || method === 'GET' || method === 'HEAD') return null;
  // What a page under `no-referrer` posts to its own origin has no other mark than this one, which no page can set by
  // itself.
  if (origin === 'null' && headers['sec-fetch-site'] === 'same-origin') return null;
  const from = URL.parse(origin);
  const isHttp = from?.protocol === 'http:' || from?.protocol === 'https:';
  return from && isHttp && isOwn(from.host) ? null : 'Origin must be a page of this machine.';
}
