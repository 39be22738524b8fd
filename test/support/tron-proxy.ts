import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What goes back instead of the node's answer; undefined lets it pass. */
type Change = (call: string, answer: unknown) => unknown;

export interface TronProxy {
  readonly url: string;
  change: Change;
  close(): Promise<void>;
}

/** A provider of TRON's HTTP API that stands before a real node and changes what passes. */
export async function tronProxyBefore(target: string): Promise<TronProxy> {
  const server = createServer((request, response) => {
    const forward = async (): Promise<void> => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(target + request.url!, { method: 'POST', headers, body: Buffer.concat(chunks) });
      const body: unknown = await answer.json();
      response.writeHead(answer.status, headers).end(JSON.stringify(proxy.change(request.url!, body) ?? body));
    };
    forward().catch(() => response.writeHead(502).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy: TronProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    change: () => undefined,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return proxy;
}

/** No receipt of a single transaction, in either view. */
export const withoutInfos: Change = (call) => (call.endsWith('/gettransactioninfobyid') ? {} : undefined);
