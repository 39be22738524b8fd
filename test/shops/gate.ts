import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What stands between a shop and the service, so that something can happen in the shop while the service is asked. */
export interface Gate {
  readonly url: string;
  /** Runs `meanwhile` after the service has answered the next request whose path begins so, before the shop hears it. */
  during(path: string, meanwhile: () => Promise<void>): void;
  /** From now on requests are taken and never answered; null: they are answered again. */
  hang(path: string | null): void;
  /** Milliseconds that the shop waited for the last request that never was answered. */
  readonly waitedMs: () => number;
  stop(): Promise<void>;
}

export async function openGate(serviceUrl: string): Promise<Gate> {
  const waiting: { path: string; meanwhile: () => Promise<void> }[] = [];
  let hanging: string | null = null;
  let waitedMs = 0;
  const server = createServer((incoming, outgoing) => {
    const path = incoming.url ?? '/';
    if (hanging !== null && path.startsWith(hanging)) {
      const sinceMs = Date.now();
      incoming.resume();
      outgoing.on('close', () => (waitedMs += Date.now() - sinceMs));
      return;
    }
    const upstream = request(
      new URL(path, serviceUrl),
      { method: incoming.method, headers: incoming.headers },
      (answer) => {
        const place = waiting.findIndex((one) => path.startsWith(one.path));
        const [one] = place < 0 ? [] : waiting.splice(place, 1);
        void (one?.meanwhile() ?? Promise.resolve()).then(() => {
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(outgoing);
        });
      },
    );
    upstream.on('error', () => outgoing.destroy());
    incoming.pipe(upstream);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    during: (path, meanwhile) => waiting.push({ path, meanwhile }),
    hang(path) {
      hanging = path;
      waitedMs = 0;
      if (path === null) server.closeAllConnections();
    },
    waitedMs: () => waitedMs,
    async stop() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
