import { type ErrorRequestHandler, type Request, type Response, type Router } from 'express';
import { toSec } from '../ports/clock.ts';
import type { SessionView } from '../features/shared/views.ts';
import { sendCompressed } from './assets.ts';
import { renderHelp } from './help.ts';
import { renderFallback, renderUnavailable } from './page/fallback.ts';
import { pageHeaders } from './page/headers.ts';
import { renderPage } from './page/page.ts';
import type { PageInput } from './page/input.ts';
import { renderReceipt } from './receipt.ts';
import { Speech } from './speech.ts';
import { type Pages } from './pages.ts';

/** The pages that a payer reads. */
export function pageRoutes(router: Router, { deps, headers, found, notFound, languageOf, inputOf }: Pages): void {
  /** A page that cannot be drawn gives way to one that still says what to pay and where. */
  const send = async (
    request: Request,
    response: Response,
    session: SessionView,
    draw: (input: PageInput) => string | Promise<string>,
  ): Promise<void> => {
    const language = languageOf(request);
    let page: string;
    try {
      page = await draw(inputOf(session, request));
    } catch (error) {
      deps.log.error({ err: error, sessionId: session.sessionId }, 'a page of a payment could not be drawn');
      page = renderFallback(session, toSec(deps.clock.nowMs()), new Speech(language));
    }
    response.set('Content-Language', language.code).type('html').vary('Accept-Language');
    sendCompressed(request, response, page);
  };

  router.get('/pay/:id', async (request, response) => {
    const session = await found(request, response);
    if (session) await send(request, response.set(headers), session, renderPage);
  });

  router.get('/pay/:id/receipt', async (request, response) => {
    const session = await found(request, response);
    if (!session) return;
    await send(request, response.set(headers), session, async (input) =>
      renderReceipt(input, session.paidAtSec !== null && (await deps.proofOf(session)) !== null),
    );
  });

  router.get('/pay/:id/help', async (request, response) => {
    const session = await found(request, response);
    if (!session) return;
    await send(request, response.set(headers), session, async (input) =>
      renderHelp(input, await deps.recordOf(session)),
    );
  });

  router.get('/pay/:id/embed', async (request, response) => {
    const session = await found(request, response);
    if (!session) return;
    const origin = registeredOrigin(request.query.origin, deps.hostsOf(session), session.mode === 'test');
    if (origin === null) return notFound(request, response);
    response.set(pageHeaders({ forms: deps.sandboxPay !== null, frameAncestors: [origin] }));
    await send(request, response, session, (input) => renderPage({ ...input, embeddedBy: origin }));
  });
}

const RETRY_AFTER_SEC = 15;

/** Whatever failed, a payer never sees the error of an API. An id that cannot be decoded is unknown. */
export function failed({ deps, headers, languageOf, notFound }: Pages): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) return next(error);
    if (error instanceof URIError) return notFound(request, response);
    deps.log.error({ err: error }, 'a request of a payer failed');
    response.status(503).set(headers).set('Retry-After', String(RETRY_AFTER_SEC)).type('html').vary('Accept-Language');
    sendCompressed(request, response, renderUnavailable(new Speech(languageOf(request))));
  };
}

/**
 * The requesting shop's origin if its merchant registered it (https; plain http for localhost in test mode), else null.
 */
function registeredOrigin(asked: unknown, hosts: readonly string[], testMode: boolean): string | null {
  if (typeof asked !== 'string' || !URL.canParse(asked)) return null;
  const { origin, protocol, host, hostname } = new URL(asked);
  const local = testMode && protocol === 'http:' && (hostname === 'localhost' || hostname === '127.0.0.1');
  const known = hosts.includes(host) || (local && hosts.includes(hostname));
  return origin === asked && known && (protocol === 'https:' || local) ? origin : null;
}
