import { createHmac } from 'node:crypto';
import type { Express, Request, Response } from 'express';
import { html, type Html } from '../../../runtime/http/html.ts';
import { namedBy, type ClaimRules } from '../../../features/people/claims.ts';
import { ABSOLUTE_SEC, type People } from '../../../features/people/people.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import type { Random } from '../../../ports/random.ts';
import type { SignInRequest, SingleSignOn } from '../../../ports/people/single-sign-on.ts';
import { words, type Words } from '../../words.ts';
import { cookie, cookieFor, cookieIn, cookieName, pathOf, type ConsoleAddress } from '../../guard.ts';

/** The provider and the role rules of single sign-on. */
export interface ConsoleSso {
  readonly provider: SingleSignOn;
  readonly rules: ClaimRules;
}

export interface SsoDeps {
  readonly address: ConsoleAddress;
  readonly people: People;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: Random;
}

export const SSO_CALLBACK = '/sign-in/sso/callback';
const VALID_SEC = 600;

const backTo = (path: string, text: Words): Html => html`<p><a href="${path}">${text}</a></p>`;

type Answer = (
  request: Request,
  response: Response,
  page: { readonly title: Words; readonly body: Html; readonly to?: string },
  status: number,
) => void;

const NO_ANSWER = words`Single sign-on is not responding. Try again in a moment, or sign in with a passkey.`;
/** Longest path to continue to after the sign-in, in characters: the cookie that holds it may have 4,096 bytes. */
const LONGEST_PATH = 1_500;

/**
 * The redirect to the provider and the way back. The process stores nothing in between: state, nonce and verifier are
 * derived from the browser's cookie and a key of this process.
 */
export function ssoRoutes(app: Express, deps: SsoDeps, { provider, rules }: ConsoleSso, answer: Answer): void {
  const { address, people, log, clock, random } = deps;
  const key = random.bytes(32);
  const derived = (seed: string, what: string): string =>
    createHmac('sha256', key).update(`${what}:${seed}`).digest('base64url');
  const requestOf = (seed: string): SignInRequest => ({
    state: derived(seed, 'state'),
    nonce: derived(seed, 'nonce'),
    codeVerifier: derived(seed, 'verifier'),
  });
  const refuse = (request: Request, response: Response, why: unknown, problem: Words, status = 403): void => {
    log.warn({ why: why instanceof Error ? why.message : why }, 'a single sign-on to the console was refused');
    answer(
      request,
      response,
      {
        title: words`Not signed in`,
        body: html`<p class="problem" role="alert">${problem}</p>
          ${backTo('/sign-in', words`Sign in`)}`,
      },
      status,
    );
  };

  app.get('/sign-in/sso', async (request, response) => {
    const seed = `${clock.nowMs() + VALID_SEC * 1000}-${Buffer.from(random.bytes(16)).toString('base64url')}`;
    const to = pathOf(new URL(request.originalUrl, address.origin).searchParams.get('to'));
    try {
      const url = await provider.authorizationUrl(requestOf(seed));
      const kept = Buffer.from(to.length > LONGEST_PATH ? '/' : to).toString('base64url');
      response.append('Set-Cookie', ssoCookie(address, `${seed}.${kept}`, VALID_SEC));
      response.redirect(303, url.href);
    } catch (error) {
      refuse(request, response, error, NO_ANSWER, 503);
    }
  });

  app.get(SSO_CALLBACK, async (request, response) => {
    response.append('Set-Cookie', ssoCookie(address, '', 0));
    const [seed = '', to = ''] =
      cookieIn(request.headers, ssoCookieName(address), /^\d+-[\w-]{22}\.[\w-]{0,2000}$/)?.split('.') ?? [];
    if (Number(seed.split('-')[0]) <= clock.nowMs())
      return refuse(request, response, 'no request of this browser', words`That took too long. Try again.`);
    try {
      const query = new URL(request.originalUrl, address.origin).searchParams;
      const named = namedBy(await provider.redeem(query, requestOf(seed)), rules);
      if (!named.ok)
        return refuse(
          request,
          response,
          named.why,
          words`Single sign-on accepted you, but the console did not: ${named.why}.`,
        );
      const done = await people.signInBySso(named.value, request.headers['user-agent'] ?? '');
      if (!done.ok)
        return refuse(
          request,
          response,
          done.refusal.message,
          words`Single sign-on accepted you, but the console did not: ${done.refusal.message}.`,
        );
      response.append('Set-Cookie', cookieFor(address.origin, done.value.token, ABSOLUTE_SEC));
      const path = pathOf(Buffer.from(to, 'base64url').toString());
      // Not a redirect: the cookie is `SameSite=Strict`, and browsers do not send it in a navigation that another site
      // began.
      answer(request, response, { title: words`Signed in`, body: backTo(path, words`Continue`), to: path }, 200);
    } catch (error) {
      refuse(request, response, error, words`The answer from single sign-on is not valid. Try again.`);
    }
  });
}

const ssoCookieName = ({ origin }: ConsoleAddress): string => `${cookieName(origin)}-sso`;

/** `Lax`, since the browser has to send it when the provider redirects back. */
const ssoCookie = (address: ConsoleAddress, value: string, maxAgeSec: number): string =>
  cookie(address.origin, ssoCookieName(address), value, maxAgeSec, 'Lax');
