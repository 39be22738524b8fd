import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Registry } from 'prom-client';
import { InTurn } from '../runtime/util/in-turn.ts';
import type { HealthChecks } from './health.ts';
import type { ServiceStatus } from './service-status.ts';
import { STATUS_PAGE_POLICY, statusPage } from './status-page.ts';
import { must } from '../domain/values/must.ts';

export interface OpsServerDeps {
  readonly host: string;
  readonly port: number;
  readonly registry: Registry;
  readonly health: HealthChecks;
  /** The status page at `/`. */
  readonly status: ServiceStatus;
  /** Why a request is refused because of its origin; null for one that is allowed. Absent: all are allowed. */
  readonly foreign?: (request: IncomingMessage) => string | null;
}

const JSON_TYPE = 'application/json; charset=utf-8';
const TEXT_TYPE = 'text/plain; charset=utf-8';

/**
 * Separate from the public port: `/` (a page for people), `/metrics`, `/healthz` (the process is alive), `/startupz`
 * (it has started), `/readyz` (it may receive traffic, and what is degraded) and `/readyz/reads` (the same for requests
 * that change nothing).
 */
export async function startOpsServer(deps: OpsServerDeps): Promise<Server> {
  const server = createServer((request, response) => {
    const fault = deps.foreign?.(request) ?? null;
    if (fault !== null) return send(response, 400, TEXT_TYPE, `${fault}\n`);
    answer(deps, request, response).catch(() => {
      if (!response.headersSent) send(response, 500, TEXT_TYPE, 'failed\n');
      else response.destroy();
    });
  });
  await new Promise<void>((done, failed) => {
    server.once('error', failed);
    server.listen(deps.port, deps.host, done);
  });
  return server;
}

/** One format at a time: it is a setting of the registry. */
const formatting = new InTurn();

/** Prometheus requests OpenMetrics, which alone supports exemplars; everybody else gets the older text format. */
function figures(registry: Registry, accept = ''): Promise<{ readonly type: string; readonly text: string }> {
  return formatting.run(async () => {
    const type = accept.includes('application/openmetrics-text')
      ? Registry.OPENMETRICS_CONTENT_TYPE
      : Registry.PROMETHEUS_CONTENT_TYPE;
    registry.setContentType(type as typeof Registry.PROMETHEUS_CONTENT_TYPE);
    // Writing OpenMetrics strips `_total` from the counters' names, for the other format too.
    const names = registry.getMetricsAsArray().map((metric) => [metric, metric.name] as const);
    try {
      return { type, text: await registry.metrics() };
    } finally {
      for (const [metric, name] of names) metric.name = name;
    }
  });
}

async function answer(
  deps: OpsServerDeps,
  { method = 'GET', url = '/', headers: { accept } }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = must(url.split('?')[0]);
  if (method !== 'GET' && method !== 'HEAD')
    return send(response, 405, TEXT_TYPE, 'method not allowed\n', { Allow: 'GET, HEAD' });
  switch (path) {
    case '/':
      return send(response, 200, 'text/html; charset=utf-8', statusPage(deps.status.status()), {
        'Content-Security-Policy': STATUS_PAGE_POLICY,
        'Referrer-Policy': 'no-referrer',
      });
    case '/healthz':
      return send(response, 200, JSON_TYPE, '{"status":"ok"}\n');
    case '/startupz':
      return deps.health.hasStarted
        ? send(response, 200, JSON_TYPE, '{"status":"started"}\n')
        : send(response, 503, JSON_TYPE, '{"status":"starting"}\n');
    case '/readyz':
    case '/readyz/reads': {
      const { ready: isReady, readable, facts } = deps.health.report();
      const ready = path === '/readyz' ? isReady : readable;
      const degraded = facts.filter(({ state }) => state === 'degraded').map(({ name }) => name);
      const status = ready ? 'ready' : 'not ready';
      return send(response, ready ? 200 : 503, JSON_TYPE, `${JSON.stringify({ status, degraded, checks: facts })}\n`);
    }
    case '/metrics': {
      const { type, text } = await figures(deps.registry, accept);
      return send(response, 200, type, text);
    }
    default:
      return send(response, 404, TEXT_TYPE, 'not found\n');
  }
}

function send(
  response: ServerResponse,
  status: number,
  type: string,
  body: string,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, {
    'Content-Type': type,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'Content-Length': Buffer.byteLength(body),
    ...headers,
  });
  response.end(body);
}
