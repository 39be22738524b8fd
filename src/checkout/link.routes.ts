import { hash } from 'node:crypto';
import type { Request, Response, Router } from 'express';
import { parsePaymentLinkId, type PaymentLinkId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';
import { StoreUnavailable } from '../ports/event-store.ts';
import type { LocalRateLimiter } from '../ports/rate-limiter.ts';
import type { Random } from '../ports/random.ts';
import type { PayerLinks } from '../features/payment-links/payment-links.ts';
import { addressGroup, type ClientAddress } from '../runtime/util/client-address.ts';
import { sendCompressed } from './assets.ts';
import { readForm } from './form.ts';
import type { Language } from './languages.ts';
import { renderLinkPage, type LinkProblem } from './link-page.ts';
import { pageHeaders } from './page-headers.ts';
import { Speech } from './speech.ts';

export interface LinkPages {
  readonly api: PayerLinks;
  readonly clock: Clock;
  readonly random: Random;
  /** By visitor and by link: each press makes a payment. */
  readonly limiter: { readonly visitors: LocalRateLimiter; readonly links: LocalRateLimiter };
  readonly clientAddress: ClientAddress;
  readonly sandbox: boolean;
}

interface Tools {
  readonly languageOf: (request: Request) => Language;
  readonly notFound: (request: Request, response: Response) => void;
}

type Found = NonNullable<Awaited<ReturnType<PayerLinks['linkFor']>>>;

const MAX_BODY_BYTES = 1024;
const PRESS = /^[0-9a-f-]{36}$/;
const RETRY_AFTER_SEC = 60;
const STATUS: Readonly<Record<LinkProblem, number>> = { claim_limited: 429, link_unavailable: 503 };

/** `/l/<id>`: whoever opens it may make one payment of their own. Looking makes none. Works without a script. */
export function linkRoutes(router: Router, deps: LinkPages, { languageOf, notFound }: Tools): void {
  const headers = pageHeaders({ forms: true, frameAncestors: [] });

  const found = async (request: Request, response: Response): Promise<(Found & { readonly id: PaymentLinkId }) | null> => {
    const id = parsePaymentLinkId(String(request.params.link));
    const link = id && (await deps.api.linkFor(id));
    if (!link) notFound(request, response);
    return link && { ...link, id: link.link.linkId };
  };

  const send = (request: Request, response: Response, shown: Found, press: string, problem: LinkProblem | null): void => {
    const speech = new Speech(languageOf(request));
    const isOver = shown.link.status === 'off' || shown.link.status === 'over' || shown.link.status === 'used_up';
    response.status(problem ? STATUS[problem] : isOver ? 410 : 200).set(headers);
    response.set('Content-Language', speech.language.code).type('html').vary('Accept-Language');
    sendCompressed(request, response, renderLinkPage({ ...shown, speech, press, problem, sandbox: deps.sandbox }));
  };

  router.get('/l/:link', async (request, response) => {
    const shown = await found(request, response);
    if (shown) send(request, response, shown, deps.random.uuid(), null);
  });

  router.get('/l/:link/logo.png', async (request, response) => {
    const shown = await found(request, response);
    if (!shown) return;
    const { logo } = shown.shop;
    if (logo === null) return notFound(request, response);
    response.set({ ...headers, 'Content-Type': 'image/png', 'Content-Length': String(logo.png.length) }).end(logo.png);
  });

  router.post('/l/:link', readForm(MAX_BODY_BYTES), async (request, response) => {
    const shown = await found(request, response);
    if (!shown) return;
    const given = (request.body as { press?: unknown } | undefined)?.press;
    const press = typeof given === 'string' && PRESS.test(given) ? given : deps.random.uuid();
    const refused = (problem: LinkProblem): void => send(request, response.set('Retry-After', String(RETRY_AFTER_SEC)), shown, press, problem);
    // The page of another site must not make payments in the name of whoever looks at it.
    const site = request.get('Sec-Fetch-Site');
    if (site !== undefined && site !== 'same-origin' && site !== 'none') return send(request, response, shown, press, null);
    const nowMs = deps.clock.nowMs();
    const visitor = addressGroup(deps.clientAddress(request));
    if (!deps.limiter.visitors.take(visitor, nowMs).allowed || !deps.limiter.links.take(shown.id, nowMs).allowed) return refused('claim_limited');
    // Bound to the visitor, so that nobody is led to the payment of somebody else by a page that was passed on.
    const own = hash('sha256', `${visitor} ${press}`, 'hex');
    const made = await deps.api.pay(shown.id, own, `link_${deps.random.uuid()}`).catch(unavailable);
    if (made?.ok) return response.set(headers).redirect(303, `/pay/${made.value}?lang=${languageOf(request).code}`);
    const after = await deps.api.linkFor(shown.id);
    if (after && after.link.status !== 'on') return send(request, response, after, press, null);
    return refused('link_unavailable');
  });
}

function unavailable(error: unknown): null {
  if (error instanceof StoreUnavailable) return null;
  throw error;
}
