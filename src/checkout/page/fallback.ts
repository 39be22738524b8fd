import type { SessionView } from '../../features/shared/views.ts';
import { code, html, type Html } from '../../runtime/http/html.ts';
import { amountHtml, sentenceHtml, strong, type Speech } from '../speech.ts';
import { NETWORK_NAMES } from './input.ts';
import { toSend } from './model.ts';
import { headHtml } from './page.ts';

/**
 * The page in place of one that could not be drawn: what a payer cannot do without, from the session alone.
 */
export function renderFallback(session: SessionView, nowSec: number, speech: Speech): string {
  const amount = toSend(session, nowSec);
  const title =
    amount === null
      ? speech.text(session.paidAtSec === null ? 'do_not_send' : 'paid_title')
      : speech.text('awaiting_title', { due: `${amount} ${session.dueCoin}` });
  return plainPage(
    title,
    speech,
    html`<p class="warning">${speech.text('page_trouble')}</p>
      ${amount !== null && waysToPay(session, amount, speech)}
      <p class="hint"><bdi>${speech.text('payment_id', { id: session.sessionId })}</bdi></p>`,
  );
}

/** Where not even the session could be read. */
export const renderUnavailable = (speech: Speech): string =>
  plainPage(speech.text('page_unavailable_title'), speech, html`<p>${speech.text('page_unavailable')}</p>`);

function plainPage(title: string, speech: Speech, content: Html): string {
  const { code: language, direction } = speech.language;
  return html`<!doctype html>
    <html lang="${language}" dir="${direction}">
      <head>
        ${headHtml(title)}
      </head>
      <body>
        <main class="receipt">
          <h1 class="headline">${amountHtml(title)}</h1>
          ${content}
        </main>
      </body>
    </html>`.text;
}

function waysToPay({ paymentOptions }: SessionView, amount: string, speech: Speech): Html {
  return html`<p>${speech.text('check_address')}</p>
    ${paymentOptions.map(
      ({ network, coin, address }) =>
        html`<h2>${NETWORK_NAMES[network]}</h2>
          <p class="warning">
            ${sentenceHtml(speech.sentence('warning', { coin: strong(coin), network: strong(NETWORK_NAMES[network]) }))}
          </p>
          <dl>
            <div>
              <dt>${speech.text('amount')}</dt>
              <dd><bdi>${amountHtml(amount)} ${coin}</bdi></dd>
            </div>
            <div>
              <dt>${speech.text('address')}</dt>
              <dd>${code(address)}</dd>
            </div>
          </dl>`,
    )}`;
}
