import express, { type Request, type Response, type Router } from 'express';
import type { SessionId } from '../domain/values/ids.ts';
import type { Network } from '../domain/networks/networks.ts';
import type { Outcome } from '../features/shared/merchant-api.ts';
import { sendCompressed } from './assets.ts';
import { html, type Html } from '../runtime/http/html.ts';
import { pageHeaders } from './page/headers.ts';
import { NETWORK_NAMES } from './page/input.ts';
import { headHtml } from './page/page.ts';

/** What a sandbox runs, for somebody who has just started it. */
export interface SandboxHome {
  readonly merchantId: string;
  readonly networks: readonly { readonly network: Network; readonly simulated: boolean }[];
  /** Networks that did not start, with the reason. */
  readonly unavailable: readonly { readonly network: Network; readonly reason: string }[];
  readonly inboxUrl: string;
  readonly statusUrl: string;
  /** Null where the console is switched off. */
  readonly consoleUrl: string | null;
  /** The file with base URL, key and secret of the demo shop. */
  readonly factsFile: string;
  /** Creates an order of the demo shop. */
  readonly order: () => Promise<Outcome<{ readonly sessionId: SessionId }>>;
}

/** `homeOf` is null while the sandbox still starts. */
export function sandboxHomeRoutes(homeOf: () => SandboxHome | null): Router {
  const router = express.Router();
  const headers = pageHeaders({ forms: true, frameAncestors: [] });
  const send = (request: Request, response: Response, status: number, page: Html): void => {
    response.status(status).set(headers).type('html');
    sendCompressed(request, response, page.text);
  };

  router.get('/', (request, response) => {
    const home = homeOf();
    if (home === null) send(request, response.set('Retry-After', '1'), 503, STARTING);
    else send(request, response, 200, renderHome(home, null));
  });

  router.post('/demo-order', async (request, response) => {
    const home = homeOf();
    if (home === null) return send(request, response.set('Retry-After', '1'), 503, STARTING);
    const made = await home.order();
    if (made.ok) response.set(headers).redirect(303, `/pay/${made.value.sessionId}`);
    else send(request, response, 503, renderHome(home, made.refusal.message));
  });
  return router;
}

function pageOf(title: string, body: Html): Html {
  return html`<!doctype html>
    <html lang="en" dir="ltr">
      <head>
        ${headHtml(title)}
      </head>
      <body>
        <header class="band">Sandbox: no real money can be paid here</header>
        <main class="receipt">${body}</main>
      </body>
    </html>`;
}

const STARTING = pageOf(
  'Quittance sandbox',
  html`<h1 class="headline">The sandbox is starting</h1>
    <p>Load this page again in a moment.</p>`,
);

function renderHome(home: SandboxHome, fault: string | null): Html {
  return pageOf(
    'Quittance sandbox',
    html`<h1 class="headline">Quittance sandbox</h1>
      <p>A payment service with local chains and a demo shop, all on this machine.</p>
      ${fault !== null && html`<p class="warning" role="alert">No order was made: ${fault}.</p>`}
      <form class="test-wallet" method="post" action="/demo-order"><button>Make a demo order</button></form>
      <p class="hint">
        Opens its payment page, where the test wallet pays. What the shop is told arrives in the webhook inbox.
      </p>
      <h2>Where to look</h2>
      <dl>
        ${entry(home.inboxUrl, 'Webhook inbox', 'what the demo shop was told, with the signature checked')}
        ${entry(`${home.statusUrl}/`, 'Status', 'chains, deliveries, look-ups and the event log')}
        ${home.consoleUrl !== null && entry(home.consoleUrl, 'Console', 'for the people who run the service; the start printed a link to sign in')}
        ${entry('/docs', 'API reference', 'every endpoint, with examples')}
        ${entry('/openapi.json', 'OpenAPI document', 'for generators and test tools')}
      </dl>
      <h2>What runs</h2>
      <dl>
        ${home.networks.map(({ network, simulated }) => fact(NETWORK_NAMES[network], simulated ? 'a stand-in for the chain' : 'a local chain'))}
        ${home.unavailable.map(({ network, reason }) => fact(NETWORK_NAMES[network], `did not start: ${reason}`))}
        ${fact('Demo shop', html`<code>${home.merchantId}</code>`)}
        ${fact('Addresses, API key and secret', html`<code>${home.factsFile}</code>`)}
      </dl>
      <h2>A first payment by the API</h2>
      <p>
        The README has the four lines of shell that sign a create with the demo shop’s key. From the repository, this
        does it all:
      </p>
      <p><code>npx quittance trigger exact</code></p>`,
  );
}

const entry = (href: string, name: string, what: string): Html =>
  html`<div>
    <dt><a href="${href}">${name}</a></dt>
    <dd>${what}</dd>
  </div>`;

const fact = (name: string, value: string | Html): Html =>
  html`<div>
    <dt>${name}</dt>
    <dd>${value}</dd>
  </div>`;
