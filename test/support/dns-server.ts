import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { createServer, isIPv6, type Server, type Socket } from 'node:net';

/** What the server says about a name; null is silence. */
export type DnsReply =
  | { readonly addresses: readonly string[]; readonly delayMs?: number }
  | { readonly cname: string }
  | { readonly rcode: 'NXDOMAIN' | 'SERVFAIL' | 'REFUSED' }
  | null;

export type DnsZone = (name: string, type: 'A' | 'AAAA', query: number) => DnsReply;

const RCODES = { NXDOMAIN: 3, SERVFAIL: 2, REFUSED: 5 } as const;
const TYPES: Readonly<Record<number, 'A' | 'AAAA'>> = { 1: 'A', 28: 'AAAA' };
/** What fits into a datagram without EDNS. */
const MAX_DATAGRAM = 512;

/** A name server on 127.0.0.1, over UDP and TCP, that answers A and AAAA as the test says. */
export class DnsServer {
  readonly queries: string[] = [];
  zone: DnsZone;
  readonly #udp: UdpSocket;
  readonly #tcp: Server;
  readonly #open = new Set<Socket>();
  readonly #timers = new Set<NodeJS.Timeout>();

  private constructor(zone: DnsZone) {
    this.zone = zone;
    this.#udp = createSocket('udp4');
    this.#udp.on('message', (message, peer) => {
      this.#answer(message, (reply) =>
        this.#udp.send(reply.length > MAX_DATAGRAM ? truncated(message) : reply, peer.port, peer.address),
      );
    });
    this.#tcp = createServer((socket) => this.#serve(socket));
  }

  static async start(zone: DnsZone): Promise<DnsServer> {
    for (let tries = 0; ; tries++) {
      const server = new DnsServer(zone);
      await new Promise<void>((resolve) => server.#udp.bind(0, '127.0.0.1', resolve));
      // Both protocols on one port, which someone else may hold for TCP.
      const taken = await new Promise<boolean>((resolve) => {
        server.#tcp.once('error', () => resolve(true));
        server.#tcp.listen(server.#udp.address().port, '127.0.0.1', () => resolve(false));
      });
      if (!taken) return server;
      server.#udp.close();
      if (tries > 10) throw new Error('no free port for the name server');
    }
  }

  get address(): string {
    return `127.0.0.1:${this.#udp.address().port}`;
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    for (const socket of this.#open) socket.destroy();
    await new Promise<void>((resolve) => this.#udp.close(() => resolve()));
    await new Promise<void>((resolve) => this.#tcp.close(() => resolve()));
  }

  #serve(socket: Socket): void {
    this.#open.add(socket);
    socket.on('close', () => this.#open.delete(socket));
    socket.on('error', () => undefined);
    let buffered = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      buffered = Buffer.concat([buffered, chunk]);
      while (buffered.length >= 2 && buffered.length >= 2 + buffered.readUInt16BE(0)) {
        const message = buffered.subarray(2, 2 + buffered.readUInt16BE(0));
        buffered = buffered.subarray(2 + message.length);
        this.#answer(message, (reply) => {
          const length = Buffer.alloc(2);
          length.writeUInt16BE(reply.length);
          socket.write(Buffer.concat([length, reply]));
        });
      }
    });
  }

  #answer(message: Buffer, send: (reply: Buffer) => void): void {
    const { name, typeNumber } = questionOf(message);
    const type = TYPES[typeNumber];
    this.queries.push(`${type ?? typeNumber} ${name}`);
    const reply: DnsReply = type ? this.zone(name, type, this.queries.length) : { addresses: [] };
    if (reply === null) return;
    const encoded = encode(message, type ?? 'A', reply);
    if (!('delayMs' in reply) || !reply.delayMs) {
      send(encoded);
      return;
    }
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      send(encoded);
    }, reply.delayMs);
    this.#timers.add(timer);
  }
}

function questionOf(message: Buffer): { name: string; typeNumber: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length).toLowerCase());
    at += 1 + length;
  }
  return { name: labels.join('.'), typeNumber: message.readUInt16BE(at + 1), end: at + 5 };
}

function encode(message: Buffer, type: 'A' | 'AAAA', reply: NonNullable<DnsReply>): Buffer {
  const { end } = questionOf(message);
  const records =
    'addresses' in reply
      ? reply.addresses.map((address) => record(type === 'A' ? 1 : 28, bytesOf(address)))
      : 'cname' in reply
        ? [record(5, nameBytes(reply.cname))]
        : [];
  const header = Buffer.from(message.subarray(0, 12));
  header.writeUInt16BE(0x8180 | ('rcode' in reply ? RCODES[reply.rcode] : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  header.writeUInt32BE(0, 8);
  return Buffer.concat([header, message.subarray(12, end), ...records]);
}

/** Says "ask again over TCP". */
function truncated(message: Buffer): Buffer {
  const reply = encode(message, 'A', { addresses: [] });
  reply.writeUInt16BE(reply.readUInt16BE(2) | 0x0200, 2);
  return reply;
}

/** A resource record of the question's name, with a lifetime of zero. */
function record(typeNumber: number, data: Buffer): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(typeNumber, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function nameBytes(name: string): Buffer {
  return Buffer.concat([
    ...name.split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label, 'latin1')])),
    Buffer.from([0]),
  ]);
}

function bytesOf(address: string): Buffer {
  if (!isIPv6(address)) return Buffer.from(address.split('.').map(Number));
  const [left = '', right] = address.split('::');
  const groups = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  const before = groups(left);
  const after = right === undefined ? [] : groups(right);
  const all = [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 255]));
}
