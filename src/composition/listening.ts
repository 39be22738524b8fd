import type { Server } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import type { Express } from 'express';
import type { Config } from '../config.ts';
import { createHttpServer } from '../http/server.ts';

const CLOSE_GRACE_MS = 5_000;

/** Serves the app on `HOST` and `PORT`. Links need the address, so a free port (0) is chosen before the app is made. */
export async function listen(config: Config, app: (publicUrl: string) => Express): Promise<{ server: Server; publicUrl: string }> {
  const port = config.PORT !== 0 ? config.PORT : await freePort(config.HOST);
  const publicUrl = config.PUBLIC_URL?.replace(/\/$/, '') ?? `http://${hostInUrl(config.HOST)}:${port}`;
  const server = createHttpServer(app(publicUrl));
  await new Promise<void>((done, failed) => {
    server.once('error', failed);
    server.listen(port, config.HOST, done);
  });
  return { server, publicUrl };
}

async function freePort(host: string): Promise<number> {
  const probe = createServer();
  await new Promise<void>((done, failed) => probe.once('error', failed).listen(0, host, done));
  const { port } = probe.address() as AddressInfo;
  await new Promise((done) => probe.close(done));
  return port;
}

/** Where a listening server is reached. */
export function urlOf(host: string, server: Server): string {
  return `http://${hostInUrl(host)}:${(server.address() as AddressInfo).port}`;
}

const hostInUrl = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** Stops taking new connections and gives open requests a moment to finish. */
export async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((done) => server.close(() => done()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
  await closed;
  clearTimeout(timer);
}
