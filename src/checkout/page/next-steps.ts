import { html, type Html } from '../../runtime/http/html.ts';
import { coinQuery, type PageInput } from './input.ts';
import type { PageAction } from './model.ts';
import { returnUrl } from './return-url.ts';

/** Links for every possible next step, in the order of `PageStatus.actions`. */
export function nextSteps(input: PageInput): Html {
  const { session, speech, status, newAttempt } = input;
  const leaving = input.embeddedBy !== null && html` target="_top"`;
  const here = `/pay/${session.sessionId}`;
  const language = `${coinQuery(input)}lang=${speech.language.code}`;
  const look = status.toSend === null ? 'button' : 'quiet';
  const shop = (key: 'back_to_shop' | 'pay_again'): Html =>
    html`<a class="${look}" href="${returnUrl(session)}" rel="noopener noreferrer" ${leaving}>${speech.text(key)}</a>`;
  const own = (href: string, key: 'receipt' | 'help'): Html =>
    html`<a href="${href}?${language}" ${leaving}>${speech.text(key)}</a>`;
  const links: Readonly<Record<PageAction, () => Html | null>> = {
    pay: () => null,
    back: () => shop('back_to_shop'),
    pay_again: () => shop('pay_again'),
    new_attempt: () =>
      html`<a class="${look}" href="/pay/${newAttempt}?${language}" ${leaving}>${speech.text('new_attempt')}</a>`,
    receipt: () => own(`${here}/receipt`, 'receipt'),
    help: () => own(`${here}/help`, 'help'),
  };
  return html`<p class="next">${status.actions.map((action) => links[action]())}</p>
    ${returnHtml(input)}`;
}

/** Later than this, whoever opens the page came for something else than to finish the order. */
const RETURNS_FOR_SEC = 1800;
const RETURN_AFTER_SEC = 8;

/**
 * Takes the payer back to the shop by itself once the payment is complete. Not from within a shop's own page, which is
 * told instead, and not while there is something to read about money that was sent in excess or comes back.
 */
function returnHtml({ session, speech, status, embeddedBy, nowMs }: PageInput): Html | null {
  const to = returnUrl(session);
  const isRecent = session.paidAtSec !== null && nowMs / 1000 - session.paidAtSec < RETURNS_FOR_SEC;
  if (!isRecent || to === null || embeddedBy !== null || status.headline.kind !== 'paid') return null;
  return html`<p id="return" class="hint scripted" data-to="${to}" data-session="${session.sessionId}" hidden>
    <span role="status">${speech.text('returning_soon')}</span> <b role="timer">${speech.duration(RETURN_AFTER_SEC)}</b>
    <button type="button" class="plain" id="stay">${speech.text('stay')}</button>
  </p>`;
}
