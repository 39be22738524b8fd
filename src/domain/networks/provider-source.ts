/** A name or address of this machine. */
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * Who answers at a URL: providers of one host are one source and can be wrong together, whatever keys, paths and ports
 * their URLs have. On this machine, ports are tunnels to different providers.
 */
export function sourceOfUrl(url: string): string {
  const parsed = URL.parse(url);
  // The start refuses it elsewhere.
  if (parsed === null) return url;
  return LOOPBACK.test(parsed.hostname) ? parsed.host : parsed.hostname.replace(/\.$/, '');
}
