import { html, type Html } from '../runtime/http/html.ts';
import type { PageInput } from './page/input.ts';
import { headHtml, languageSwitch, shopHtml, shopName, testBand } from './page/page.ts';
import { firstViewHtml } from './style.ts';

export interface Sheet {
  readonly title: string;
  readonly headline: string;
  /** Its URL, up to the language. */
  readonly path: string;
  /** Data for scripts, as attributes of the body. */
  readonly attributes?: Html;
  /** The outcome, which selects the style. */
  readonly tone?: string;
}

/** A secondary page, to read or print. */
export function renderSheet(
  input: PageInput,
  { title, headline, path, attributes, tone }: Sheet,
  content: Html,
): string {
  const { code, direction } = input.speech.language;
  return html`<!doctype html>
    <html lang="${code}" dir="${direction}" ${tone !== undefined && html`data-tone="${tone}"`}>
      <head>
        ${headHtml(`${title} · ${shopName(input)}`)} ${firstViewHtml}
        <script src="${input.asset('checkout.js')}" defer></script>
      </head>
      <body data-clock="${input.speech.clock()}" data-locale="${input.speech.language.locale}" ${attributes}>
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
