import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { Config } from '../../config.ts';
import type { HttpLogger } from '../../http/endpoint.ts';
import { createHttpServer, DEFAULT_LIMITS } from '../../http/server.ts';
import { must } from '../../domain/values/must.ts';
import { portOf } from '../../runtime/util/port-of.ts';

const CLOSE_GRACE_MS = 5_000;

/** Serves the app on `HOST` and `PORT`. Links need the address, so the app is created once the port is bound. */
export async function listen(
  config: Config,
  logger: Pick<HttpLogger, 'debug'>,
  foreign: ((request: IncomingMessage) => string | null) | undefined,
  app: (publicUrl: string) => RequestListener,
): Promise<{ server: Server; publicUrl: string }> {
  let serve: RequestListener | null = null;
  const server = createHttpServer((request, response) => void must(serve)(request, response), logger, {
    limits: { ...DEFAULT_LIMITS, maxConnections: config.MAX_CONNECTIONS },
    secure: config.PUBLIC_URL?.startsWith('https://') ?? false,
    ...(foreign && { foreign }),
  });
  await new Promise<void>((done, failed) => {
    server.once('error', failed);
    server.listen(config.PORT, config.HOST, done);
  });
  const publicUrl = config.PUBLIC_URL?.replace(/\/$/, '') ?? urlOf(config.HOST, server);
  serve = app(publicUrl);
  return { server, publicUrl };
}

/** The URL of a listening server. */
export function urlOf(host: string, server: Server): string {
  return `http://${hostInUrl(host)}:${portOf(server)}`;
}

const hostInUrl = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** Stops accepting connections and gives open requests a moment to finish. */
export async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((done) => server.close(() => done()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
  await closed;
  clearTimeout(timer);
}
