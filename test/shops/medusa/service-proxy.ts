import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** `pass`; `away`: refused at once; `hang`: no answer; `lose`: done, and the answer never arrives. */
type Fault = 'pass' | 'away' | 'hang' | 'lose';

export interface ServiceProxy {
  readonly url: string;
  /** What happens to the requests that match from now on. */
  set(fault: Fault, matching?: RegExp): void;
  /** `POST /v1/refunds`, in order of arrival. */
  readonly seen: readonly string[];
  stop(): void;
}

/** Stands between a shop and the service. */
export async function startServiceProxy(target: string): Promise<ServiceProxy> {
  const { hostname, port } = new URL(target);
  const seen: string[] = [];
  let [fault, matching]: [Fault, RegExp] = ['pass', /^/];
  const forward = (from: IncomingMessage, to: ServerResponse, loses: boolean): void => {
    const { method, url, headers } = from;
    const sent = request({ hostname, port, method, path: url, headers }, (answer) => {
      if (loses) {
        answer.resume();
        answer.once('end', () => to.destroy());
        return;
      }
      to.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(to);
    });
    sent.once('error', () => to.destroy());
    from.pipe(sent);
  };
  const server = createServer((from, to) => {
    const line = `${from.method} ${from.url}`;
    seen.push(line);
    const chosen = matching.test(line) ? fault : 'pass';
    if (chosen === 'away') to.destroy();
    else if (chosen !== 'hang') forward(from, to, chosen === 'lose');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    set(next, words = /^/) {
      [fault, matching] = [next, words];
    },
    seen,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
