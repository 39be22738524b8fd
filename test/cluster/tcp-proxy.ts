import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import type { RedisLink } from './redis-network.ts';

/** A way to a server that can be cut as a network is: what is sent goes nowhere, and nothing says so. */
export class TcpProxy implements RedisLink {
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #isCut = false;
  url = '';

  private constructor(target: { readonly host: string; readonly port: number }) {
    this.#server = createServer((near) => {
      const far = connect(target.port, target.host);
      const pair = [near, far] as const;
      this.#pairs.add(pair);
      const end = (): void => {
        this.#pairs.delete(pair);
        near.destroy();
        far.destroy();
      };
      for (const socket of pair) socket.on('error', end).on('close', end);
      near.on('data', (bytes) => void (this.#isCut || far.write(bytes)));
      far.on('data', (bytes) => void (this.#isCut || near.write(bytes)));
    });
  }

  static async start(target: { readonly host: string; readonly port: number }): Promise<TcpProxy> {
    const proxy = new TcpProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    proxy.url = `redis://127.0.0.1:${(proxy.#server.address() as AddressInfo).port}`;
    return proxy;
  }

  cut(): void {
    this.#isCut = true;
  }

  /** What was open is broken: bytes are missing in it. */
  mend(): void {
    this.#isCut = false;
    for (const [near, far] of this.#pairs) {
      near.destroy();
      far.destroy();
    }
  }

  async close(): Promise<void> {
    this.mend();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
