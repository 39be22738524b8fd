import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { ForbiddenAddress, tlsOrNetwork } from './connection-faults.ts';
import type { Exchange } from './exchange.ts';
import { forbiddenReason } from './forbidden-addresses.ts';
import { DnsFailure, type HostResolver } from './host-resolver.ts';

export interface ConnectionRules {
  readonly resolve: HostResolver;
  readonly allowPrivate: boolean;
  /** Further certificate authorities, PEM; there is no way to switch verification off. */
  readonly ca?: string;
}

/** Where a URL leads. */
export interface Origin {
  readonly secure: boolean;
  /** A name without the dot of the root, or an address without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Larger answers take several reads. */
const READ_BUFFER_BYTES = 4 * 1024;

/**
 * One connection to one origin for one merchant, opened once, with at most one exchange at a time. Before it is opened,
 * every address of the host is vetted and one is pinned, so nothing is looked up twice.
 */
export class Connection {
  /** The address that was pinned; null before. */
  address: string | null = null;
  readonly #origin: Origin;
  readonly #rules: ConnectionRules;
  readonly #onLost: () => void;
  #socket: Socket | null = null;
  #exchange: Exchange | null = null;
  #deadline: NodeJS.Timeout | null = null;
  #destroyed = false;

  /** `onLost` is called when the receiver ends or misuses the connection while nothing is under way. */
  constructor(origin: Origin, rules: ConnectionRules, onLost: () => void) {
    this.#origin = origin;
    this.#rules = rules;
    this.#onLost = onLost;
  }

  /**
   * Sends a request, over a new connection to the `preference`-th address of the host where none is open. The exchange
   * is told what becomes of it, and expires after a time that is the same for all exchanges.
   */
  send(request: string, exchange: Exchange, timeoutMs: number, preference: number): void {
    this.#exchange = exchange;
    // One timer a connection, wound up anew; while nothing is under way it means nothing and keeps nobody awake.
    if (this.#deadline) this.#deadline.refresh();
    else this.#deadline = setTimeout(() => this.#exchange?.expire(), timeoutMs).unref();
    if (this.#socket) this.#socket.write(request);
    else this.#openAndSend(request, exchange, preference);
  }

  /** The exchange is over. */
  release(): void {
    this.#exchange = null;
  }

  /** Ends the connection at once, whatever it is doing. */
  destroy(): void {
    this.#destroyed = true;
    if (this.#deadline) clearTimeout(this.#deadline);
    this.#socket?.destroy();
    this.#exchange?.fail(new Error('connection closed'));
  }

  #openAndSend(request: string, exchange: Exchange, preference: number): void {
    this.#open(preference).then(
      (socket) => void socket.write(request),
      (error: Error) => exchange.fail(error),
    );
  }

  async #open(preference: number): Promise<Socket> {
    const { host } = this.#origin;
    const rules = this.#rules;
    const isAddress = isIP(host) !== 0;
    const address = this.#pin(isAddress ? [host] : await rules.resolve(host), rules, preference);
    if (this.#destroyed) throw new Error('the attempt is over');
    this.address = address;
    return this.#connect(address, isAddress);
  }

  #pin(addresses: readonly string[], { allowPrivate }: ConnectionRules, preference: number): string {
    for (const address of addresses) {
      const reason = forbiddenReason(address, allowPrivate);
      if (reason !== null) throw new ForbiddenAddress(address, reason);
    }
    const pinned = addresses[preference % Math.max(1, addresses.length)];
    if (pinned === undefined) throw new DnsFailure('ENODATA');
    return pinned;
  }

  #connect(address: string, isAddress: boolean): Promise<Socket> {
    const { secure, host, port } = this.#origin;
    const onread = {
      buffer: Buffer.allocUnsafeSlow(READ_BUFFER_BYTES),
      callback: (length: number, buffer: Uint8Array): boolean => (this.#read(buffer as Buffer, length), true),
    };
    // Connecting to the address itself leaves nothing to be looked up a second time; the name is still what TLS verifies.
    const options = { host: address, port, noDelay: true, autoSelectFamily: false, onread };
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
    return new Promise((resolve, reject) => {
      let isOpen = false;
      socket.once(secure ? 'secureConnect' : 'connect', () => {
        isOpen = true;
        resolve(socket);
      });
      // Once it is open, only the exchange cares.
      socket.on('error', (error: Error) => (isOpen ? this.#exchange?.fail(error) : reject(secure ? tlsOrNetwork(error) : error)));
      // Also while nothing is under way: what is half closed carries no answer any more.
      socket.on('end', () => this.#lose());
      socket.on('close', () => (isOpen ? this.#lose() : reject(new Error('closed while connecting'))));
    });
  }

  #read(buffer: Buffer, length: number): void {
    if (this.#exchange) this.#exchange.read(buffer.subarray(0, length));
    // Nobody asked: whatever it is, it must not be taken for the next answer.
    else this.#lose();
  }

  #lose(): void {
    if (this.#destroyed) return;
    if (this.#exchange) this.#exchange.close();
    else this.#onLost();
  }
}
