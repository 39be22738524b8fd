import { hash } from 'node:crypto';
import { onOneLine } from '../domain/line-of-terms.ts';
import { html, type Html } from '../runtime/http/html.ts';
import type { KnownPasskey, OnceNumbers, PasskeyProof, RelyingParty } from '../features/people/passkeys.ts';
import { provenSignature } from '../features/people/passkeys.ts';
import { Refused, type Page, type Signature, type ToSign, type Visit } from './visit.ts';
import { forScript, words } from './words.ts';

const TITLE = 'Quittance console';
/** A bound above the number of texts that are ever signed at once. */
export const MAX_SIGNED = 20;
export const TOO_MUCH = 'number: too much to be signed at once';

interface SignedText {
  readonly text: string;
  readonly number: string;
}

/** The terms in words, with the signer's name and a number that is valid once. */
function textOf({ person }: Visit, toSign: Extract<ToSign, { kind: 'terms' }>, number: string): string {
  const lines = [...toSign.lines, ['by', person.name], ['number', number]].map(
    ([label, value]) => `${label}: ${onOneLine(value)}`,
  );
  return [TITLE, `action: ${toSign.title}`, ...lines].join('\n');
}

/** Binds the number to the exact terms, the person and their sign-in. */
const purposeOf = ({ person }: Visit, toSign: Extract<ToSign, { kind: 'terms' }>): string =>
  JSON.stringify(['step-up', person.personId, person.signInId, toSign.title, toSign.lines]);

/** What the browser needs besides the texts. */
export interface Ceremony {
  readonly rpId: string;
  /** The person's passkeys. */
  readonly allowed: readonly string[];
}

/** What the script says by the name of the browser's error (Web Authentication, section 5.1). */
export const PASSKEY_PROBLEMS = forScript({
  NotAllowedError: words`The passkey was not used: it was cancelled, took too long, or there is none of yours here.`,
  InvalidStateError: words`This device holds a passkey of yours already.`,
  other: words`The passkey could not be used: {0}`,
});

/** The page that asks for a signature. The script signs each text as it reads it from the page. */
export function signPage(visit: Visit, toSign: ToSign, numbers: OnceNumbers, { rpId, allowed }: Ceremony): Page {
  const texts = toSign.kind === 'signer' ? toSign.texts : [ownText(visit, toSign, numbers)];
  const kept = Object.entries(visit.form).filter(([name]) => !/^(csrf|number|response)(-|$)/.test(name));
  return {
    title: html`<span lang="en" dir="ltr" translate="no"
      >${toSign.title.charAt(0).toUpperCase() + toSign.title.slice(1)}</span
    >`,
    body: html`<p>
        ${
          toSign.kind === 'signer'
            ? words`Read the terms. Your passkey signs exactly these words, and the signer checks the signature itself.`
            : words`Read the terms. Your passkey signs exactly these words.`
        }
      </p>
      <form
        method="post"
        action="${visit.path}"
        class="form"
        data-sign
        data-words="${PASSKEY_PROBLEMS}"
        data-rp="${rpId}"
        data-allow="${allowed.join(' ')}"
      >
        <input type="hidden" name="csrf" value="${visit.csrf}" />
        ${kept.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
        ${texts.map((one, index) => one !== null && signedPart(one, index))} ${toSign.kind === 'terms' && toSign.note}
        <p class="buttons">
          <button class="button" type="submit">${words`Sign with your passkey`}</button>
          <a href="${backOf(visit)}">${words`Cancel`}</a>
        </p>
        <p class="problem" role="alert" hidden></p>
        <noscript><p class="problem">${words`Signing with a passkey needs JavaScript.`}</p></noscript>
      </form>`,
  };
}

function ownText(visit: Visit, toSign: Extract<ToSign, { kind: 'terms' }>, numbers: OnceNumbers): SignedText {
  const number = numbers.give(purposeOf(visit, toSign));
  return { number, text: textOf(visit, toSign, number) };
}

/** Each line is an element, so that the rest of a long one is indented and does not look like the next line. */
const linesOf = (text: string): Html[] => text.split(/(?<=\n)/).map((line) => html`<span>${line}</span>`);

const signedPart = ({ text, number }: SignedText, index: number): Html =>
  html`<pre class="terms" data-text translate="no" lang="en" dir="ltr" dir="ltr" tabindex="0">${linesOf(text)}</pre>
    <input type="hidden" name="number-${index}" value="${number}" />
    <input type="hidden" name="response-${index}" value="" />`;

/** Where the person came from; only a path of the console. */
export const backOf = ({ form, path }: Pick<Visit, 'form' | 'path'>): string => {
  const given = form['back'] ?? '';
  return /^\/(?![/\\])[\w\-./?=&%~:+]*$/.test(given) ? given : path;
};

export const isSigned = ({ form }: Visit): boolean => Object.keys(form).some((name) => name.startsWith('response-'));

/** The signatures that the browser sent, not verified yet; the signer verifies those of its own terms. */
export function signaturesIn(visit: Visit, toSign: ToSign): readonly (Signature | null)[] {
  const count = toSign.kind === 'signer' ? toSign.texts.length : 1;
  if (count > MAX_SIGNED) throw new Refused(TOO_MUCH);
  return Array.from({ length: count }, (_, index) => {
    const response = visit.form[`response-${index}`];
    const number = visit.form[`number-${index}`];
    return response === undefined || number === undefined ? null : { text: '', number, response };
  });
}

export interface SignedTerms {
  readonly signature: Signature;
  readonly proof: PasskeyProof;
  readonly termsHash: string;
}

/** Verifies that the person's passkey signed these terms, just now and for the first time. Throws `Refused`. */
export async function signedTerms(
  visit: Visit,
  toSign: Extract<ToSign, { kind: 'terms' }>,
  {
    numbers,
    passkey,
    party,
  }: { readonly numbers: OnceNumbers; readonly passkey: KnownPasskey; readonly party: RelyingParty },
): Promise<SignedTerms> {
  const [given] = signaturesIn(visit, toSign);
  if (!given) throw new Refused(words`The signature is missing.`);
  if (!numbers.isGood(purposeOf(visit, toSign), given.number))
    throw new Refused(words`These terms have expired, were already signed, or have changed. Read them again.`, 409);
  const text = textOf(visit, toSign, given.number);
  const proven = await provenSignature(party, passkey, text, given.response);
  if (!proven.ok) throw new Refused(words`The signature is not valid: ${proven.why}.`, 403);
  if (!numbers.use(given.number)) throw new Refused(words`The signature was used before.`, 409);
  return { signature: { ...given, text }, proof: proven.value, termsHash: hash('sha256', text, 'hex') };
}
