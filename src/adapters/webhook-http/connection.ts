import { isIP, type Socket } from 'node:net';
import { buildConnector, Client } from 'undici';
import { forbiddenReason } from './forbidden-addresses.ts';
import { DnsFailure, type HostResolver } from './host-resolver.ts';

/** An address of the endpoint's host is one that no notification may reach. */
export class ForbiddenAddress extends Error {
  override readonly name = 'ForbiddenAddress';
  readonly address: string;

  constructor(address: string, reason: string) {
    super(`forbidden address (${reason})`);
    this.address = address;
  }
}

/** The TLS handshake failed: the other side was reached, but is not who it claims to be or speaks no acceptable TLS. */
export class TlsFailure extends Error {
  override readonly name = 'TlsFailure';
  readonly code: string;

  constructor(code: string) {
    super(`TLS failed (${code})`);
    this.code = code;
  }
}

export interface ConnectionRules {
  readonly resolve: HostResolver;
  readonly allowPrivate: boolean;
  /** Further certificate authorities, PEM; there is no way to switch verification off. */
  readonly ca?: string;
}

const KEEP_ALIVE_MS = 4_000;
const MAX_HEADER_BYTES = 16 * 1024;
/** Errors of the network below TLS: they say nothing about certificates. */
const PLAIN_NETWORK_ERRORS = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'ETIMEDOUT',
  'EPIPE',
  'EADDRNOTAVAIL',
  'EMFILE',
  'ENFILE',
]);

/**
 * One connection to one origin for one merchant: at most one request at a time, opened anew when it was lost. Each time
 * it is opened, every address of the host is vetted and one is pinned, so nothing is looked up twice.
 */
export class Connection {
  readonly client: Client;
  /** The address pinned last. */
  address: string | null = null;
  #socket: Socket | null = null;
  #destroyed = false;
  #deadline: NodeJS.Timeout | null = null;
  #onDeadline: (() => void) | null = null;
  /** Which of several addresses the next opening takes. */
  preference = 0;

  constructor(origin: string, rules: ConnectionRules) {
    // No TLS session outlives its connection: each one verifies the certificate again.
    const open = buildConnector({
      allowH2: false,
      maxCachedSessions: 0,
      timeout: 0,
      minVersion: 'TLSv1.2',
      autoSelectFamily: false,
      ...(rules.ca !== undefined && { ca: rules.ca }),
    });
    this.client = new Client(origin, {
      allowH2: false,
      pipelining: 1,
      // The exchange has one deadline of its own.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: 60_000,
      maxHeaderSize: MAX_HEADER_BYTES,
      connect: (options, callback) => {
        this.#open(options, rules, open).then(
          (socket) => callback(null, socket),
          (error: Error) => callback(error, null),
        );
      },
    });
  }

  /** Begins an exchange: `onDeadline` is called unless it is over within the time, which is the same for all exchanges. */
  begin(timeoutMs: number, onDeadline: () => void): void {
    this.#onDeadline = onDeadline;
    // One timer a connection, wound up anew; while nothing is under way it means nothing and keeps nobody awake.
    if (this.#deadline) this.#deadline.refresh();
    else this.#deadline = setTimeout(() => this.#onDeadline?.(), timeoutMs).unref();
  }

  /** The exchange is over. */
  end(): void {
    this.#onDeadline = null;
  }

  /** Ends the connection at once, whatever it is doing. */
  destroy(): void {
    this.#destroyed = true;
    if (this.#deadline) clearTimeout(this.#deadline);
    this.#socket?.destroy();
    this.client.destroy().catch(() => undefined);
  }

  async #open(options: buildConnector.Options, rules: ConnectionRules, open: buildConnector.connector): Promise<Socket> {
    const host = options.hostname.replace(/\.$/, '');
    const isAddress = isIP(host) !== 0;
    this.address = null;
    const address = this.#pin(isAddress ? [host] : await rules.resolve(host), rules);
    if (this.#destroyed) throw new Error('the attempt is over');
    this.address = address;
    const secure = options.protocol === 'https:';
    // Connecting to the address itself leaves nothing to be looked up a second time; the name is still what TLS verifies.
    return this.#connect(open, { ...options, hostname: address, ...(secure && !isAddress && { servername: host }) }, secure);
  }

  #pin(addresses: readonly string[], { allowPrivate }: ConnectionRules): string {
    for (const address of addresses) {
      const reason = forbiddenReason(address, allowPrivate);
      if (reason !== null) throw new ForbiddenAddress(address, reason);
    }
    const pinned = addresses[this.preference % Math.max(1, addresses.length)];
    if (pinned === undefined) throw new DnsFailure('ENODATA');
    return pinned;
  }

  #connect(open: buildConnector.connector, options: buildConnector.Options, secure: boolean): Promise<Socket> {
    return new Promise((resolve, reject) => {
      // The connector returns the socket at once (its types do not say so): an attempt that ends while connecting takes it down.
      const opening = open(options, (error, socket) => (error ? reject(secure ? tlsOrNetwork(error) : error) : resolve(socket))) as unknown as Socket;
      this.#socket = opening;
      opening.once('close', () => reject(new Error('closed while connecting')));
    });
  }
}

function tlsOrNetwork(error: Error): Error {
  const code = (error as NodeJS.ErrnoException).code ?? 'UNKNOWN';
  return PLAIN_NETWORK_ERRORS.has(code) ? error : new TlsFailure(code);
}
