import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { Client, type Dispatcher } from 'undici';
import { ForbiddenAddress, tlsOrNetwork } from './connection-faults.ts';
import type { Exchange } from './exchange.ts';
import { forbiddenReason } from './forbidden-addresses.ts';
import { DnsFailure, type HostResolver } from './host-resolver.ts';
import { must } from '../../domain/values/must.ts';

export interface ConnectionRules {
  readonly resolve: HostResolver;
  readonly allowPrivate: boolean;
  /** Additional certificate authorities, PEM. Verification cannot be disabled. */
  readonly ca?: string;
}

/** The target of a URL. */
export interface Origin {
  /** As the URL standard serialises it. */
  readonly href: string;
  readonly secure: boolean;
  /** A name without the trailing dot, or an address without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Used if the receiver does not say how long it keeps a connection. */
const KEEP_ALIVE_MS = 4_000;
const LONGEST_KEEP_ALIVE_MS = 60_000;
/** Subtracted from the receiver's time, so that no request meets a connection that is being closed. */
const KEEP_ALIVE_MARGIN_MS = 2_000;
/** Limit for each head, informational or final. */
const MAX_HEAD_BYTES = 16 * 1024;
/** Bytes read of an answer, including heads and framing, before the connection is cut. */
const MAX_READ_BYTES = 64 * 1024;

/**
 * One connection to one origin for one merchant, with at most one exchange at a time. Each time it is opened, every
 * address of the host is vetted and one is pinned, so nothing is resolved twice.
 */
export class Connection {
  /** The most recently pinned address; null before the first. */
  address: string | null = null;
  readonly #origin: Origin;
  readonly #rules: ConnectionRules;
  readonly #client: Client;
  #socket: Socket | null = null;
  /** Bytes read from the socket before this exchange. */
  #readBefore = 0;
  #preference = 0;
  #exchange: Exchange | null = null;
  #deadline: NodeJS.Timeout | null = null;
  #destroyed = false;

  /** `onLost` is called when the connection ends, or the receiver misuses it, while idle. */
  constructor(origin: Origin, rules: ConnectionRules, onLost: () => void) {
    this.#origin = origin;
    this.#rules = rules;
    this.#client = new Client(origin.href, {
      allowH2: false,
      pipelining: 1,
      // The exchange has its own deadline.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: LONGEST_KEEP_ALIVE_MS,
      keepAliveTimeoutThreshold: KEEP_ALIVE_MARGIN_MS,
      maxHeaderSize: MAX_HEAD_BYTES,
      connect: (_, callback) =>
        void this.#open().then(
          (socket) => callback(null, socket),
          (error: Error) => callback(error, null),
        ),
    });
    // Added after the client's listener, so that the client has read the data before its bytes are counted.
    this.#client.on('connect', () => this.#socket?.on('readable', () => this.#boundAnswer()));
    this.#client.on('disconnect', () => {
      if (this.#exchange === null) onLost();
    });
  }

  /**
   * Sends a request, over a new connection to the `preference`-th address of the host if none is open. The exchange
   * receives the result and expires after `timeoutMs`, which is the same for all exchanges.
   */
  send(request: Dispatcher.DispatchOptions, exchange: Exchange, timeoutMs: number, preference: number): void {
    this.#exchange = exchange;
    this.#preference = preference;
    this.#readBefore = this.#socket?.bytesRead ?? 0;
    // One reusable timer per connection; while idle it has no effect and keeps no process alive.
    if (this.#deadline) this.#deadline.refresh();
    else this.#deadline = setTimeout(() => this.#exchange?.expire(), timeoutMs).unref();
    this.#client.dispatch(request, exchange);
  }

  /** Ends the exchange. */
  release(): void {
    this.#exchange = null;
  }

  /** Closes the connection at once, whatever it is doing. */
  destroy(): void {
    if (this.#destroyed) return;
    this.#destroyed = true;
    if (this.#deadline) clearTimeout(this.#deadline);
    this.#socket?.destroy();
    this.#client.destroy().catch(() => undefined);
    this.#exchange?.fail(new Error('connection closed'));
  }

  async #open(): Promise<Socket> {
    const { host } = this.#origin;
    this.address = null;
    const isAddress = isIP(host) !== 0;
    const address = this.#pin(isAddress ? [host] : await this.#rules.resolve(host));
    if (this.#destroyed) throw new Error('the attempt is over');
    this.address = address;
    return this.#connect(address, isAddress);
  }

  #pin(addresses: readonly string[]): string {
    for (const address of addresses) {
      const reason = forbiddenReason(address, this.#rules.allowPrivate);
      if (reason !== null) throw new ForbiddenAddress(address, reason);
    }
    const pinned = addresses[this.#preference % Math.max(1, addresses.length)];
    if (pinned === undefined) throw new DnsFailure('ENODATA');
    return pinned;
  }

  #connect(address: string, isAddress: boolean): Promise<Socket> {
    const { secure, host, port } = this.#origin;
    // Connecting to the address avoids a second look-up; TLS still verifies the name.
    const options = { host: address, port, noDelay: true, autoSelectFamily: false };
    // TLS sessions are not resumed, so each connection verifies the certificate again.
    const socket = secure
      ? connectTls({
          ...options,
          ALPNProtocols: ['http/1.1'],
          minVersion: 'TLSv1.2',
          // Set explicitly, because NODE_TLS_REJECT_UNAUTHORIZED changes the runtime's default.
          rejectUnauthorized: true,
          ...(this.#rules.ca !== undefined && { ca: this.#rules.ca }),
          ...(!isAddress && { servername: host }),
        })
      : connect(options);
    this.#socket = socket;
    this.#readBefore = 0;
    return new Promise((resolve, reject) => {
      socket.once(secure ? 'secureConnect' : 'connect', () => resolve(socket));
      socket.on('error', (error: Error) => reject(secure ? tlsOrNetwork(error) : error));
      socket.once('close', () => reject(new Error('closed while connecting')));
    });
  }

  /** The client limits heads, but not what else a receiver may send. */
  #boundAnswer(): void {
    if (must(this.#socket).bytesRead - this.#readBefore > MAX_READ_BYTES) this.#exchange?.overflow();
  }
}
