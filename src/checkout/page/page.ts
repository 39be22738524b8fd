import { clip, html, type Html } from '../../runtime/http/html.ts';
import { LANGUAGES } from '../languages.ts';
import { coinQuery, pagePath, SHOP_NAME_LENGTH, type PageInput } from './input.ts';
import type { ShopFacts } from '../../features/shared/merchant-api.ts';
import { nextSteps } from './next-steps.ts';
import { orderHtml, rateHtml } from './order.ts';
import { paymentHtml } from './payment.ts';
import { statusHtml, statusWords, type StatusWords } from './status.ts';
import { returnUrl } from './return-url.ts';
import type { Speech } from '../speech.ts';
import { firstViewHtml, styleHtml } from '../style.ts';

/** Texts that the scripts use; they fill in the placeholders. */
const SCRIPT_TEXTS = [
  'copied',
  'check_copied',
  'copied_right',
  'copy_by_hand',
  'copy_differs',
  'help_copied',
  'wallet_pay',
  'wallet_confirm',
  'wallet_sent',
  'wallet_refused',
  'wallet_rejected',
  'wallet_poor',
  'wallet_gas',
  'wallet_chain',
  'wallet_unknown_chain',
  'test_paying',
  'test_failed',
] as const;

/** The whole payment page. Works without any script; the script adds live updates, copying and wallets. */
export function renderPage(input: PageInput): string {
  const { session, status, speech } = input;
  const words = statusWords(input);
  const here = `/pay/${session.sessionId}`;
  const page = `${pagePath(input)}${coinQuery(input)}`;
  const language = `lang=${speech.language.code}`;
  const query = `${coinQuery(input)}${language}`;
  const payable = status.toSend !== null;
  const embedding =
    input.embeddedBy !== null &&
    html` data-embedded-by="${input.embeddedBy}" data-session="${session.sessionId}"
    data-return-url="${returnUrl(session) ?? ''}"`;
  return html`<!doctype html>
    <html
      lang="${speech.language.code}"
      dir="${speech.language.direction}"
      data-state="${status.state}"
      data-tone="${status.headline.tone}"
    >
      <head>
        ${headHtml(pageTitle(input, words))} ${firstViewHtml}
        <script src="${input.asset('checkout.js')}" defer></script>
        ${payable && html`<script src="${input.asset('wallets.js')}" defer></script>`}
      </head>
      <body
        data-version="${pageVersion(input)}"
        data-page="${page}${language}"
        data-events="${here}/events?${query}"
        data-status="${here}/status?${query}"
        data-expires="${status.expiresAtSec}"
        data-now="${input.nowMs}"
        data-clock="${speech.clock()}"
        data-texts="${scriptTexts(speech)}"
        ${embedding}
      >
        ${testBand(input)}
        <main>
          ${shopHtml(input)} ${payable && orderHtml(input)}
          <div class="state">
            <div id="status" tabindex="-1">${statusHtml(input, words)}</div>
            ${payable && timerHtml(input)}
            <p id="paused" class="hint" role="status" hidden>${speech.text('paused')}</p>
            ${isLive(input) && html`<p class="hint unscripted">${speech.text('no_script')}</p>`}
            ${!payable && nextSteps(input)}
          </div>
          ${status.toSend === null ? orderHtml(input) : paymentHtml(input, status.toSend)} ${rateHtml(input)}
          ${payable && nextSteps(input)}
        </main>
        <p id="news" class="unseen" role="status"></p>
        <footer>
          ${payable && html`<p>${speech.text('check_address')}</p>`}
          <p><bdi>${speech.text('payment_id', { id: session.sessionId })}</bdi></p>
          ${languageSwitch(page, speech)}
        </footer>
      </body>
    </html>`.text;
}

/** Hidden until the script starts counting; its text is present from the start, so that it has its space. */
function timerHtml({ speech, status, nowMs }: PageInput): Html {
  const left = Math.max(0, Math.ceil(status.expiresAtSec - nowMs / 1000));
  const [hours, minutes, seconds] = [Math.floor(left / 3600), Math.floor(left / 60) % 60, left % 60];
  const padded = (count: number): string => String(count).padStart(2, '0');
  const shown = hours > 0 ? `${hours}:${padded(minutes)}:${padded(seconds)}` : `${minutes}:${padded(seconds)}`;
  return html`<p class="timer scripted">
    <span>${speech.text('time_left')}</span> <b id="timer" role="timer" dir="ltr">${shown}</b>
  </p>`;
}

export const pageTitle = (input: PageInput, { title }: StatusWords): string => `${title} · ${shopName(input)}`;

/** Who is paid for what, and how to reach them; small, so that the amount due comes first. */
export function shopHtml(input: Pick<PageInput, 'shop' | 'session' | 'speech'>): Html {
  const { shop, session, speech } = input;
  return html`<div class="shop">
    ${logoHtml(shop, session.sessionId)}
    <p>
      <b><bdi>${shopName(input)}</bdi></b
      >${shop.host && html` <small><bdi>${shop.host}</bdi></small>`}
      <small><bdi>${speech.text('order_number', { id: clip(session.orderId, ORDER_ID_LENGTH) })}</bdi></small>
    </p>
    ${shop.contact !== null && html`<a class="contact" href="${shop.contact}" rel="noopener noreferrer" target="_blank">${speech.text('contact')}</a>`}
  </div>`;
}

/** Next to the shop's name, which says the same in words. */
function logoHtml({ logo }: ShopFacts, sessionId: string): Html | null {
  if (logo === null) return null;
  const { version, width, height } = logo;
  return html`<img src="/pay/${sessionId}/logo.png?${version}" alt="" width="${width}" height="${height}" />`;
}

/** Longer order numbers are truncated; the receipt shows them in full. */
const ORDER_ID_LENGTH = 40;

/** Changes whenever more than the status block of the page does. */
export const pageVersion = ({ session, status: { state, toSend, network, outages, actions } }: PageInput): string =>
  [
    state,
    toSend ?? '-',
    session.dueCoin,
    session.alternative?.dueAmount ?? '-',
    network ?? '-',
    ...outages.map((outage) => outage.network),
    ...actions,
  ].join(' ');

/** Whether anything that the payer waits for may still happen. */
const isLive = ({ status }: PageInput): boolean =>
  status.state !== 'paid' && status.state !== 'overpaid' && status.state !== 'refunded';

export function headHtml(title: string): Html {
  return html`<meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="robots" content="noindex, nofollow" />
    <meta name="color-scheme" content="light dark" />
    <meta name="format-detection" content="telephone=no" />
    <title>${title}</title>
    <link rel="icon" href="data:," />
    ${styleHtml}`;
}

/** The shop's name, shortened for a title. */
export const shopName = ({ shop }: Pick<PageInput, 'shop'>): string => clip(shop.name, SHOP_NAME_LENGTH);

/** States on every page of a session, including the receipt, that its money is not real. */
export function testBand({
  sandbox,
  testMode,
  speech,
}: Pick<PageInput, 'sandbox' | 'testMode' | 'speech'>): Html | null {
  if (!sandbox && !testMode) return null;
  return html`<header class="band">${speech.text(sandbox ? 'sandbox_band' : 'test_band')}</header>`;
}

/**
 * Links, so that it works without script. `address` ends where the language is appended. Collapsed: the browser has
 * already asked for the reader's language, and laying out the names in eight scripts takes a slow phone longer than the
 * rest of the page.
 */
export function languageSwitch(address: string, speech: Speech): Html | null {
  if (LANGUAGES.length < 2) return null;
  const { code: own, name: shown } = speech.language;
  return html`<nav aria-label="${speech.text('language')}">
    <details>
      <summary>
        ${speech.text('language')}: <b>${shown}</b>${own !== 'en' && html` <span lang="en">(Language)</span>`}
      </summary>
      <ul>
        ${LANGUAGES.map(({ code, name }) => {
          if (code === own) return html`<li><b lang="${code}" aria-current="true">${name}</b></li>`;
          return html`<li><a href="${address}lang=${code}" lang="${code}" hreflang="${code}">${name}</a></li>`;
        })}
      </ul>
    </details>
  </nav>`;
}

export const scriptTexts = (speech: Speech): string =>
  JSON.stringify(Object.fromEntries(SCRIPT_TEXTS.map((key) => [key, speech.language.texts[key]])));

export function notFoundPage(speech: Speech): string {
  const { code, direction } = speech.language;
  return html`<!doctype html>
    <html lang="${code}" dir="${direction}">
      <head>
        ${headHtml(speech.text('not_found_title'))}
      </head>
      <body>
        <main>
          <h1>${speech.text('not_found_title')}</h1>
          <p>${speech.text('not_found')}</p>
        </main>
      </body>
    </html>`.text;
}
