import { html, type Html } from '../runtime/util/html.ts';
import type { PageInput } from './page-input.ts';
import { headHtml, languageSwitch, shopHtml, shopName, testBand } from './page.ts';
import { firstViewHtml } from './style.ts';

export interface Sheet {
  readonly title: string;
  readonly headline: string;
  /** Its address, up to its language. */
  readonly path: string;
  /** What scripts need to know, as attributes of the body. */
  readonly attributes?: Html;
  readonly scripts?: readonly Parameters<PageInput['asset']>[0][];
  /** How it went: what the style goes by. */
  readonly tone?: string;
}

/** A page beside the payment page, to read, to print or to fill in. */
export function renderSheet(
  input: PageInput,
  { title, headline, path, attributes, scripts = ['checkout.js'], tone }: Sheet,
  content: Html,
): string {
  const { code, direction } = input.speech.language;
  return html`<!doctype html>
    <html lang="${code}" dir="${direction}" ${tone !== undefined && html`data-tone="${tone}"`}>
      <head>
        ${headHtml(`${title} · ${shopName(input)}`)} ${firstViewHtml}
        ${scripts.map((name) => html`<script src="${input.asset(name)}" defer></script>`)}
      </head>
      <body data-clock="${input.speech.clock()}" ${attributes}>
        ${testBand(input)}
        <main class="receipt">
          ${shopHtml(input)}
          <h1 class="headline">${headline}</h1>
          ${content}
        </main>
        <footer>${languageSwitch(path, input.speech)}</footer>
      </body>
    </html>`.text;
}
