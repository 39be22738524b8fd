import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import type { Clock } from '../ports/clock.ts';
import type { Nonces } from '../ports/event-log/nonces.ts';
import type { Positions } from '../ports/event-log/positions.ts';
import type { RateLimiter } from '../ports/rate-limiter.ts';
import type { KeyDirectory, MerchantApi } from '../features/shared/merchant-api.ts';
import { HSTS, NOT_FOUND, createResponder, type Responder } from './answer.ts';
import { createAddressLimit, type AddressLimits } from './address-limit.ts';
import { createAuthenticator } from './authentication.ts';
import { answerToCrash, createEndpoint, type EndpointTools, type HttpLogger, type HttpObserver } from './endpoint.ts';
import { openApiDocument } from './openapi/document.ts';
import { expressPath, type Route } from './operation.ts';
import { createRefundPresenter } from './presenters/refund.presenter.ts';
import { createSessionPresenter, type PresenterSettings } from './presenters/session.presenter.ts';
import { createHeaderReader } from './request-headers.ts';
import { createRequestIds } from './request-id.ts';
import type { RequestLog } from '../features/shared/request-log.ts';
import { auditRoutes, type AuditApi } from './routes/audit.routes.ts';
import { mountDocs } from './routes/docs.routes.ts';
import { changeRoutes, type ChangesApi } from './routes/changes.routes.ts';
import { endpointRoutes, type EndpointApi } from './routes/endpoints.routes.ts';
import { ledgerRoutes, type LedgerApi } from './routes/ledger.routes.ts';
import { statementsRoutes, type StatementsApi } from './routes/statements.routes.ts';
import { listRoutes, type Lists } from './routes/lists.routes.ts';
import { merchantRoutes, type OwnSettings } from './routes/merchant.routes.ts';
import { refundRoutes } from './routes/refunds.routes.ts';
import { requestRoutes } from './routes/requests.routes.ts';
import { sandboxRoutes, type SandboxApi } from './routes/sandbox.routes.ts';
import { sessionRoutes } from './routes/sessions.routes.ts';
import { timelineRoutes, type TimelineReader } from './routes/timeline.routes.ts';
import { webhookRoutes, type WebhookApi } from './routes/webhooks.routes.ts';
import { createUnmatched } from './unmatched.ts';

export interface HttpAppOptions extends PresenterSettings {
  readonly api: MerchantApi;
  readonly keys: KeyDirectory;
  readonly nonces: Nonces;
  readonly lists: Lists;
  /** Absent parts leave their routes out. */
  readonly settings?: OwnSettings;
  readonly webhooks?: WebhookApi;
  readonly endpoints?: EndpointApi;
  /** The merchant's pending changes. */
  readonly changes?: ChangesApi;
  readonly timeline?: TimelineReader;
  readonly audit?: AuditApi;
  /** Why nothing can be written; null, or absent, while healthy. */
  readonly readOnly?: () => string | null;
  /** Null, or absent, if this is the only process. */
  readonly positions?: Positions | null;
  readonly ledger?: LedgerApi;
  readonly statements?: StatementsApi;
  /** Absent: requests are not logged. */
  readonly requestLog?: RequestLog;
  /** Only in a sandbox. */
  readonly sandbox?: SandboxApi;
  readonly rateLimiter: RateLimiter;
  /** For callers without a valid key, including payers. */
  readonly addresses: AddressLimits;
  readonly clock: Clock;
  /** Prefix of the signature headers, `X-Service-` by default (setting `HEADER_PREFIX`). */
  readonly headerPrefix: string;
  readonly observer: HttpObserver;
  readonly logger: HttpLogger;
  /** Everything else on the server, such as the payment page; mounted after the API and before the final 404. */
  readonly mounts?: readonly ((app: Express) => void)[];
}

/** Version of the contract in the OpenAPI document; the path has its major part. */
const API_VERSION = '1.0.0';
/** Everything under these prefixes requires authentication. */
const API_PREFIXES = ['/api/v1', '/v1'];

/** The merchant API. Routes are tried in order, so the busiest come first, with nothing before them. */
export function createHttpApp(options: HttpAppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('strict routing');
  app.enable('case sensitive routing');

  const secure = options.publicUrl.startsWith('https://');
  const responder = createResponder({ secure, publicUrl: options.publicUrl });
  const tools = endpointTools(options, responder);
  const routes = allRoutes(options);
  const unmatched = createEndpoint(tools, createUnmatched(routes));
  for (const route of routes) {
    const { method, path } = route.operation;
    app[method](expressPath(path), createEndpoint(tools, route));
    if (isTakenForAnId(path, routes)) app.all(path, unmatched);
  }
  app.use(API_PREFIXES, unmatched);

  app.use(outsideTheApi(tools, secure));
  mountDocs(app, () =>
    openApiDocument({
      operations: routes.map(({ operation }) => operation),
      serverUrl: options.publicUrl,
      headerPrefix: options.headerPrefix,
      version: API_VERSION,
    }),
  );
  for (const mount of options.mounts ?? []) mount(app);

  app.use(nothingHere(tools));
  app.use(failed(tools, unmatched));
  return app;
}

function allRoutes(options: HttpAppOptions): Route[] {
  const session = createSessionPresenter(options);
  const refund = createRefundPresenter(options);
  return [
    ...sessionRoutes(options.api, session, { refund, timeline: options.timeline, webhooks: options.webhooks }),
    ...refundRoutes(options.api, refund, session),
    ...listRoutes(options.lists),
    ...(options.settings ? merchantRoutes(options.settings) : []),
    ...(options.timeline ? timelineRoutes(options.timeline) : []),
    ...(options.audit ? auditRoutes(options.audit) : []),
    ...(options.ledger ? ledgerRoutes(options.ledger) : []),
    ...(options.statements ? statementsRoutes(options.statements) : []),
    ...(options.webhooks ? webhookRoutes(options.webhooks) : []),
    ...(options.endpoints ? endpointRoutes(options.endpoints) : []),
    ...(options.changes ? changeRoutes(options.changes) : []),
    ...(options.requestLog ? requestRoutes(options.requestLog) : []),
    ...(options.sandbox ? sandboxRoutes(options.sandbox) : []),
  ];
}

/** Whether another route would take the last part of the path for an id, with its own methods. */
function isTakenForAnId(path: string, routes: readonly Route[]): boolean {
  if (path.includes('{')) return false;
  const parent = path.slice(0, path.lastIndexOf('/'));
  const onPath = routes.filter(({ operation }) => operation.path === path);
  return onPath.length === 1 && routes.some(({ operation }) => operation.path.replace(/\{\w+\}$/, '') === `${parent}/`);
}

function endpointTools(options: HttpAppOptions, responder: Responder): EndpointTools {
  return {
    authenticate: createAuthenticator(options.keys),
    readHeaders: createHeaderReader(options.headerPrefix),
    responder,
    nonces: options.nonces,
    rateLimiter: options.rateLimiter,
    limitAddress: createAddressLimit(options.addresses),
    keys: options.keys,
    clientAddress: options.addresses.clientAddress,
    clock: options.clock,
    nextRequestId: createRequestIds(),
    observer: options.observer,
    logger: options.logger,
    readOnly: options.readOnly ?? (() => null),
    requestLog: options.requestLog ?? null,
    positions: options.positions ?? null,
    takesOrderedErrors: options.sandbox !== undefined,
  };
}

/** What the API's own responses already have: HSTS, and a limit on callers without a key. */
function outsideTheApi(tools: EndpointTools, secure: boolean): RequestHandler {
  const [name, value] = HSTS as readonly [string, string];
  return (request, response, next) => {
    if (secure) response.setHeader(name, value);
    const refused = tools.limitAddress(request, tools.clock.nowMs());
    if (refused === null) return next();
    tools.observer.requestEnded(
      'limited',
      request.method,
      tools.responder.sendAndClose(request, response, tools.nextRequestId(), refused),
      0,
    );
  };
}

/** Outside the API nothing is signed, so an unknown path is a plain 404. */
function nothingHere(tools: EndpointTools): RequestHandler {
  return (request, response) => void tools.responder.sendAndClose(request, response, tools.nextRequestId(), NOT_FOUND);
}

/** A path that cannot be decoded has a malformed id and is treated as unknown; any other error is a bug of ours. */
function failed(tools: EndpointTools, unmatched: RequestHandler): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) return void response.destroy();
    const undecodable = error instanceof URIError;
    if (undecodable && API_PREFIXES.some((prefix) => request.path.startsWith(`${prefix}/`)))
      return unmatched(request, response, next);
    if (!undecodable) tools.logger.error({ err: error }, 'request failed outside the API');
    tools.responder.sendAndClose(
      request,
      response,
      tools.nextRequestId(),
      undecodable ? NOT_FOUND : answerToCrash(request.method, error),
    );
  };
}
