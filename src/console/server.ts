import express, { type Express, type Request, type Response } from 'express';
import { randomUUID } from 'node:crypto';
import { CommandRefused } from '../operator/server/commands.ts';
import { parseMerchantId, type MerchantId } from '../domain/values/ids.ts';
import { toSec, type Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Random } from '../ports/random.ts';
import { loadAssets, sendCompressed, sendEncoded } from '../checkout/assets.ts';
import { html } from '../runtime/http/html.ts';
import { type OnceNumbers, type PasskeyProof, credentialIdIn } from '../features/people/passkeys.ts';
import type { People } from '../features/people/people.ts';
import { allows, type Action } from './access.ts';
import { csrfOf, headersOf, isCsrf, tokenIn, whyRefused, type ConsoleAddress } from './guard.ts';
import type { Language } from './languages.ts';
import { renderPage, type Frame } from './layout.ts';
import { failureOf, UNKNOWN_OUTCOME } from './failures.ts';
import type { LiveReaders } from './live.ts';
import { firstMode, inMode, isModeAsked, modeOfVisit } from './modes.ts';
import { formOf, languageOf, zoneOf } from './request-input.ts';
import { sendFile } from './send-file.ts';
import type { ConsoleSso } from './pages/people/sso.ts';
import { NOTICES } from './notices.ts';
import { backOf, isSigned, signaturesIn, signedTerms, signPage, type SignedTerms } from './step-up.ts';
import { outsideRoutes } from './pages/outside.ts';
import {
  NO_SUCH,
  Refused,
  type ChangeRoute,
  type ReadRoute,
  type ShownMerchant,
  type Shown,
  type Visit,
} from './visit.ts';
import type { PersonContext } from '../../state-machines/person/person.state.ts';
import { must } from '../domain/values/must.ts';
import { words } from './words.ts';

export interface ConsoleRoutes {
  readonly read: readonly ReadRoute[];
  readonly change: readonly ChangeRoute[];
}

export interface ConsoleServerDeps {
  readonly address: ConsoleAddress;
  readonly sandbox: boolean;
  readonly people: People;
  readonly numbers: OnceNumbers;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Null without single sign-on. */
  readonly sso: ConsoleSso | null;
  readonly merchants: () => readonly ShownMerchant[];
  readonly merchantOf: (id: MerchantId) => ShownMerchant | null;
  /** Why the service is read-only; null if it is not. */
  readonly readOnly: () => string | null;
  readonly routes: ConsoleRoutes;
  readonly live: LiveReaders;
  readonly languages: readonly Language[];
}

const ASSETS = ['console.css', 'keys.js', 'live.js', 'passkey.js', 'picture.js', 'verify.js'] as const;
/** The header of requests that a page makes by itself. */
const BY_PAGE = 'quittance-live';
/** For somebody who signed in with single sign-on. */
const NO_PASSKEY = words`This needs a signature by a passkey, and you have none yet. Ask an operator for a link to register one.`;
const MAX_FORM_BYTES = 256 * 1024;

/** The console as an express app. Every request passes the same checks before any page sees it. */
export function createConsoleApp(deps: ConsoleServerDeps): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag');
  app.set('query parser', false);
  const assets = loadAssets(ASSETS, new URL('assets/', import.meta.url));
  const known = new Set(deps.routes.read.map(({ path }) => path));
  const frame: Frame = { version: assets.version, sandbox: deps.sandbox, languages: deps.languages, known };
  const headers = headersOf(deps.address);
  app.use((request, response, next) => {
    response.set(headers);
    const refused = whyRefused(request, deps.address);
    if (refused === null) return next();
    response.status(refused.status).type('text').end(`${refused.why}\n`);
  });
  app.get('/assets/:name', (request, response) => {
    const file = assets.files.get(String(request.params.name));
    if (!file) return void response.status(404).end();
    response
      .type(String(request.params.name).endsWith('.css') ? 'css' : 'text/javascript')
      .set('Cache-Control', 'public, max-age=31536000, immutable');
    sendEncoded(request, response, file);
  });
  app.use(express.urlencoded({ extended: false, limit: MAX_FORM_BYTES, parameterLimit: 200 }));
  outsideRoutes(app, deps, frame);
  app.get('/live', (request, response) => listenTo(deps, request, response));
  const pipelineOf = new Pipeline(deps, frame);
  for (const route of deps.routes.read)
    app.get(route.path, (request, response) => pipelineOf.read(route, request, response));
  for (const route of deps.routes.change)
    app.post(route.path, (request, response) => pipelineOf.change(route, request, response));
  app.use((request: Request, response: Response) =>
    pipelineOf.read({ path: '', action: null, show: () => Promise.reject(NO_SUCH()) }, request, response),
  );
  app.use(
    (_error: unknown, _request: Request, response: Response, _next: unknown) =>
      void response.status(400).type('text').end('the request cannot be read\n'),
  );
  return app;
}

function listenTo(deps: ConsoleServerDeps, request: Request, response: Response): void {
  const reader = signedInAt(deps, request, 'page');
  if (!reader) return void response.status(401).end();
  deps.live.open(response, reader.person.personId, () => deps.people.personOf(reader.token, 'page') !== null);
}

/** The signed-in person of the request; null if there is none. */
function signedInAt(
  { people, address }: ConsoleServerDeps,
  { headers }: Request,
  by: Parameters<People['personOf']>[1],
) {
  const token = tokenIn(headers, address.origin);
  const person = token === null ? null : people.personOf(token, by);
  return token === null || person === null ? null : { token, person };
}

class Pipeline {
  readonly #deps: ConsoleServerDeps;
  readonly #frame: Frame;

  constructor(deps: ConsoleServerDeps, frame: Frame) {
    this.#deps = deps;
    this.#frame = frame;
  }

  async read(route: ReadRoute, request: Request, response: Response): Promise<void> {
    const visit = this.#enter(request, response);
    if (!visit) return;
    try {
      this.#admit(visit, route.action);
      await this.#send(visit, request, response, await route.show(visit));
    } catch (error) {
      await this.#fail(visit, request, response, error);
    }
  }

  async change(route: ChangeRoute, request: Request, response: Response): Promise<void> {
    const visit = this.#enter(request, response);
    if (!visit) return;
    const action = route.action ?? 'me';
    let signed: SignedTerms | null = null;
    try {
      if (!isCsrf(must(tokenIn(request.headers, this.#deps.address.origin)), visit.form['csrf']))
        throw new Refused(words`This form belongs to another sign-in. Reload the page.`, 403);
      this.#admit(visit, route.action);
      const readOnly = this.#deps.readOnly();
      if (readOnly !== null) throw new Refused(words`Nothing can be changed now: ${readOnly}`, 503);
      const toSign = (await route.toSign?.(visit)) ?? null;
      if (toSign) {
        const passkeys = this.#passkeysOf(visit);
        if (!isSigned(visit))
          return await this.#send(visit, request, response, {
            page: signPage(visit, toSign, this.#deps.numbers, {
              rpId: this.#deps.address.rpId,
              allowed: Object.keys(passkeys),
            }),
          });
        if (toSign.kind === 'terms') signed = await this.#signed(visit, toSign, passkeys);
      }
      const signatures = signed ? [signed.signature] : toSign ? signaturesIn(visit, toSign) : [];
      const { detail, shown } = await route.run(visit, signatures, toSign);
      await this.#record(visit, action, targetOf(route, visit), 'done', detail, signed);
      await this.#send(visit, request, response, shown);
    } catch (error) {
      if (isRefusal(error))
        await this.#record(visit, action, targetOf(route, visit), 'refused', error.message, signed).catch(
          (fault: unknown) => this.#report(fault),
        );
      await this.#fail(visit, request, response, error);
    }
  }

  /** Null if the response is already sent: people who are not signed in are sent to the sign-in page. */
  #enter(request: Request, response: Response): Visit | null {
    const { address, clock, merchants, merchantOf } = this.#deps;
    const isByPage = request.method === 'GET' && request.headers[BY_PAGE] !== undefined;
    const visitor = signedInAt(this.#deps, request, isByPage ? 'page' : 'person');
    if (!visitor) {
      if (isByPage) response.status(401).end();
      else if (request.method === 'GET' && request.path !== '/')
        response.redirect(303, `/sign-in?to=${encodeURIComponent(request.originalUrl)}`);
      else response.redirect(303, '/sign-in');
      return null;
    }
    const { token, person } = visitor;
    const params = Object.fromEntries(Object.entries(request.params).map(([name, value]) => [name, String(value)]));
    const url = new URL(request.originalUrl, address.origin);
    const merchantId = parseMerchantId(params['merchant'] ?? '');
    const merchant = merchantId === null ? null : merchantOf(merchantId);
    const place = { params, merchant, path: url.pathname, query: url.searchParams, form: formOf(request.body) };
    return {
      ...{ person, ...place, mode: modeOfVisit(place, firstMode(merchants())) },
      requestId: `con_${randomUUID()}`,
      csrf: csrfOf(token),
      zone: zoneOf(request),
      language: languageOf(request, this.#frame.languages),
      nowSec: toSec(clock.nowMs()),
      can: (action, of) => allows(person.grants, action, of ?? null),
    };
  }

  /** Refuses what does not exist and what is somebody else's in the same way. Throws `Refused`. */
  #admit(visit: Visit, action: Action | null): void {
    if (!isModeAsked(visit.query.get('mode'))) throw new Refused(words`mode must be live or test`);
    if (action === null) return;
    const isThere = visit.params['merchant'] === undefined || visit.merchant !== null;
    if (isThere && allows(visit.person.grants, action, visit.merchant?.id ?? null)) return;
    this.#deps.log.warn(
      { person: visit.person.personId, path: visit.path, action, request: visit.requestId },
      'a person requested a console page outside their scope',
    );
    throw NO_SUCH();
  }

  /** The person's passkeys by id. Throws `Refused` if there is none, or if another passkey signed the form. */
  #passkeysOf({ person, form }: Visit): PersonContext['passkeys'] {
    const passkeys = this.#deps.people.directory.find(person.personId)?.passkeys ?? {};
    const ids = Object.keys(passkeys);
    if (ids.length === 0) throw new Refused(NO_PASSKEY, 403);
    const signed = Object.entries(form).flatMap(([name, value]) =>
      name.startsWith('response-') ? [credentialIdIn(value)] : [],
    );
    if (signed.some((id) => id === null || !ids.includes(id)))
      throw new Refused(words`This passkey is not one of yours.`, 403);
    return passkeys;
  }

  async #signed(
    visit: Visit,
    toSign: Parameters<typeof signedTerms>[1],
    passkeys: PersonContext['passkeys'],
  ): Promise<SignedTerms> {
    const { numbers, address } = this.#deps;
    const credentialId = credentialIdIn(visit.form['response-0'] ?? '');
    const passkey = credentialId === null ? undefined : passkeys[credentialId];
    if (!passkey) throw new Refused(words`This passkey is not one of yours.`, 403);
    const { publicKey } = passkey.added;
    const known = { credentialId: passkey.added.credentialId, publicKey, signCount: passkey.signCount };
    return signedTerms(visit, toSign, { numbers, passkey: known, party: address });
  }

  /** After a change on a list's page, the list is shown in the same mode again. */
  #staysIn({ mode, form, query }: Visit, to: string): string {
    const isAsked = query.has('mode') || form['back']?.includes('mode=') === true;
    return isAsked && /^\/(?!m\/|books\/)/.test(to) && !to.includes('mode=') ? inMode(to, mode) : to;
  }

  #record(
    visit: Visit,
    action: string,
    target: string,
    outcome: 'done' | 'refused',
    detail: string,
    signed: SignedTerms | null,
  ): Promise<void> {
    const { people } = this.#deps;
    const proof: PasskeyProof | null = signed?.proof ?? null;
    const taken = {
      action,
      target,
      outcome,
      detail,
      reason: visit.form['reason'] ?? '',
      merchantId: visit.merchant?.id ?? null,
      signed: proof && { ...proof, termsHash: must(signed).termsHash },
    };
    return people.record(visit.person, taken, visit.requestId);
  }

  async #send(visit: Visit, request: Request, response: Response, shown: Shown): Promise<void> {
    if ('to' in shown) {
      if (shown.cookie !== undefined) response.append('Set-Cookie', shown.cookie);
      return response.redirect(303, this.#staysIn(visit, shown.to));
    }
    if ('file' in shown) return sendFile(response, shown.file);
    const notice = NOTICES.get(visit.query.get('done') ?? '') ?? null;
    const recovery = this.#deps.people.recoveryOf(visit.person.personId);
    response.status(shown.page.status ?? 200).type('html');
    sendCompressed(request, response, renderPage(this.#frame, visit, shown.page, { notice, recovery }));
  }

  async #fail(visit: Visit, request: Request, response: Response, error: unknown): Promise<void> {
    if (response.headersSent) return void response.destroy();
    const known = failureOf(error);
    if (known === null) this.#report(error);
    const { status, message } = known ?? UNKNOWN_OUTCOME;
    const isPost = request.method === 'POST';
    const refused = isPost ? words`Refused` : words`This cannot be shown`;
    const title = status === 404 ? words`Not found` : status >= 500 ? words`That did not work` : refused;
    const back = isPost ? backOf(visit) : '/';
    const body = html`<p class="problem" role="alert" ${typeof message === 'string' && html`lang="en" dir="ltr"`}>
        ${message}
      </p>
      <p><a href="${back}">${isPost ? words`Back` : words`To the first page`}</a></p>`;
    await this.#send(
      { ...visit, merchant: visit.merchant && visit.can('payments.read', visit.merchant.id) ? visit.merchant : null },
      request,
      response,
      { page: { title, body, status } },
    );
  }

  #report(error: unknown): void {
    this.#deps.log.error({ err: error }, 'a request to the console failed');
  }
}

/** A refused request may name something that does not exist; then the path is recorded. */
function targetOf(route: ChangeRoute, visit: Visit): string {
  try {
    return route.target(visit);
  } catch {
    return visit.path;
  }
}

const isRefusal = (error: unknown): error is Error => error instanceof Refused || error instanceof CommandRefused;
