import { formatAmount } from '../domain/money/money.ts';
import type { SessionView } from '../features/shared/views.ts';
import type { Timeline } from '../features/sessions/timeline/types.ts';
import { code, html, type Html } from '../runtime/http/html.ts';
import { coinQuery, NETWORK_NAMES, type PageInput } from './page/input.ts';
import { SHOWN_TRANSFERS, sumOf } from './page/model.ts';
import { sentenceHtml } from './speech.ts';
import { statusWords } from './page/status.ts';
import { scriptTexts } from './page/page.ts';
import { coins, factsHtml } from './facts.ts';
import { refunds, transferFacts } from './receipt.ts';
import { renderSheet } from './sheet.ts';

/** Left out of what the payer sees: the deliveries to the merchant. The rest concerns the session's own money. */
const OF_OTHERS = /^(?:Delivery|Redelivery)/;

/** Everything that was observed of a payment, for the payer to send to the shop: words first, then the evidence. */
export function renderHelp(input: PageInput, record: Timeline | null): string {
  const { session, speech } = input;
  const here = `/pay/${session.sessionId}`;
  const language = `lang=${speech.language.code}`;
  const words = statusWords(input);
  return renderSheet(
    input,
    {
      ...{ title: speech.text('help'), headline: speech.text('help_title'), path: `${here}/help?${coinQuery(input)}` },
      ...{ attributes: html`data-texts="${scriptTexts(speech)}"`, tone: input.status.headline.tone },
    },
    html`<p class="no-print">${speech.text('help_intro')}</p>
      <div class="no-print next">
        <button type="button" id="copy-all" class="scripted">${speech.text('help_copy')}</button>
        <button type="button" id="print" class="scripted">${speech.text('print')}</button>
        <a href="${here}?${coinQuery(input)}${language}">${speech.text('back_to_payment')}</a>
      </div>
      <div class="state">
        <p><strong>${sentenceHtml(words.headline)}</strong></p>
        ${words.lines.map((line) => html`<p>${sentenceHtml(line)}</p>`)}
      </div>
      ${facts(input)} ${transfers(input)} ${refunds(input)} ${addresses(input)} ${recordHtml(input, record)}`,
  );
}

/** Wherever the money went since: refunds are shown separately. */
const arrivedInTime = ({ deposits }: SessionView): string =>
  formatAmount(
    sumOf(
      deposits.filter(({ kind }) => kind === 'on_time'),
      'final',
    ),
  );

function facts({ session, status, speech, nowMs }: PageInput): Html {
  const due = [session, session.alternative].flatMap((one) => (one ? [coins(one.dueAmount, one.dueCoin)] : []));
  return factsHtml([
    [speech.text('receipt_payment'), html`<bdi>${session.sessionId}</bdi>`],
    [speech.text('receipt_order'), html`<bdi>${session.orderId}</bdi>`],
    [speech.text('help_due'), html`${due.map((one, index) => html`${index > 0 && ' / '}${one}`)}`],
    [speech.text('receipt_received'), coins(arrivedInTime(session), status.coin)],
    [speech.text('help_created'), sentenceHtml([speech.dateTime(session.createdAtSec)])],
    [speech.text('help_until'), sentenceHtml([speech.dateTime(session.expiresAtSec)])],
    [speech.text('help_time'), sentenceHtml([speech.dateTime(Math.floor(nowMs / 1000))])],
  ]);
}

function transfers({ session, speech, explorerUrl }: PageInput): Html {
  const deposits = session.deposits.slice(-SHOWN_TRANSFERS);
  return html`<h2>${speech.text('receipt_transfers')}</h2>
    ${deposits.length === 0 && html`<p>${speech.text('help_none')}</p>`}
    ${deposits.map((deposit) => transferFacts(speech, deposit, explorerUrl(deposit.network, deposit.txHash)))}`;
}

function addresses({ session, speech }: PageInput): Html {
  return html`<h2>${speech.text('help_addresses')}</h2>
    <dl>
      ${[...session.paymentOptions, ...(session.alternative?.paymentOptions ?? [])].map(
        ({ network, coin, address }) =>
          html`<div>
            <dt>${coin} · ${NETWORK_NAMES[network]}</dt>
            <dd>${code(address)}</dd>
          </div>`,
      )}
    </dl>`;
}

function recordHtml({ speech }: PageInput, record: Timeline | null): Html | null {
  if (!record) return null;
  const entries = record.entries.filter(({ type }) => !OF_OTHERS.test(type));
  return html`<h2>${speech.text('help_record')}</h2>
    <div lang="en" dir="ltr">
      <p>${record.conclusion}</p>
      <ol class="record">
        ${entries.map(({ atMs, message }) => html`<li><small>${new Date(atMs).toISOString()}</small> ${message}</li>`)}
      </ol>
    </div>`;
}
