import { code, html, type Html } from '../../runtime/http/html.ts';
import { NETWORK_NAMES, type PageInput } from './input.ts';
import type { PageNote, PageRefund, PageState, PageTransfer } from './model.ts';
import { isSome, nothingCame, type HeadlineKind } from './headline.ts';
import { sentenceHtml, strong, type Piece, type Sentence, type Speech } from '../speech.ts';

/** The state in words, rendered by the server for the first response and for every live update. */
export interface StatusWords {
  /** The headline without markup, for the tab's title. */
  readonly title: string;
  readonly headline: Sentence;
  readonly lines: readonly Sentence[];
  readonly transfers: readonly TransferWords[];
}

export interface TransferWords {
  readonly what: Sentence;
  readonly progress: string;
  /** Blocks so far out of those needed; null when the page waits for none. */
  readonly bar: { readonly have: number; readonly need: number } | null;
  /** Null before it was sent. */
  readonly hash: string | null;
  readonly href: string | null;
  /** Where a refund goes. */
  readonly to: string | null;
}

export function statusWords(input: PageInput): StatusWords {
  const { status, speech } = input;
  const { kind, due, amount } = status.headline;
  const key = `${kind}_title` as const;
  const notes = status.notes.map((note) => noteSentence(speech, note, status.coin));
  const values = { due: due ?? '', amount: amount ?? '' };
  return {
    title: speech.text(key, values),
    headline: speech.sentence(key, { due: strong(values.due), amount: strong(values.amount) }),
    lines: [
      ...outageLines(input),
      // When money was sent wrongly, the payer must read so before being asked to send any.
      ...(GONE_ASTRAY.has(kind) ? [...notes, ...explanation(input)] : [...explanation(input), ...notes]),
      ...refundSentences(input),
      ...(status.actions.includes('new_attempt') ? [speech.sentence('superseded')] : []),
    ],
    transfers: [...status.transfers.map((transfer) => transferWords(input, transfer)), ...refundTransfers(input)],
  };
}

const GONE_ASTRAY: ReadonlySet<HeadlineKind> = new Set(['wrong_coin', 'wrong_network', 'lost']);

/** Only when money is already on its way: before that the network's own panel reports it. */
function outageLines({ status, speech }: PageInput): Sentence[] {
  const used = new Set(
    status.transfers.filter((transfer) => transfer.status === 'detected').map(({ network }) => network),
  );
  return status.outages.filter(({ network }) => used.has(network)).map((outage) => outageSentence(speech, outage));
}

export const outageSentence = (
  speech: Speech,
  { network, sinceSec }: PageInput['status']['outages'][number],
): Sentence => speech.sentence('outage', { network: NETWORK_NAMES[network], since: speech.moment(sinceSec) });

function explanation({ session, status, speech }: PageInput): Sentence[] {
  const coins = (amount: string): Piece => strong(`${amount} ${status.coin}`);
  const deadline = speech.moment(status.expiresAtSec);
  const received = coins(status.received);
  const pending = coins(status.pending);
  const missing = coins(status.toSend ?? '0');
  // The remainder of a partial refund is not the amount that arrived.
  const wentBack = status.refunds.some((refund) => refund.status !== 'failed');
  const came = isSome(status.received)
    ? [speech.sentence(wentBack ? 'still_held' : 'cancelled_arrived', { received })]
    : [];
  const coming = isSome(status.pending) ? [speech.sentence('cancelled_coming', { pending })] : [];
  const doNotSend = speech.sentence('do_not_send');
  const rules: Record<PageState, () => Sentence[]> = {
    awaiting: () => [speech.sentence('awaiting', { amount: missing, deadline })],
    underpaid: () => [speech.sentence('underpaid', { received, missing, deadline })],
    seen: () => [
      status.toSend === null
        ? speech.sentence('seen_all')
        : speech.sentence('seen_part', { pending, missing, deadline }),
    ],
    closing: () => [doNotSend, ...came, ...coming, speech.sentence('closing')],
    paid: () => [speech.sentence('paid', { received })],
    overpaid: () => [speech.sentence('overpaid', { received, excess: coins(status.excess) })],
    refunded: () => (session.paidAtSec === null ? [doNotSend] : []),
    reversed: () => [doNotSend],
    expired: () => [
      doNotSend,
      ...(isSome(status.received)
        ? [speech.sentence(wentBack ? 'still_held' : 'expired_part', { received })]
        : status.transfers.length === 0
          ? [speech.sentence('expired_empty')]
          : []),
    ],
    failed: () => [doNotSend, ...(nothingCame(session.deposits) ? [speech.sentence('failed')] : came)],
    cancelled: () => [doNotSend, ...coming, ...came],
  };
  return rules[status.state]();
}

function noteSentence(speech: Speech, note: PageNote, dueCoin: string): Sentence {
  if (note.kind === 'reversed') return speech.sentence('reversed_note');
  const amount = strong(`${note.amount} ${note.coin}`);
  return speech.sentence(`${note.kind}_note`, { amount, coin: dueCoin, network: NETWORK_NAMES[note.network] });
}

export function refundSentences({ status, speech }: Pick<PageInput, 'status' | 'speech'>): Sentence[] {
  return status.refunds.map((refund) =>
    speech.sentence(`refund_${refund.status}`, { amount: strong(`${refund.amount} ${refund.coin}`) }),
  );
}

function transferWords(input: PageInput, transfer: PageTransfer): TransferWords {
  const { speech, explorerUrl } = input;
  const { network, coin, amount, txHash, status, have, need } = transfer;
  const waits = status === 'detected';
  return {
    what: speech.sentence('transfer', { amount: strong(`${amount} ${coin}`), network: NETWORK_NAMES[network] }),
    progress: waits ? waiting(speech, transfer) : speech.text(`progress_${status}`),
    bar: waits ? { have: Math.min(have, need), need } : null,
    hash: txHash,
    href: explorerUrl(network, txHash),
    to: null,
  };
}

/** Progress and duration; a target that has been passed would say nothing. */
function waiting(speech: Speech, { have, need, counted, seconds }: PageTransfer): string {
  if (!counted && have > need) return speech.text('progress_longer', { have });
  return speech.text(counted ? 'progress_counting' : 'progress_waiting', {
    have: Math.min(have, need),
    need,
    time: speech.duration(seconds),
  });
}

/** Every transaction of every refund, and its recipient. */
export function refundTransfers({
  status,
  speech,
  explorerUrl,
}: Pick<PageInput, 'status' | 'speech' | 'explorerUrl'>): TransferWords[] {
  const progress = {
    pending: speech.text('progress_sending'),
    done: speech.text('progress_final'),
    failed: speech.text('progress_failed'),
  };
  return status.refunds.flatMap(({ payouts }: PageRefund) =>
    payouts.map(({ network, coin, amount, toAddress, status: state, txHash }) => ({
      what: speech.sentence('refund_transfer', {
        amount: strong(`${amount} ${coin}`),
        network: NETWORK_NAMES[network],
      }),
      progress: progress[state],
      bar: null,
      hash: txHash,
      href: txHash === null ? null : explorerUrl(network, txHash),
      to: toAddress,
    })),
  );
}

export function statusHtml({ status, speech }: PageInput, { headline, lines, transfers }: StatusWords): Html {
  return html`<h1 class="headline" data-tone="${status.headline.tone}">${sentenceHtml(headline)}</h1>
    ${lines.map((line) => html`<p>${sentenceHtml(line)}</p>`)}${transfersHtml(transfers, speech)}`;
}

export function transfersHtml(
  transfers: readonly TransferWords[],
  speech: Speech,
  hashes: 'short' | 'whole' = 'short',
): Html | null {
  if (transfers.length === 0) return null;
  return html`<ul class="transfers">
    ${transfers.map((transfer) => transferHtml(transfer, speech, hashes))}
  </ul>`;
}

function transferHtml(
  { what, progress, bar, hash, href, to }: TransferWords,
  speech: Speech,
  hashes: 'short' | 'whole',
): Html {
  const shown = hash !== null && code(hashes === 'whole' ? hash : `${hash.slice(0, 10)}…${hash.slice(-6)}`);
  const link =
    href === null ? shown : html`<a href="${href}" rel="noopener noreferrer nofollow" target="_blank">${shown}</a>`;
  return html`<li>
    <span>${sentenceHtml(what)}</span><span>${progress}</span>${
      bar && html`<progress value="${bar.have}" max="${bar.need}" aria-label="${progress}"></progress>`
    }${to !== null && html`<small>${speech.text('receipt_to')} ${code(to)}</small>`}${link}
  </li>`;
}
