import { html, type Html } from './html.ts';
import { NETWORK_NAMES, type PageInput } from './page-input.ts';
import type { PageNote, PageState, PageTransfer } from './page-model.ts';
import { sentenceHtml, strong, type Piece, type Sentence, type Speech } from './speech.ts';

/** The state in words, as data: the server renders it, and live updates carry it to the script. */
export interface StatusWords {
  readonly title: string;
  readonly lines: readonly Sentence[];
  readonly transfers: readonly TransferWords[];
}

export interface TransferWords {
  readonly what: Sentence;
  readonly progress: string;
  /** Confirmations so far of those needed; null when only the chain's own finality decides, or nothing moves any more. */
  readonly bar: { readonly have: number; readonly need: number } | null;
  readonly hash: string;
  readonly href: string | null;
}

export function statusWords(input: PageInput): StatusWords {
  const { status, speech } = input;
  return {
    title: speech.text(`${status.state}_title`),
    lines: [...explanation(input), ...status.notes.map((note) => noteSentence(speech, note, status.coin)), ...refundSentences(input)],
    transfers: status.transfers.map((transfer) => transferWords(input, transfer)),
  };
}

function explanation({ status, speech }: PageInput): Sentence[] {
  const coins = (amount: string): Piece => strong(`${amount} ${status.coin}`);
  const deadline = speech.moment(status.expiresAtSec);
  const received = coins(status.received);
  const pending = coins(status.pending);
  const some = (amount: string): boolean => !/^[0.]*$/.test(amount);
  const rules: Record<PageState, () => Sentence[]> = {
    awaiting: () => [speech.sentence('awaiting', { amount: coins(status.toSend ?? status.due), deadline })],
    underpaid: () => [speech.sentence('underpaid', { received, missing: coins(status.toSend ?? '0'), deadline })],
    seen: () => [
      status.toSend === null ? speech.sentence('seen_all') : speech.sentence('seen_part', { pending, missing: coins(status.toSend), deadline }),
    ],
    closing: () => [speech.sentence('do_not_send'), speech.sentence('closing')],
    paid: () => [speech.sentence('paid', { received })],
    overpaid: () => [speech.sentence('overpaid', { received, excess: coins(status.excess) })],
    expired: () => [
      speech.sentence('do_not_send'),
      some(status.received) ? speech.sentence('expired_part', { received }) : speech.sentence('expired_empty'),
    ],
    failed: () => [speech.sentence('failed')],
    cancelled: () => [
      speech.sentence('do_not_send'),
      ...(some(status.pending) ? [speech.sentence('cancelled_coming', { pending })] : []),
      ...(some(status.received) ? [speech.sentence('cancelled_arrived', { received })] : []),
    ],
  };
  return rules[status.state]();
}

function noteSentence(speech: Speech, note: PageNote, dueCoin: string): Sentence {
  if (note.kind === 'reversed') return speech.sentence('reversed_note');
  const amount = strong(`${note.amount} ${note.coin}`);
  return speech.sentence(`${note.kind}_note`, { amount, coin: dueCoin, network: NETWORK_NAMES[note.network] });
}

export function refundSentences({ status, speech }: Pick<PageInput, 'status' | 'speech'>): Sentence[] {
  return status.refunds.map((refund) => speech.sentence(`refund_${refund.status}`, { amount: strong(`${refund.amount} ${refund.coin}`) }));
}

function transferWords({ speech, explorerUrl }: PageInput, transfer: PageTransfer): TransferWords {
  const { network, coin, amount, txHash, status, have, need } = transfer;
  const counted = need === null ? null : { have: Math.min(have, need), need };
  const waiting = counted === null ? speech.text('progress_waiting', { have }) : speech.text('progress_counting', counted);
  return {
    what: speech.sentence('transfer', { amount: strong(`${amount} ${coin}`), network: NETWORK_NAMES[network] }),
    progress: status === 'detected' ? waiting : speech.text(`progress_${status}`),
    bar: status === 'detected' ? counted : null,
    hash: txHash,
    href: explorerUrl(network, txHash),
  };
}

/** Keep in step with `showStatus` of the script, which builds the same elements from the same words. */
export function statusHtml(words: StatusWords): Html {
  return html`<h2>${words.title}</h2>
    ${words.lines.map((line) => html`<p>${sentenceHtml(line)}</p>`)}${
      words.transfers.length > 0 &&
      html`<ul class="transfers">
        ${words.transfers.map(transferHtml)}
      </ul>`
    }`;
}

function transferHtml({ what, progress, bar, hash, href }: TransferWords): Html {
  const short = html`<code translate="no">${hash.slice(0, 10)}…${hash.slice(-6)}</code>`;
  const link = href === null ? short : html`<a href="${href}" rel="noopener noreferrer nofollow" target="_blank">${short}</a>`;
  return html`<li>
    <span>${sentenceHtml(what)}</span><span>${progress}</span>${
      bar && html`<progress value="${bar.have}" max="${bar.need}" aria-label="${progress}"></progress>`
    }${link}
  </li>`;
}
