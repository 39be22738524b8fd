import { createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** How a line between browser and service fails. */
export type LineFault = 'none' | 'frozen stream' | 'buffered stream' | 'dead';

export interface BadLine {
  readonly url: string;
  /** Requests that came through, by the last part of their path. */
  readonly passed: Map<string, number>;
  set(fault: LineFault): void;
  close(): Promise<void>;
}

/**
 * A proxy before `target`. `frozen stream`: open connections stay open, and nothing more comes through. `buffered
 * stream`: the answer's head arrives, its body only once it is complete, which a stream never is. `dead`: nothing is
 * answered or refused.
 */
export async function badLine(target: string): Promise<BadLine> {
  let fault: LineFault = 'none';
  const passed = new Map<string, number>();
  const relay = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    if (fault === 'dead') return;
    const name = new URL(incoming.url ?? '/', target).pathname.split('/').at(-1) ?? '';
    passed.set(name, (passed.get(name) ?? 0) + 1);
    const isStream = name === 'events';
    const onward = send(new URL(incoming.url ?? '/', target), { headers: incoming.headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      outgoing.flushHeaders();
      answer.on('data', (chunk: Buffer) => {
        if (fault === 'dead' || (isStream && fault !== 'none')) return;
        outgoing.write(chunk);
      });
      answer.on('end', () => outgoing.end());
    });
    onward.on('error', () => outgoing.destroy());
    outgoing.on('close', () => onward.destroy());
    incoming.pipe(onward);
  };
  const server = createServer(relay);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed,
    set: (next) => {
      fault = next;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
