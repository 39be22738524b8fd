import { hash } from 'node:crypto';
import type { Request, Response, Router } from 'express';
import { parsePaymentLinkId, type PaymentLinkId, type SessionId } from '../domain/values/ids.ts';
import type { Clock } from '../ports/clock.ts';
import { StoreUnavailable } from '../ports/event-log/event-store.ts';
import type { LocalRateLimiter } from '../ports/rate-limiter.ts';
import type { Random } from '../ports/random.ts';
import type { PayerLinks } from '../features/payment-links/payment-links.ts';
import { ConcurrencyExhausted } from '../runtime/commands/handler.ts';
import { addressGroup, type ClientAddress } from '../runtime/http/client-address.ts';
import { sendCompressed } from './assets.ts';
import { formField, readForm } from './form.ts';
import type { Language } from './languages.ts';
import { renderLinkPage, type LinkProblem } from './link-page.ts';
import { pageHeaders } from './page/headers.ts';
import { Speech } from './speech.ts';

export interface LinkPages {
  readonly api: PayerLinks;
  readonly clock: Clock;
  readonly random: Random;
  /** Per visitor and link, and per link: each new press creates a payment. */
  readonly limiter: { readonly visitors: LocalRateLimiter; readonly links: LocalRateLimiter };
  readonly clientAddress: ClientAddress;
  readonly sandbox: boolean;
}

interface Tools {
  readonly languageOf: (request: Request) => Language;
  readonly notFound: (request: Request, response: Response) => void;
}

interface Problem {
  readonly problem: LinkProblem;
  readonly retryAfterSec?: number;
}

const UNAVAILABLE: Problem = { problem: 'link_unavailable' };
const LIMITED: Problem = { problem: 'link_limited' };

type Shown = NonNullable<Awaited<ReturnType<PayerLinks['linkFor']>>>;

const MAX_BODY_BYTES = 1024;
const PRESS = /^[0-9a-f-]{36}$/;
const RETRY_AFTER_SEC = 60;
const STATUS: Readonly<Record<LinkProblem, number>> = { link_limited: 429, link_paused: 429, link_unavailable: 503 };

/** `/l/<id>`: every visitor may create one payment of their own. Viewing creates none. Works without a script. */
export function linkRoutes(router: Router, deps: LinkPages, { languageOf, notFound }: Tools): void {
  const headers = pageHeaders({ forms: true, frameAncestors: [] });

  const show = async (
    request: Request,
    response: Response,
    press: string,
    problem: LinkProblem | null,
    retryAfterSec = RETRY_AFTER_SEC,
  ): Promise<void> => {
    const id = linkIdOf(request);
    const shown = id && (await deps.api.linkFor(id));
    if (!shown) return notFound(request, response);
    // A link that creates no payments says why.
    const said = problem === 'link_unavailable' && shown.link.status !== 'on' ? null : problem;
    if (said) response.set('Retry-After', String(retryAfterSec));
    send(request, response, shown, press, said);
  };

  const send = (
    request: Request,
    response: Response,
    shown: Shown,
    press: string,
    problem: LinkProblem | null,
  ): void => {
    const speech = new Speech(languageOf(request));
    const isOver = shown.link.status === 'off' || shown.link.status === 'over' || shown.link.status === 'used_up';
    response.status(problem ? STATUS[problem] : isOver ? 410 : 200).set(headers);
    // Going back shows the page that was pressed, which leads to the same payment: a new page would create another.
    if (request.method === 'GET') response.set('Cache-Control', 'private, no-cache');
    response.set('Content-Language', speech.language.code).type('html').vary('Accept-Language');
    sendCompressed(request, response, renderLinkPage({ ...shown, speech, press, problem, sandbox: deps.sandbox }));
  };

  router.get('/l/:link', (request, response) => show(request, response, deps.random.uuid(), null));

  router.get('/l/:link/logo.png', async (request, response) => {
    const id = linkIdOf(request);
    const logo = id && (await deps.api.shopFor(id))?.logo;
    if (!logo) return notFound(request, response);
    response.set({ ...headers, 'Content-Type': 'image/png', 'Content-Length': String(logo.png.length) }).end(logo.png);
  });

  /** Where the press leads, or why it fails. */
  const lead = async (id: PaymentLinkId, address: string, press: string): Promise<SessionId | Problem> => {
    const visitor = addressGroup(address);
    // Bound to the visitor, so that a shared page leads nobody to somebody else's payment.
    const own = hash('sha256', `${visitor} ${press}`, 'hex');
    const known = await deps.api.paymentOf(id, own);
    if (!known || known.sessionId) return known?.sessionId ?? UNAVAILABLE;
    const nowMs = deps.clock.nowMs();
    const { visitors, links } = deps.limiter;
    if (!visitors.take(`${visitor} ${id}`, nowMs).allowed || !links.take(id, nowMs).allowed) return LIMITED;
    const network = networkOf(id, address);
    const made = await deps.api.pay(id, { press: own, visitor: network }, `link_${deps.random.uuid()}`);
    if (made.ok) return made.value;
    if (made.refusal.code !== 'rate_limited') return UNAVAILABLE;
    return { problem: 'link_paused', retryAfterSec: await deps.api.waitSec(id, network) };
  };

  router.post('/l/:link', readForm(MAX_BODY_BYTES), async (request, response) => {
    const id = linkIdOf(request);
    if (!id) return notFound(request, response);
    const given = formField(request, 'press');
    const press = given !== undefined && PRESS.test(given) ? given : deps.random.uuid();
    // A page of another site must not create payments on behalf of its visitors.
    const site = request.get('Sec-Fetch-Site');
    if (site !== undefined && site !== 'same-origin' && site !== 'none') return show(request, response, press, null);
    const led = await lead(id, deps.clientAddress(request), press).catch(unavailable);
    if (typeof led !== 'string') return show(request, response, press, led.problem, led.retryAfterSec);
    response.set(headers).redirect(303, `/pay/${led}?lang=${languageOf(request).code}`);
  });
}

const linkIdOf = ({ params }: Request): PaymentLinkId | null => parsePaymentLinkId(String(params.link));

/** Twelve bits: enough to distinguish the visitors of one link, too few to find an address by trying them all. */
const networkOf = (id: PaymentLinkId, address: string): string =>
  hash('sha256', `${id} ${addressGroup(address, 48)}`, 'hex').slice(0, 3);

function unavailable(error: unknown): Problem {
  if (error instanceof StoreUnavailable || error instanceof ConcurrencyExhausted) return UNAVAILABLE;
  throw error;
}
