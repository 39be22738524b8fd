import { readFileSync } from 'node:fs';
import { hash } from 'node:crypto';
import express, { type Request, type Response, type Router } from 'express';
import QRCode from 'qrcode';
import type { PaymentOption } from '../domain/events/session-events.ts';
import { parseSessionId, type SessionId } from '../domain/ids.ts';
import type { Network, NetworkSettings } from '../domain/networks.ts';
import { toSec, type Clock } from '../ports/clock.ts';
import type { PayerApi } from '../use-cases/merchant-api.ts';
import type { SessionView } from '../use-cases/views.ts';
import { deepLinks } from './deep-links.ts';
import { html } from './html.ts';
import { LivePages } from './live-pages.ts';
import { renderPage, statusBlock, type PageInput } from './page.ts';
import { pageStatus, type ConfirmationsOf } from './page-model.ts';

export interface CheckoutDeps {
  readonly api: PayerApi;
  readonly clock: Clock;
  readonly publicUrl: string;
  readonly settingsOf: (session: SessionView, network: Network) => NetworkSettings | undefined;
  readonly confirmationsOf: (session: SessionView) => ConfirmationsOf;
  /** Pays a session from the test wallet; null outside the sandbox. */
  readonly sandboxPay: ((id: SessionId, network: Network) => Promise<void>) | null;
}

/** No script but our own, no inline anything, no frame: an injected address would be theft (design; OWASP CSP). */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const PAGE_HEADERS = {
  'Content-Security-Policy': CONTENT_SECURITY_POLICY,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
  'Permissions-Policy': 'camera=(), microphone=(), geolocation=()',
  'Cross-Origin-Opener-Policy': 'same-origin',
};

const asset = (name: string, type: string) => ({ body: readFileSync(new URL(`assets/${name}`, import.meta.url)), type });

/** The payer's page under `/pay`. */
export function checkoutRoutes(deps: CheckoutDeps): Router {
  const router = express.Router();
  const assets = new Map([
    ['checkout.css', asset('checkout.css', 'text/css; charset=utf-8')],
    ['checkout.js', asset('checkout.js', 'text/javascript; charset=utf-8')],
  ]);
  const assetVersion = hash('sha256', Buffer.concat([...assets.values()].map((file) => file.body)), 'hex').slice(0, 12);
  const live = new LivePages();

  const found = async (request: Request, response: Response): Promise<SessionView | null> => {
    const id = parseSessionId(String(request.params.id));
    const session = id && (await deps.api.viewSession(id));
    if (!session) notFound(response);
    return session;
  };
  const input = (session: SessionView): PageInput => pageInput(deps, session, assetVersion);

  router.get('/pay/assets/:name', (request, response) => {
    const file = assets.get(String(request.params.name));
    if (!file) return notFound(response);
    response.set({ 'Content-Type': file.type, 'Cache-Control': 'public, max-age=31536000, immutable', 'X-Content-Type-Options': 'nosniff' });
    response.end(file.body);
  });

  router.get('/pay/:id', async (request, response) => {
    const session = await found(request, response);
    if (session) response.set(PAGE_HEADERS).type('html').send(renderPage(input(session)));
  });

  router.get('/pay/:id/status', async (request, response) => {
    const session = await found(request, response);
    if (session) response.set(PAGE_HEADERS).json(liveUpdate(input(session)));
  });

  router.get('/pay/:id/events', async (request, response) => {
    const session = await found(request, response);
    if (!session) return;
    const update = async () => {
      const view = await deps.api.viewSession(session.sessionId);
      return view && liveUpdate(input(view));
    };
    live.open(response, update, (listener) => deps.api.onChange(session.sessionId, listener));
  });

  router.get('/pay/:id/qr/:file', async (request, response) => {
    const session = await found(request, response);
    if (!session) return;
    const option = session.paymentOptions.find((candidate) => `${candidate.network}.svg` === request.params.file);
    if (!option) return notFound(response);
    const svg = await QRCode.toString(option.address, { type: 'svg', errorCorrectionLevel: 'M', margin: 4 });
    response.set({ ...PAGE_HEADERS, 'Content-Type': 'image/svg+xml; charset=utf-8' }).end(svg);
  });

  if (deps.sandboxPay) {
    const sandboxPay = deps.sandboxPay;
    router.post('/pay/:id/sandbox-pay', express.urlencoded({ extended: false, limit: 1024 }), async (request, response) => {
      const session = await found(request, response);
      if (!session) return;
      const network = session.paymentOptions.find((option) => option.network === (request.body as { network?: string }).network)?.network;
      if (network) await sandboxPay(session.sessionId, network);
      response.redirect(303, `/pay/${session.sessionId}`);
    });
  }
  return router;
}

function pageInput(deps: CheckoutDeps, session: SessionView, assetVersion: string): PageInput {
  const settings = new Map(session.paymentOptions.map((option) => [option.network, deps.settingsOf(session, option.network)]));
  const linksOf = (option: PaymentOption) =>
    deepLinks(option, session.dueAmount, { pageUrl: `${deps.publicUrl}/pay/${session.sessionId}`, mainNetwork: settings.get(option.network)?.mainNetwork ?? false });
  return {
    session,
    status: pageStatus(session, deps.confirmationsOf(session)),
    shop: deps.api.shopOf(session),
    linksOf,
    simulated: new Set(session.paymentOptions.map((option) => option.network).filter((network) => settings.get(network)?.simulated)),
    sandbox: deps.sandboxPay !== null && session.mode === 'test',
    testMode: session.mode === 'test',
    nowSec: toSec(deps.clock.nowMs()),
    assetVersion,
    explorerUrl: (network, txHash) => settings.get(network)?.explorerTransactionUrl?.replace('{hash}', txHash) ?? null,
  };
}

/** What the page replaces when something happened. The state tells the script to load the page anew when it differs. */
function liveUpdate(input: PageInput) {
  return { state: input.status.state, expires_at: input.status.expiresAtSec, html: statusBlock(input).text };
}

function notFound(response: Response): void {
  response.status(404).set(PAGE_HEADERS).type('html');
  response.send(html`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Not found</title></head><body><h1>No such payment</h1><p>Check the link, or go back to the shop.</p></body></html>`.text);
}
