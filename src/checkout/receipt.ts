import type { DepositView } from '../features/shared/views.ts';
import { code, html, type Html } from '../runtime/http/html.ts';
import { NETWORK_NAMES, type PageInput } from './page/input.ts';
import { itemsTable, rateText } from './page/order.ts';
import { refundSentences, refundTransfers, transfersHtml } from './page/status.ts';
import { coins, factsHtml } from './facts.ts';
import { moneyHtml, sentenceHtml } from './speech.ts';
import { renderSheet } from './sheet.ts';

/**
 * The receipt of a paid session, to print or keep; before payment, a page that says so. `proven`: a checkpoint covers
 * the payment.
 */
export function renderReceipt(input: PageInput, proven: boolean): string {
  const { session, speech } = input;
  const here = `/pay/${session.sessionId}`;
  const title = speech.text('receipt');
  return renderSheet(
    input,
    { title, headline: title, path: `${here}/receipt?` },
    html`${session.paidAtSec === null ? html`<p>${speech.text('receipt_none')}</p>` : html`${facts(input, session.paidAtSec)}${proof(here, speech, proven)}`}
      <p class="next no-print">
        <button type="button" id="print" class="scripted">${speech.text('print')}</button
        ><a href="${here}?lang=${speech.language.code}">${speech.text('back_to_payment')}</a>
      </p>`,
  );
}

function proof(here: string, speech: PageInput['speech'], proven: boolean): Html {
  if (!proven) return html`<p class="hint no-print">${speech.text('receipt_proof_later')}</p>`;
  return html`<p class="no-print"><a href="${here}/proof.json" download>${speech.text('receipt_proof')}</a></p>`;
}

function facts(input: PageInput, paidAtSec: number): Html {
  const { session, status, speech, explorerUrl } = input;
  const counted = session.deposits.filter(({ kind, status: state }) => kind === 'on_time' && state === 'final');
  const { description } = session.personal ?? {};
  return html`<p>${sentenceHtml(speech.sentence('receipt_paid', { time: speech.dateTime(paidAtSec) }))}</p>
    ${factsHtml([
      [speech.text('receipt_received'), coins(status.received, status.coin)],
      [speech.text('help_due'), coins(session.dueAmount, session.dueCoin)],
      [speech.text('receipt_rate'), session.rateLock && moneyHtml(rateText(session, speech))],
      [speech.text('receipt_shop'), shopAddress(input)],
      [speech.text('receipt_order'), html`<bdi>${session.orderId}</bdi>`],
      [speech.text('receipt_description'), description ? html`<bdi>${description}</bdi>` : null],
      [speech.text('receipt_payment'), html`<bdi>${session.sessionId}</bdi>`],
    ])}
    ${status.state === 'reversed' && html`<p class="warning">${speech.text('reversed_note')}</p>`}
    ${itemsTable({ session, speech })} ${refunds(input)}
    <h2>${speech.text('receipt_transfers')}</h2>
    ${counted.map((deposit) => transferFacts(speech, deposit, explorerUrl(deposit.network, deposit.txHash)))}`;
}

/** What was returned, in which transaction and to whom. */
export function refunds(input: Pick<PageInput, 'status' | 'speech' | 'explorerUrl'>): Html | null {
  if (input.status.refunds.length === 0) return null;
  return html`<h2>${input.speech.text('refunds')}</h2>
    ${refundSentences(input).map((sentence) => html`<p>${sentenceHtml(sentence)}</p>`)}
    ${transfersHtml(refundTransfers(input), input.speech, 'whole')}`;
}

export function transferFacts(speech: PageInput['speech'], deposit: DepositView, href: string | null): Html {
  const { network, coin, amount, txHash, fromAddress, toAddress, blockNumber, blockTimeSec } = deposit;
  const hash =
    href === null ? code(txHash) : html`<a href="${href}" rel="noopener noreferrer nofollow">${code(txHash)}</a>`;
  return html`<dl class="transfer">
    <div>
      <dt>${coins(amount, coin)} · ${NETWORK_NAMES[network]}</dt>
      <dd>${hash}</dd>
    </div>
    <div>
      <dt>${speech.text('receipt_block')}</dt>
      <dd>${blockNumber}, ${sentenceHtml([speech.dateTime(blockTimeSec)])}</dd>
    </div>
    ${
      fromAddress !== null &&
      html`<div>
        <dt>${speech.text('receipt_from')}</dt>
        <dd>${code(fromAddress)}</dd>
      </div>`
    }
    <div>
      <dt>${speech.text('receipt_to')}</dt>
      <dd>${code(toAddress)}</dd>
    </div>
  </dl>`;
}

/** In words, since a printed link leads nowhere. */
function shopAddress({ shop }: PageInput): Html {
  const contact = shop.contact?.replace(/^mailto:/, '');
  const parts = [shop.name, shop.host, contact].filter((part) => typeof part === 'string');
  return html`${parts.map((part, index) => html`${index > 0 && html`<br />`}<bdi>${part}</bdi>`)}`;
}
