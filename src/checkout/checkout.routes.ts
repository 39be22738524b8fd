import express, { type ErrorRequestHandler, type Request, type Response, type Router } from 'express';
import type { PaymentOption } from '../domain/events/session-events.ts';
import { parseSessionId, type SessionId } from '../domain/values/ids.ts';
import { isCoin, type Coin } from '../domain/money/money.ts';
import {
  usualFinalityOf,
  type Network,
  type NetworkSettings,
  type UsualFinality,
} from '../domain/networks/networks.ts';
import { toSec, type Clock } from '../ports/clock.ts';
import type { Encoded } from '../runtime/cryptography/encoded.ts';
import type { PayerTransactions } from '../ports/chain/payer-transactions.ts';
import { inCoin } from '../features/shared/coin-choice.ts';
import type { PayerApi } from '../features/shared/merchant-api.ts';
import type { SessionView } from '../features/shared/views.ts';
import type { Timeline } from '../features/sessions/timeline/types.ts';
import { loadAssets, sendCompressed, sendEncoded } from './assets.ts';
import { deepLinks } from './deep-links.ts';
import { chooseLanguage, type Language } from './languages.ts';
import { formField, readForm } from './form.ts';
import { renderHelp } from './help.ts';
import { linkRoutes, type LinkPages } from './link.routes.ts';
import { LivePages, type LiveUpdate } from './live-pages.ts';
import { renderFallback, renderUnavailable } from './page/fallback.ts';
import { pageHeaders } from './page/headers.ts';
import { notFoundPage, pageTitle, pageVersion, renderPage } from './page/page.ts';
import type { PageInput } from './page/input.ts';
import { pageStatus, type PageFacts } from './page/model.ts';
import { paymentLink } from './page/payment.ts';
import { statusHtml, statusWords } from './page/status.ts';
import { qrSvg } from './qr.ts';
import { renderReceipt } from './receipt.ts';
import { answerSolanaTransfer } from './solana-transfer.ts';
import { Speech } from './speech.ts';
import { must } from '../domain/values/must.ts';

export interface CheckoutDeps {
  readonly api: PayerApi;
  readonly log: { error(context: object, message: string): void };
  readonly clock: Clock;
  readonly publicUrl: string;
  readonly settingsOf: (session: SessionView, network: Network) => NetworkSettings | undefined;
  readonly chainsOf: (session: SessionView) => Pick<PageFacts, 'confirmationsOf' | 'outageSince'>;
  /** Hosts that the merchant registered: only their pages may frame the payment page. */
  readonly hostsOf: (session: SessionView) => readonly string[];
  /** Null where the session's mode has no Solana. */
  readonly payerTransactions: (session: SessionView) => PayerTransactions | null;
  /**
   * Proof that the payment is in the event log, for whoever has the session's id; null before a checkpoint covers it.
   */
  readonly proofOf: (session: SessionView) => Promise<object | null>;
  /** Observations and decisions, in order; null while the event log cannot be read. */
  readonly recordOf: (session: SessionView) => Promise<Timeline | null>;
  /** Pays a session from the test wallet; null outside the sandbox. */
  readonly sandboxPay: ((id: SessionId, network: Network, coin: Coin) => Promise<void>) | null;
  /** Payment links; null where there are none. */
  readonly links: LinkPages | null;
}

const SCRIPTS = ['checkout.js', 'wallets.js', 'embed.js'] as const;
const SCRIPT_TYPE = { 'Content-Type': 'text/javascript; charset=utf-8', 'X-Content-Type-Options': 'nosniff' };

/** Shared by the routes. */
interface Pages {
  readonly deps: CheckoutDeps;
  readonly headers: Readonly<Record<string, string>>;
  readonly version: string;
  readonly languageOf: (request: Request) => Language;
  readonly notFound: (request: Request, response: Response) => void;
  /** Finds the session of the path; sends the answer itself when there is none. */
  readonly found: Finder;
  readonly inputOf: (session: SessionView, request: Request) => PageInput;
}

type Finder = (request: Request, response: Response) => Promise<SessionView | null>;

/** The coin that the payer has selected. */
function coinOf({ query: { coin } }: Request): Coin | null {
  const name = typeof coin === 'string' ? coin.toUpperCase() : '';
  return isCoin(name) ? name : null;
}

/** The payment page under `/pay`. */
export function checkoutRoutes(deps: CheckoutDeps): Router {
  const router = express.Router();
  const assets = loadAssets(SCRIPTS);
  const pages = createPages(deps, assets.version);
  scriptRoutes(router, assets.files, pages);
  pageRoutes(router, pages);
  liveRoutes(router, pages);
  if (deps.links) linkRoutes(router, deps.links, pages);
  if (deps.sandboxPay) {
    router.post('/pay/:id/sandbox-pay', readForm(1024), testPayment(pages.found, deps.sandboxPay));
  }
  router.use(failed(pages));
  return router;
}

const RETRY_AFTER_SEC = 15;

/** Whatever failed, a payer never sees the error of an API. An id that cannot be decoded is unknown. */
function failed({ deps, headers, languageOf, notFound }: Pages): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) return next(error);
    if (error instanceof URIError) return notFound(request, response);
    deps.log.error({ err: error }, 'a request of a payer failed');
    response.status(503).set(headers).set('Retry-After', String(RETRY_AFTER_SEC)).type('html').vary('Accept-Language');
    sendCompressed(request, response, renderUnavailable(new Speech(languageOf(request))));
  };
}

function createPages(deps: CheckoutDeps, version: string): Pages {
  const headers = pageHeaders({ forms: deps.sandboxPay !== null, frameAncestors: [] });
  const languageOf = (request: Request): Language =>
    chooseLanguage(request.query.lang, request.headers['accept-language']);
  const notFound = (request: Request, response: Response): void => {
    response.status(404).set(headers).type('html').vary('Accept-Language');
    sendCompressed(request, response, notFoundPage(new Speech(languageOf(request))));
  };
  const found: Finder = async (request, response) => {
    const id = parseSessionId(String(request.params.id));
    const session = id && (await deps.api.viewSession(id));
    if (!session) notFound(request, response);
    return session && inCoin(session, coinOf(request));
  };
  return {
    deps,
    headers,
    version,
    languageOf,
    notFound,
    found,
    inputOf: (session, request) =>
      pageInput(deps, session, { coin: coinOf(request), language: languageOf(request), version }),
  };
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

function pageRoutes(router: Router, { deps, headers, found, notFound, languageOf, inputOf }: Pages): void {
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

  router.get('/pay/:id/proof.json', async (request, response) => {
    const session = await found(request, response);
    if (!session) return;
    const proof = session.paidAtSec === null ? null : await deps.proofOf(session);
    if (proof === null) return notFound(request, response);
    response
      .set({ ...headers, 'Content-Disposition': `attachment; filename="proof-${session.sessionId}.json"` })
      .json(proof);
  });

  router.get('/pay/:id/embed', async (request, response) => {
    const session = await found(request, response);
    if (!session) return;
    const origin = registeredOrigin(request.query.origin, deps.hostsOf(session), session.mode === 'test');
    if (origin === null) return notFound(request, response);
    response.set(pageHeaders({ forms: deps.sandboxPay !== null, frameAncestors: [origin] }));
    await send(request, response, session, (input) => renderPage({ ...input, embeddedBy: origin }));
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

/** Choices in the page's URL, other than the session. */
interface Asked {
  readonly coin: Coin | null;
  readonly language: Language;
  readonly version: string;
}

function pageInput(deps: CheckoutDeps, session: SessionView, { coin, language, version }: Asked): PageInput {
  const networks = session.paymentOptions.map(({ network }) => network);
  const settings = new Map(networks.map((network) => [network, deps.settingsOf(session, network)]));
  const nowMs = deps.clock.nowMs();
  const pageUrl = `${deps.publicUrl}/pay/${session.sessionId}${session.alternative ? `?coin=${session.dueCoin}` : ''}`;
  const finalityOf = (network: Network): UsualFinality => usualFinalityOf(network, settings.get(network));
  const newAttempt = session.supersededBy;
  const shop = deps.api.shopOf(session);
  return {
    session,
    coin,
    status: pageStatus(session, {
      ...deps.chainsOf(session),
      finalityOf,
      newAttempt,
      nowSec: toSec(nowMs),
    }),
    speech: new Speech(language),
    shop,
    finalityOf,
    newAttempt,
    linksOf: (option, amount) =>
      deepLinks(option, amount, { pageUrl, mainNetwork: settings.get(option.network)?.mainNetwork ?? false }),
    simulated: new Set(networks.filter((network) => settings.get(network)?.simulated)),
    sandbox: deps.sandboxPay !== null && session.mode === 'test',
    testMode: session.mode === 'test',
    nowMs,
    embeddedBy: null,
    asset: (name) => `/pay/assets/${name}?${version}`,
    explorerUrl: (network, txHash) => settings.get(network)?.explorerTransactionUrl?.replace('{hash}', txHash) ?? null,
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
  };
  return { shown, moving };
}

/** `<network>.svg` holds the address, `<network>-link.svg` the payment link for what is still to be sent. */
function codeText(input: PageInput, file: string): string | null {
  const { session, status } = input;
  const optionOf = (suffix: string): PaymentOption | undefined =>
    session.paymentOptions.find(({ network }) => `${network}${suffix}.svg` === file);
  const addressOption = optionOf('');
  if (addressOption) return addressOption.address;
  const linkOption = optionOf('-link');
  return linkOption && status.toSend !== null ? paymentLink(input.linksOf(linkOption, status.toSend)) : null;
}
