import type { DepositView } from '../features/shared/views.ts';
import { coinText } from './coin-text.ts';
import { code, html, type Html } from '../runtime/http/html.ts';
import { NETWORK_NAMES, type PageInput } from './page/input.ts';
import { itemsTable } from './page/order.ts';
import { refundSentences, refundTransfers, transfersHtml } from './page/status.ts';
import { sentenceHtml } from './speech.ts';
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
  return html`<p>${speech.text('receipt_paid', { time: speech.dateTime(paidAtSec) })}</p>
    <dl>
      <div>
        <dt>${speech.text('receipt_received')}</dt>
        <dd><bdi class="number">${status.received} ${status.coin}</bdi></dd>
      </div>
      <div>
        <dt>${speech.text('receipt_order')}</dt>
        <dd><bdi>${session.orderId}</bdi></dd>
      </div>
      <div>
        <dt>${speech.text('receipt_payment')}</dt>
        <dd><bdi>${session.sessionId}</bdi></dd>
      </div>
    </dl>
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
    ${transfersHtml(refundTransfers(input), input.speech)}`;
}

export function transferFacts(speech: PageInput['speech'], deposit: DepositView, href: string | null): Html {
  const { network, coin, amount, txHash, fromAddress, toAddress, blockNumber, blockTimeSec } = deposit;
  const hash =
    href === null ? code(txHash) : html`<a href="${href}" rel="noopener noreferrer nofollow">${code(txHash)}</a>`;
  return html`<dl>
    <div>
      <dt><bdi class="number">${coinText(amount)} ${coin}</bdi> · ${NETWORK_NAMES[network]}</dt>
      <dd>${hash}</dd>
    </div>
    <div>
      <dt>${speech.text('receipt_block')}</dt>
      <dd>${blockNumber}, ${speech.dateTime(blockTimeSec)}</dd>
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
