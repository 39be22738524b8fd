import type { Express, Request, Response } from 'express';
import { sendCompressed } from '../../checkout/assets.ts';
import { html } from '../../runtime/http/html.ts';
import {
  credentialIdIn,
  provenRegistration,
  provenSignature,
  type OnceNumbers,
} from '../../features/people/passkeys.ts';
import { ABSOLUTE_SEC } from '../../features/people/people.ts';
import type { PersonContext } from '../../../state-machines/person/person.state.ts';
import { cookieFor, pathOf, tokenIn } from '../guard.ts';
import { renderOutside, type Frame } from '../layout.ts';
import { isZone } from '../parts.ts';
import { PASSKEY_PROBLEMS } from '../step-up.ts';
import { formOf, languageOf, ZONE_COOKIE } from '../request-input.ts';
import { grantText } from '../../operator/people/people.ts';
import { ssoRoutes, type ConsoleSso, type SsoDeps } from './people/sso.ts';
import { must } from '../../domain/values/must.ts';
import { words, type Words } from '../words.ts';

interface OutsideDeps extends SsoDeps {
  readonly numbers: OnceNumbers;
  /** Null without single sign-on. */
  readonly sso: ConsoleSso | null;
}

const SIGN_IN = 'Sign in to the Quittance console';
const REGISTER = 'Register a passkey for the Quittance console';

/** The pages for people who are not signed in: the sign-in page and the page of an invitation link. */
export function outsideRoutes(app: Express, deps: OutsideDeps, frame: Frame): void {
  app.get('/sign-in', (request, response) => showSignIn(deps, frame, request, response, null));
  app.post('/sign-in', (request, response) => signIn(deps, frame, request, response));
  app.get('/join/:token', (request, response) => showJoin(deps, frame, request, response, null));
  app.post('/join/:token', (request, response) => join(deps, frame, request, response));
  if (deps.sso)
    ssoRoutes(app, deps, deps.sso, (request, response, page, status) => {
      response.status(status).type('html');
      sendCompressed(request, response, renderOutside(frame, languageOf(request, frame.languages), page));
    });
}

const textOf = (title: string, number: string): string => `${title}\nnumber: ${number}`;
const fieldOf = (request: Request, name: string): string => formOf(request.body)[name] ?? '';
const NO_SCRIPT = html`<noscript
  ><p class="problem">${words`Passkeys need JavaScript. Nothing else here does. Allow it for this page.`}</p></noscript
>`;

function showSignIn(
  { address, numbers, sso }: OutsideDeps,
  frame: Frame,
  request: Request,
  response: Response,
  problem: Words | string | null,
): void {
  const number = numbers.give(SIGN_IN);
  const to = pathOf(fieldOf(request, 'to') || new URL(request.originalUrl, address.origin).searchParams.get('to'));
  const body = html`<p>${words`Use your passkey. There are no passwords here.`}</p>
    <form method="post" action="/sign-in" data-sign data-words="${PASSKEY_PROBLEMS}" data-rp="${address.rpId}">
      <input type="hidden" name="to" value="${to}" />
      <input type="hidden" name="zone" value="" />
      <pre class="unseen" data-text translate="no" aria-hidden="true">${textOf(SIGN_IN, number)}</pre>
      <input type="hidden" name="number" value="${number}" />
      <input type="hidden" name="response-0" value="" />
      <p><button class="button">${words`Sign in with a passkey`}</button></p>
      <p class="problem" role="alert" ${problem === null && html`hidden`}>${problem}</p>
    </form>
    ${NO_SCRIPT}
    ${sso && html`<p>${words`Or ${html`<a href="/sign-in/sso?to=${encodeURIComponent(to)}">${words`sign in with single sign-on`}</a>`}. Signing still takes a passkey.`}</p>`}
    <p>
      <small
        >${words`You need an invitation first. An operator creates one, or whoever runs the service does with
        ${html`<code>quittance people invite</code>`}.`}</small
      >
    </p>`;
  answer(request, response, frame, words`Sign in`, body, problem === null ? 200 : 403);
}

async function signIn(deps: OutsideDeps, frame: Frame, request: Request, response: Response): Promise<void> {
  const { address, people, numbers, log } = deps;
  const number = fieldOf(request, 'number');
  const json = fieldOf(request, 'response-0');
  const refuse = (why: string, problem: Words = words`This passkey is not registered here.`): void => {
    log.warn({ why }, 'a sign-in to the console was refused');
    showSignIn(deps, frame, request, response, problem);
  };
  if (!numbers.isGood(SIGN_IN, number)) return refuse('number', words`That took too long. Try again.`);
  const credentialId = credentialIdIn(json);
  await people.directory.catchUp();
  const personId = credentialId === null ? null : people.directory.byCredential(credentialId);
  const passkey = personId === null ? undefined : people.directory.find(personId)?.passkeys[must(credentialId)];
  if (personId === null || !passkey) return refuse('unknown passkey');
  const known = {
    credentialId: passkey.added.credentialId,
    publicKey: passkey.added.publicKey,
    signCount: passkey.signCount,
  };
  const proven = await provenSignature(address, known, textOf(SIGN_IN, number), json);
  if (!proven.ok) return refuse(proven.why);
  if (!numbers.use(number)) return refuse('used number');
  await enter(deps, request, response, personId, proven.value, pathOf(fieldOf(request, 'to')), refuse);
}

async function enter(
  { people, address }: OutsideDeps,
  request: Request,
  response: Response,
  personId: string,
  proof: { credentialId: string; signCount: number },
  to: string,
  refuse: (why: string) => void,
): Promise<void> {
  const done = await people.signIn(personId, proof, request.headers['user-agent'] ?? '');
  if (!done.ok) return refuse(done.refusal.message);
  const zone = fieldOf(request, 'zone');
  const cookies = [cookieFor(address.origin, done.value.token, ABSOLUTE_SEC)];
  if (zone !== '' && isZone(zone)) cookies.push(zoneCookie(zone));
  response.append('Set-Cookie', cookies);
  response.redirect(303, to);
}

export const zoneCookie = (zone: string): string =>
  `${ZONE_COOKIE}=${encodeURIComponent(zone)}; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000`;

async function showJoin(
  deps: OutsideDeps,
  frame: Frame,
  request: Request,
  response: Response,
  problem: Words | string | null,
): Promise<void> {
  const { people, numbers, address } = deps;
  const token = String(request.params.token);
  const person = await people.personOfLink(token);
  if (!person?.invited) {
    const gone = html`<p>
        ${words`This link was already used, was replaced or has expired. Ask the person who sent it for a new one.`}
      </p>
      <p><a href="/sign-in">${words`Sign in`}</a></p>`;
    return answer(request, response, frame, words`This link no longer works`, gone, 404);
  }
  const { personId, name } = person.invited;
  if (!mayUseLink(deps, request, person)) return answer(request, response, frame, words`Sign in first`, SSO_FIRST, 403);
  const number = numbers.give(purposeOf(personId));
  const body = html`<p>${words`You are ${html`<b>${name}</b>`}, with these roles:`}</p>
    <ul>
      ${person.grants.map((grant) => html`<li>${grantText(grant)}</li>`)}
    </ul>
    <p>
      ${words`A passkey stays on your device or key and asks for your fingerprint, face or PIN. Register a second one later, so
      that losing one does not lock you out.`}
    </p>
    <form
      method="post"
      action="/join/${token}"
      class="form"
      data-register
      data-words="${PASSKEY_PROBLEMS}"
      data-rp="${address.rpId}"
      data-user="${personId}"
      data-name="${name}"
      data-known="${Object.keys(person.passkeys).join(' ')}"
    >
      <p class="field">
        <label for="label">${words`Name of this passkey`}</label
        ><input
          id="label"
          name="label"
          value="Passkey ${Object.keys(person.passkeys).length + 1}"
          maxlength="60"
          autocomplete="off"
          required
        />
      </p>
      <input type="hidden" name="zone" value="" />
      <pre class="unseen" data-text translate="no" aria-hidden="true">${textOf(REGISTER, number)}</pre>
      <input type="hidden" name="number" value="${number}" />
      <input type="hidden" name="response-0" value="" />
      <p><button class="button">${words`Register a passkey`}</button></p>
      <p class="problem" role="alert" ${problem === null && html`hidden`}>${problem}</p>
    </form>
    ${NO_SCRIPT}`;
  answer(request, response, frame, words`Welcome`, body, problem === null ? 200 : 400);
}

const SSO_FIRST = html`<p>
    ${words`This link is for somebody who signs in with single sign-on. ${html`<a href="/sign-in/sso">${words`Sign in there`}</a>`}, then paste the
    link into the address bar of the same browser.`}
  </p>
  <p>${words`This way, neither the link nor the sign-in alone is enough to register a passkey for you.`}</p>`;

/**
 * A person of single sign-on needs both a sign-in there and the link to register a passkey, so that neither an operator
 * nor the provider alone can create an approver.
 */
function mayUseLink({ people, address }: OutsideDeps, request: Request, { identity, invited }: PersonContext): boolean {
  const token = identity === null ? null : tokenIn(request.headers, address.origin);
  return identity === null || (token !== null && people.personOf(token)?.personId === invited?.personId);
}

const purposeOf = (personId: string): string => `${REGISTER} ${personId}`;

async function join(deps: OutsideDeps, frame: Frame, request: Request, response: Response): Promise<void> {
  const { people, numbers, address } = deps;
  const token = String(request.params.token);
  const person: PersonContext | null = await people.personOfLink(token);
  const again = (problem: Words | string): Promise<void> => showJoin(deps, frame, request, response, problem);
  if (!person?.invited) return again('');
  const { personId } = person.invited;
  if (!mayUseLink(deps, request, person)) return answer(request, response, frame, words`Sign in first`, SSO_FIRST, 403);
  const number = fieldOf(request, 'number');
  if (!numbers.isGood(purposeOf(personId), number) || !numbers.use(number))
    return again(words`That took too long. Try again.`);
  const proven = await provenRegistration(address, textOf(REGISTER, number), fieldOf(request, 'response-0'));
  if (!proven.ok) return again(words`The passkey cannot be registered: ${proven.why}.`);
  if (people.directory.byCredential(proven.value.credentialId) !== null)
    return again(words`The passkey is registered already.`);
  const label = fieldOf(request, 'label').trim() || 'Passkey';
  const added = await people.addPasskey(personId, token, { ...proven.value, label });
  if (!added.ok) return again(added.refusal.message);
  if (person.identity !== null) return response.redirect(303, '/me');
  const proof = { credentialId: proven.value.credentialId, signCount: 0 };
  await enter(deps, request, response, personId, proof, '/', () => response.redirect(303, '/sign-in'));
}

function answer(
  request: Request,
  response: Response,
  frame: Frame,
  title: Words,
  body: ReturnType<typeof html>,
  status: number,
): void {
  response.status(status).type('html');
  sendCompressed(request, response, renderOutside(frame, languageOf(request, frame.languages), { title, body }));
}
