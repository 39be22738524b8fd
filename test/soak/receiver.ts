import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A merchant's endpoint that may be away for a while. */
export class SoakReceiver {
  readonly url: string;
  /** When it first took the notice of a payment (`performance.now()`), by session. */
  readonly #completedAt = new Map<string, number>();
  /** Notices of a payment that were taken, by session: more than one id would be a payment told twice. */
  readonly #ids = new Map<string, Set<string>>();
  readonly #close: () => Promise<void>;
  isAway = false;

  private constructor(url: string, close: () => Promise<void>) {
    this.url = url;
    this.#close = close;
  }

  static async start(): Promise<SoakReceiver> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        if (!receiver.isAway) receiver.#take(Buffer.concat(chunks).toString());
        response.writeHead(receiver.isAway ? 503 : 200).end();
      });
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const { port } = server.address() as AddressInfo;
    const receiver = new SoakReceiver(`http://127.0.0.1:${port}/hook`, async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    });
    return receiver;
  }

  #take(text: string): void {
    const { id, type, data } = JSON.parse(text) as {
      id: string;
      type: string;
      data: { object: { session_id: string } };
    };
    if (type !== 'payment.completed') return;
    const { session_id: session } = data.object;
    if (!this.#completedAt.has(session)) this.#completedAt.set(session, performance.now());
    this.#ids.set(session, (this.#ids.get(session) ?? new Set()).add(id));
  }

  completedAt(session: string): number | null {
    return this.#completedAt.get(session) ?? null;
  }

  get completed(): number {
    return this.#completedAt.size;
  }

  get toldTwice(): readonly string[] {
    return [...this.#ids].flatMap(([session, ids]) => (ids.size > 1 ? [session] : []));
  }

  close(): Promise<void> {
    return this.#close();
  }
}
