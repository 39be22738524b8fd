import { createServer, type Server, type ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import type { HealthChecks } from './health.ts';

export interface OpsServerDeps {
  readonly host: string;
  readonly port: number;
  readonly registry: Registry;
  readonly health: HealthChecks;
}

/** `/metrics`, `/healthz` (the process lives) and `/readyz` (it may be sent traffic), apart from the public port. */
export async function startOpsServer(deps: OpsServerDeps): Promise<Server> {
  const server = createServer((request, response) => {
    void answer(deps, request.method ?? 'GET', (request.url ?? '/').split('?')[0]!, response);
  });
  await new Promise<void>((done, failed) => {
    server.once('error', failed);
    server.listen(deps.port, deps.host, done);
  });
  return server;
}

async function answer(deps: OpsServerDeps, method: string, path: string, response: ServerResponse): Promise<void> {
  if (method !== 'GET' && method !== 'HEAD') return send(response, 405, 'text/plain; charset=utf-8', 'method not allowed\n');
  if (path === '/healthz') return send(response, 200, 'application/json; charset=utf-8', '{"status":"ok"}\n');
  if (path === '/readyz') {
    const health = deps.health.report();
    return send(response, health.ready ? 200 : 503, 'application/json; charset=utf-8', `${JSON.stringify({ status: health.ready ? 'ready' : 'not ready', checks: health.facts })}\n`);
  }
  if (path === '/metrics') return send(response, 200, deps.registry.contentType, await deps.registry.metrics());
  send(response, 404, 'text/plain; charset=utf-8', 'not found\n');
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff', 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}
