import { connect } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
  /** True when the server closed the connection. */
  readonly closed: boolean;
  readonly tookMs: number;
}

/**
 * Sends bytes as they are and collects the first answer: for requests that no well-behaved client would make. Each part
 * is written `pauseMs` after the one before. Resolves when an answer is whole, the server closed, or `timeoutMs`
 * passed.
 */
export function rawRequest(
  base: string,
  parts: readonly (string | Buffer)[],
  options: { readonly pauseMs?: number; readonly timeoutMs?: number } = {},
): Promise<RawAnswer> {
  const { port, hostname } = new URL(base);
  const startedMs = performance.now();
  return new Promise((resolve) => {
    const socket = connect({ port: Number(port), host: hostname, noDelay: true });
    let received = '';
    let closed = false;
    const finish = (): void => {
      clearTimeout(timer);
      socket.destroy();
      const [head = '', ...rest] = received.split('\r\n\r\n');
      resolve({
        status: Number(head.slice(9, 12)),
        head,
        body: rest.join('\r\n\r\n'),
        closed,
        tookMs: performance.now() - startedMs,
      });
    };
    const timer = setTimeout(finish, options.timeoutMs ?? 5_000);
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('utf8');
      const head = received.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(received)?.[1]);
      if (
        head >= 0 &&
        !received.startsWith('HTTP/1.1 100') &&
        Buffer.byteLength(received.slice(head + 4)) >= length &&
        !/connection: close/i.test(received)
      )
        finish();
    });
    socket.on('close', () => {
      closed = true;
      finish();
    });
    socket.on('error', () => {});
    void (async () => {
      for (const part of parts) {
        if (socket.destroyed) return;
        socket.write(part);
        if (options.pauseMs) await new Promise((wake) => setTimeout(wake, options.pauseMs));
      }
    })();
  });
}
