import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { Client, type Dispatcher } from 'undici';
import { ForbiddenAddress, tlsOrNetwork } from './connection-faults.ts';
import type { Exchange } from './exchange.ts';
import { forbiddenReason } from './forbidden-addresses.ts';
import { DnsFailure, type HostResolver } from './host-resolver.ts';
import { must } from '../../domain/must.ts';

export interface ConnectionRules {
  readonly resolve: HostResolver;
  readonly allowPrivate: boolean;
  /** Further certificate authorities, PEM; there is no way to switch verification off. */
  readonly ca?: string;
}

/** Where a URL leads. */
export interface Origin {
  /** As the URL standard serialises it. */
  readonly href: string;
  readonly secure: boolean;
  /** A name without the dot of the root, or an address without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Where the receiver does not say how long it keeps a connection. */
const KEEP_ALIVE_MS = 4_000;
const LONGEST_KEEP_ALIVE_MS = 60_000;
/** Ahead of the receiver's own time, so that no request meets a connection that is being closed. */
const KEEP_ALIVE_MARGIN_MS = 2_000;
/** Of each head, an informational one or the answer's own. */
const MAX_HEAD_BYTES = 16 * 1024;
/** Read of an answer, heads, framing and all, before the connection is cut. */
const MAX_READ_BYTES = 64 * 1024;

/**
 * One connection to one origin for one merchant, with at most one exchange at a time. Each time it is opened, every
 * address of the host is vetted and one is pinned, so nothing is looked up twice.
 */
export class Connection {
  /** The address that was pinned last; null before. */
  address: string | null = null;
  readonly #origin: Origin;
  readonly #rules: ConnectionRules;
  readonly #client: Client;
  #socket: Socket | null = null;
  /** Bytes that were read from the socket before this exchange. */
  #readBefore = 0;
  #preference = 0;
  #exchange: Exchange | null = null;
  #deadline: NodeJS.Timeout | null = null;
  #destroyed = false;

  /** `onLost` is called when the connection ends, or is misused by the receiver, while nothing is under way. */
  constructor(origin: Origin, rules: ConnectionRules, onLost: () => void) {
    this.#origin = origin;
    this.#rules = rules;
    this.#client = new Client(origin.href, {
      allowH2: false,
      pipelining: 1,
      // The exchange has one deadline of its own.
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
    // Listened for after the client did, so that it has read what is there before the bytes are counted.
    this.#client.on('connect', () => this.#socket?.on('readable', () => this.#boundAnswer()));
    this.#client.on('disconnect', () => {
      if (this.#exchange === null) onLost();
    });
  }

  /**
   * Sends a request, over a new connection to the `preference`-th address of the host where none is open. The exchange
   * is told what becomes of it, and expires after a time that is the same for all exchanges.
   */
  send(request: Dispatcher.DispatchOptions, exchange: Exchange, timeoutMs: number, preference: number): void {
    this.#exchange = exchange;
    this.#preference = preference;
    this.#readBefore = this.#socket?.bytesRead ?? 0;
    // One timer a connection, wound up anew; while nothing is under way it means nothing and keeps nobody awake.
    if (this.#deadline) this.#deadline.refresh();
    else this.#deadline = setTimeout(() => this.#exchange?.expire(), timeoutMs).unref();
    this.#client.dispatch(request, exchange);
  }

  /** The exchange is over. */
  release(): void {
    this.#exchange = null;
  }

  /** Ends the connection at once, whatever it is doing. */
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
    // Connecting to the address itself leaves nothing to be looked up a second time; the name is still what TLS
    // verifies.
    const options = { host: address, port, noDelay: true, autoSelectFamily: false };
    // No TLS session outlives its connection: each one verifies the certificate again.
    const socket = secure
      ? connectTls({
          ...options,
          ALPNProtocols: ['http/1.1'],
          minVersion: 'TLSv1.2',
          // Said here, since the runtime's own default is what NODE_TLS_REJECT_UNAUTHORIZED makes of it.
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

  /** The client bounds heads, but not what else a receiver may go on with. */
  #boundAnswer(): void {
    if (must(this.#socket).bytesRead - this.#readBefore > MAX_READ_BYTES) this.#exchange?.overflow();
  }
}
