import { lookup, Resolver } from 'node:dns/promises';

/** Every address of a host, IPv4 first. Rejects with a `DnsFailure` within a bounded time. */
export type HostResolver = (host: string) => Promise<string[]>;

/** The name has no address, or no server answered in time. */
export class DnsFailure extends Error {
  override readonly name = 'DnsFailure';
  /** The resolver's code, such as `ENOTFOUND`. */
  readonly code: string;

  constructor(code: string) {
    super(`the host name could not be resolved (${code})`);
    this.code = code;
  }
}

const QUERY_TIMEOUT_MS = 1_000;
const TRIES = 2;
const OVERALL_TIMEOUT_MS = 4_000;

/**
 * Queries DNS directly: a silent name server could block the few threads of the operating system's look-up for all
 * merchants. `servers` (`ip:port`) default to those of the machine.
 */
export function dnsResolver(options: { readonly servers?: readonly string[] } = {}): HostResolver {
  const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: TRIES });
  if (options.servers) resolver.setServers([...options.servers]);
  return async (host) => {
    const [four, six] = await Promise.all([
      settled(resolver.resolve4(host), OVERALL_TIMEOUT_MS),
      settled(resolver.resolve6(host), OVERALL_TIMEOUT_MS),
    ]);
    const addresses = [...four.addresses, ...six.addresses];
    if (addresses.length === 0) throw new DnsFailure(four.code ?? six.code ?? 'ENODATA');
    return addresses;
  };
}

/** The operating system's look-up, which also reads the hosts file. For sandboxes. */
export function systemResolver(): HostResolver {
  return async (host) => {
    try {
      const found = await lookup(host, { all: true, order: 'ipv4first' });
      return found.map(({ address }) => address);
    } catch (error) {
      throw new DnsFailure(codeOf(error));
    }
  };
}

async function settled(
  query: Promise<string[]>,
  timeoutMs: number,
): Promise<{ addresses: string[]; code: string | null }> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DnsFailure('ETIMEOUT')), timeoutMs);
  });
  try {
    return { addresses: await Promise.race([query, late]), code: null };
  } catch (error) {
    return { addresses: [], code: codeOf(error) };
  } finally {
    clearTimeout(timer);
    query.catch(() => undefined);
  }
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown }).code;
  return typeof code === 'string' ? code : 'EUNKNOWN';
}
