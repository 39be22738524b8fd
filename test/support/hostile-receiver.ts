import { createHmac } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';

/** One request as it came over the wire. */
export interface Received {
  readonly atMs: number;
  readonly method: string;
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Names and values as written, in order. */
  readonly rawHeaders: readonly (readonly [string, string])[];
  readonly raw: Buffer;
}

/** What to do with a request: the socket is the receiver's to abuse. */
export type Behaviour = (request: Received, socket: Socket, count: number) => void;

/** A server that speaks HTTP/1.1 as badly as the test wants it to. */
export class HostileReceiver {
  readonly received: Received[] = [];
  connections = 0;
  behave: Behaviour;
  /** What to do with a connection before any request came. */
  onConnection: (socket: Socket) => void = () => undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #timers: NodeJS.Timeout[] = [];

  private constructor(behave: Behaviour, tls: TlsOptions | null) {
    this.behave = behave;
    const accept = (socket: Socket): void => this.#accept(socket);
    this.#server = tls ? createTlsServer(tls, accept) : createServer(accept);
    this.#server.on('connection', (socket: Socket) => {
      this.connections += 1;
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      socket.on('error', () => undefined);
      this.onConnection(socket);
    });
    this.#server.on('tlsClientError', () => undefined);
  }

  static async start(
    behave: Behaviour = answer(200),
    options: { tls?: TlsOptions; host?: string } = {},
  ): Promise<HostileReceiver> {
    const receiver = new HostileReceiver(behave, options.tls ?? null);
    await new Promise<void>((resolve) => receiver.#server.listen(0, options.host ?? '127.0.0.1', resolve));
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hook`;
  }

  get openSockets(): number {
    return this.#sockets.size;
  }

  /** For behaviours that go on by themselves; ended with the receiver. */
  every(ms: number, run: () => void): void {
    this.#timers.push(setInterval(run, ms));
  }

  later(ms: number, run: () => void): void {
    this.#timers.push(setTimeout(run, ms));
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #accept(socket: Socket): void {
    let buffered = Buffer.alloc(0);
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      buffered = Buffer.concat([buffered, chunk]);
      for (let parsed = parse(buffered); parsed; parsed = parse(buffered)) {
        buffered = buffered.subarray(parsed.length);
        this.received.push(parsed.request);
        this.behave(parsed.request, socket, this.received.length);
      }
    });
  }
}

function parse(buffered: Buffer): { request: Received; length: number } | null {
  const end = buffered.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [start = '', ...lines] = buffered.subarray(0, end).toString('latin1').split('\r\n');
  const rawHeaders = lines.map(
    (line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()] as const,
  );
  const headers = Object.fromEntries(rawHeaders.map(([name, value]) => [name.toLowerCase(), value]));
  const length = end + 4 + Number(headers['content-length'] ?? 0);
  if (buffered.length < length) return null;
  const [method = '', path = ''] = start.split(' ');
  return {
    request: {
      atMs: Date.now(),
      method,
      path,
      headers,
      rawHeaders,
      raw: Buffer.from(buffered.subarray(end + 4, length)),
    },
    length,
  };
}

/** An ordinary answer. */
export function answer(status: number, body = '{"received":true}', headers: Record<string, string> = {}): Behaviour {
  const lines = Object.entries({
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    ...headers,
  });
  const text = `HTTP/1.1 ${status} Whatever\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
  return (_, socket) => void socket.write(text);
}

/** Answers by turns; the last one repeats. */
export const inTurn =
  (...behaviours: Behaviour[]): Behaviour =>
  (request, socket, count) =>
    behaviours[Math.min(count, behaviours.length) - 1]!(request, socket, count);

/** Closes with a TCP reset. */
export const reset: Behaviour = (_, socket) => void socket.resetAndDestroy();

/** Writes the text as it is and leaves the connection open. */
export const write =
  (text: string | Buffer): Behaviour =>
  (_, socket) =>
    void socket.write(text);

export const silent: Behaviour = () => undefined;

/** The receiver's own check of a signature, written from the specification alone. */
export function isSigned(request: Received, secret: string): boolean {
  const text = Buffer.concat([
    Buffer.from(`${request.headers['x-service-timestamp']}.${request.headers['x-service-nonce']}.`),
    request.raw,
  ]);
  return createHmac('sha256', secret).update(text).digest('hex') === request.headers['x-service-signature'];
}

export const bodyOf = (
  request: Received,
): { id: string; type: string; created_at: number; data: { object: Record<string, unknown> } } =>
  JSON.parse(request.raw.toString('utf8'));
