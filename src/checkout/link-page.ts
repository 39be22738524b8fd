import type { ShownLink } from '../features/payment-links/payment-links.ts';
import type { ShopFacts } from '../features/shared/merchant-api.ts';
import { html, type Html } from '../runtime/http/html.ts';
import { headHtml, languageSwitch, shopName, testBand } from './page/page.ts';
import { sentenceHtml, type Speech } from './speech.ts';
import type { TextKey } from './texts/en.ts';

export type LinkProblem = Extract<TextKey, 'link_limited' | 'link_paused' | 'link_unavailable'>;

interface LinkPage {
  readonly link: ShownLink;
  readonly shop: ShopFacts;
  readonly speech: Speech;
  /** Identifies this page: pressing its button twice creates one payment. */
  readonly press: string;
  readonly problem: LinkProblem | null;
  readonly sandbox: boolean;
}

const CLOSED: Readonly<Record<Exclude<ShownLink['status'], 'on'>, TextKey>> = {
  off: 'link_off',
  over: 'link_over',
  used_up: 'link_used_up',
  busy: 'link_busy',
  paused: 'link_paused',
};

/** Who requests how much, and the one button that creates the payment. */
export function renderLinkPage({ link, shop, speech, press, problem, sandbox }: LinkPage): string {
  const { code, direction } = speech.language;
  const path = `/l/${link.linkId}`;
  const amount = speech.money(link.amount, link.currency);
  const isOpen = link.status === 'on' || link.status === 'busy' || link.status === 'paused';
  const key = isOpen ? 'awaiting_title' : 'link_ended_title';
  const title = speech.text(key, { due: amount });
  return html`<!doctype html>
    <html lang="${code}" dir="${direction}">
      <head>
        ${headHtml(`${title} · ${shopName({ shop })}`)}
      </head>
      <body>
        ${testBand({ sandbox: sandbox && link.mode === 'test', testMode: link.mode === 'test', speech })}
        <main class="receipt">
          ${shopHtml(path, shop, speech)}
          <h1 class="headline">${sentenceHtml(speech.sentence(key, { due: { text: amount, kind: 'money' } }))}</h1>
          ${link.description !== null && html`<p class="description"><bdi>${link.description}</bdi></p>`}
          ${problem !== null && html`<p class="warning" role="alert">${speech.text(problem)}</p>`}
          ${link.status === 'on' ? payForm(`${path}?pay&lang=${code}`, press, speech) : html`<p class="state" role="status">${speech.text(CLOSED[link.status])}</p>`}
        </main>
        <footer>${languageSwitch(`${path}?`, speech)}</footer>
      </body>
    </html>`.text;
}

function shopHtml(path: string, shop: ShopFacts, speech: Speech): Html {
  const { logo, contact } = shop;
  return html`<div class="shop">
    ${logo !== null && html`<img src="${path}/logo.png?${logo.version}" alt="" width="${logo.width}" height="${logo.height}" />`}
    <p>
      <b><bdi>${shopName({ shop })}</bdi></b>
    </p>
    ${contact !== null && html`<a class="contact" href="${contact}" rel="noopener noreferrer" target="_blank">${speech.text('contact')}</a>`}
  </div>`;
}

/**
 * The form posts to a URL that is never a page: otherwise the browser would drop the page shown there from its history,
 * and going back must find it.
 */
const payForm = (action: string, press: string, speech: Speech): Html =>
  html`<form method="post" action="${action}">
    <input type="hidden" name="press" value="${press}" />
    <p class="hint">${speech.text('link_hint')}</p>
    <p class="next"><button class="button">${speech.text('link_pay')}</button></p>
  </form>`;
