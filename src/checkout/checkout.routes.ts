import express, { type Request, type Response, type Router } from 'express';
import type { PaymentOption } from '../domain/events/session-events.ts';
import { toSec } from '../ports/clock.ts';
import type { Encoded } from '../runtime/cryptography/encoded.ts';
import { inCoin } from '../features/shared/coin-choice.ts';
import { loadAssets, sendCompressed, sendEncoded } from './assets.ts';
import { formField, readForm } from './form.ts';
import { linkRoutes } from './link.routes.ts';
import { LivePages, type LiveUpdate } from './live-pages.ts';
import { pageTitle, pageVersion } from './page/page.ts';
import type { PageInput } from './page/input.ts';
import { paymentLink } from './page/payment.ts';
import { returnUrl } from './page/return-url.ts';
import { statusHtml, statusWords } from './page/status.ts';
import { qrSvg } from './qr.ts';
import { answerSolanaTransfer } from './solana-transfer.ts';
import { must } from '../domain/values/must.ts';
import { type CheckoutDeps, coinOf, createPages, type Finder, pageInput, type Pages } from './pages.ts';
import { failed, pageRoutes } from './page.routes.ts';

const SCRIPTS = ['checkout.js', 'wallets.js', 'embed.js'] as const;
const SCRIPT_TYPE = { 'Content-Type': 'text/javascript; charset=utf-8', 'X-Content-Type-Options': 'nosniff' };

/** The payment page under `/pay`. */
export function checkoutRoutes(deps: CheckoutDeps): Router {
  const router = express.Router();
  const assets = loadAssets(SCRIPTS);
  const pages = createPages(deps, assets.version);
  scriptRoutes(router, assets.files, pages);
  pageRoutes(router, pages);
  fileRoutes(router, pages);
  liveRoutes(router, pages);
  if (deps.links) linkRoutes(router, deps.links, pages);
  if (deps.sandboxPay) {
    router.post('/pay/:id/sandbox-pay', readForm(1024), testPayment(pages.found, deps.sandboxPay));
  }
  router.use(failed(pages));
  return router;
}

function scriptRoutes(router: Router, files: ReadonlyMap<string, Encoded>, { notFound }: Pages): void {
  router.get('/pay/assets/:name', (request, response) => {
    const file = files.get(String(request.params.name));
    if (!file) return notFound(request, response);
    response.set({ ...SCRIPT_TYPE, 'Cache-Control': 'public, max-age=31536000, immutable' });
    sendEncoded(request, response, file);
  });

  router.get('/pay/embed.js', (request, response) => {
    response.set({
      ...SCRIPT_TYPE,
      'Cache-Control': 'public, max-age=3600',
      'Cross-Origin-Resource-Policy': 'cross-origin',
    });
    sendEncoded(request, response, must(files.get('embed.js')));
  });
}

/** What the pages load or let the payer take along. */
function fileRoutes(router: Router, { deps, headers, found, notFound, inputOf }: Pages): void {
  router.get('/pay/:id/proof.json', async (request, response) => {
    const session = await found(request, response);
    if (!session) return;
    const proof = session.paidAtSec === null ? null : await deps.proofOf(session);
    if (proof === null) return notFound(request, response);
    response
      .set({ ...headers, 'Content-Disposition': `attachment; filename="proof-${session.sessionId}.json"` })
      .json(proof);
  });

  router.get('/pay/:id/logo.png', async (request, response) => {
    const session = await found(request, response);
    if (!session) return;
    const { logo } = deps.api.shopOf(session);
    if (logo === null) return notFound(request, response);
    response.set({ ...headers, 'Content-Type': 'image/png', 'Content-Length': String(logo.png.length) });
    // The URL includes the logo's version, so that a cached copy never goes stale.
    if (request.url.endsWith(`?${logo.version}`)) response.set('Cache-Control', 'private, max-age=31536000, immutable');
    response.end(logo.png);
  });

  router.get('/pay/:id/solana-transfer', async (request, response) => {
    const session = await found(request, response);
    if (!session) return;
    const transactions = deps.payerTransactions(session);
    await answerSolanaTransfer(request, response.set(headers), session, {
      transactions,
      nowSec: toSec(deps.clock.nowMs()),
    });
  });

  router.get('/pay/:id/qr/:file', async (request, response) => {
    const session = await found(request, response);
    if (!session) return;
    const text = codeText(inputOf(session, request), String(request.params.file));
    if (text === null) return notFound(request, response);
    response.set({ ...headers, 'Content-Type': 'image/svg+xml; charset=utf-8' });
    sendCompressed(request, response, qrSvg(text));
  });
}

function liveRoutes(router: Router, { deps, headers, version, found, languageOf, inputOf }: Pages): void {
  const live = new LivePages(() => deps.clock.nowMs());

  router.get('/pay/:id/status', async (request, response) => {
    const session = await found(request, response);
    if (session)
      response.set(headers).json({ now: deps.clock.nowMs(), page: liveUpdate(inputOf(session, request)).shown });
  });

  router.get('/pay/:id/events', async (request, response) => {
    const session = await found(request, response);
    if (!session) return;
    const id = session.sessionId;
    if (!live.hasRoom(id)) return void response.status(503).set(headers).set('Retry-After', '10').end();
    const language = languageOf(request);
    const coin = coinOf(request);
    const update = async (): Promise<LiveUpdate | null> => {
      const view = await deps.api.viewSession(id);
      return view && liveUpdate(pageInput(deps, inCoin(view, coin), { coin, language, version }));
    };
    live.open(response, { session: id, lastEventId: request.get('Last-Event-ID') ?? '' }, update, (listener) =>
      deps.api.onChange(id, listener),
    );
  });
}

/** The sandbox button: answers the script without a body, and a browser without script with the page again. */
function testPayment(found: Finder, pay: NonNullable<CheckoutDeps['sandboxPay']>) {
  return async (request: Request, response: Response): Promise<void> => {
    const session = await found(request, response);
    if (!session) return;
    const asked = formField(request, 'network');
    const network = session.paymentOptions.find((option) => option.network === asked)?.network;
    if (network) await pay(session.sessionId, network, session.dueCoin);
    if (request.get('Accept') === 'application/json') response.status(network ? 204 : 400).end();
    else response.redirect(303, `/pay/${session.sessionId}`);
  };
}

/** What the script shows; it reloads the rest of the page when `version` differs from its own. */
function liveUpdate(input: PageInput): LiveUpdate {
  const { state, headline, expiresAtSec, network, toSend, moving } = input.status;
  const words = statusWords(input);
  const shown = {
    state,
    tone: headline.tone,
    version: pageVersion(input),
    expires_at: expiresAtSec,
    headline: words.title,
    title: pageTitle(input, words),
    amount_due: toSend,
    network,
    html: statusHtml(input, words).text,
    return_url: returnUrl(input.session),
  };
  return { shown, moving };
}

/**
 * `<network>.svg` holds the address, `<network>-link.svg` the payment link for what is still to be sent; null once
 * nothing is to be sent.
 */
function codeText({ session, status, linksOf }: PageInput, file: string): string | null {
  const { toSend } = status;
  if (toSend === null) return null;
  const optionOf = (suffix: string): PaymentOption | undefined =>
    session.paymentOptions.find(({ network }) => `${network}${suffix}.svg` === file);
  const linkOption = optionOf('-link');
  return linkOption ? paymentLink(linksOf(linkOption, toSend)) : (optionOf('')?.address ?? null);
}
