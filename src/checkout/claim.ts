import type { EvidenceKind } from '../domain/claims.ts';
import { addressFamilyOf, type Network } from '../domain/networks/networks.ts';
import type { Claimable, ClaimView, PayersClaims, PreparedClaim } from '../features/shared/claim-views.ts';
import { code, html, when, type Html } from '../runtime/http/html.ts';
import { NETWORK_NAMES, type PageInput } from './page/input.ts';
import { scriptTexts } from './page/page.ts';
import { grouped } from './page/payment.ts';
import { renderSheet } from './sheet.ts';
import { sentenceHtml, strong, type Speech } from './speech.ts';
import type { TextKey } from './texts/en.ts';
import { must } from '../domain/values/must.ts';

export type ClaimProblem = Extract<
  TextKey,
  'claim_bad_payee' | 'claim_bad_signature' | 'claim_gone' | 'claim_limited' | 'claim_busy'
>;

/** The payer's input; empty where there was none. */
export interface ClaimForm {
  readonly step: string;
  readonly transactionId: string;
  readonly evidence: string;
  readonly payee: string;
  readonly reason: string;
  readonly number: string;
  readonly signature: string;
  /** Whole coins. */
  readonly atLeast: string;
}

const SCRIPT_TEXTS: readonly TextKey[] = [
  'copied',
  'check_copied',
  'copied_right',
  'copy_by_hand',
  'copy_differs',
  'wallet_confirm',
  'wallet_refused',
  'wallet_rejected',
  'claim_sign_with',
  'claim_account',
];
const EVIDENCE_TEXTS = {
  signature: 'claim_by_signature',
  test_payment: 'claim_by_test_payment',
  no_sender: 'claim_by_nobody',
} as const satisfies Record<EvidenceKind, TextKey>;

/** What can be claimed of the payment, and the state of existing claims. */
export function renderClaimPage(
  input: PageInput,
  { claimable, claims }: PayersClaims,
  refused: { readonly form: ClaimForm; readonly problem: ClaimProblem } | null = null,
): string {
  const { speech } = input;
  const isOnly = claimable.length === 1;
  return page(
    input,
    refused?.problem ?? null,
    html`<p>${speech.text('claim_intro')}</p>
      ${claims.length > 0 && claimList(speech, claims)}
      ${claimable.length === 0 && html`<p class="state">${speech.text('claim_none')}</p>`}
      ${claimable.map((deposit) => {
        const form = refused?.form.transactionId === deposit.transactionId ? refused.form : null;
        const isOpen = (isOnly && claims.length === 0) || form !== null;
        return html`<details class="more" ${when(isOpen, 'open')}>
          <summary>${transferHtml(speech, deposit)}</summary>
          ${claimForm(input, deposit, form)}
        </details>`;
      })}`,
  );
}

/** Nothing is filed before the payer has reviewed it: the payee and the kind of proof. */
export function renderClaimToSend(
  input: PageInput,
  prepared: PreparedClaim,
  form: ClaimForm,
  problem: ClaimProblem | null,
): string {
  const { speech } = input;
  const { claimable, payee, number } = prepared;
  return page(
    input,
    problem,
    html`<h2>${transferHtml(speech, claimable)}</h2>
      <dl>
        <div>
          <dt>${speech.text('claim_payee')}</dt>
          <dd>${addressToCheck(payee)}</dd>
        </div>
      </dl>
      <p class="warning">${speech.text('claim_final')}</p>
      <form method="post" action="${here(input)}">
        <input type="hidden" name="step" value="send" />
        <input type="hidden" name="transaction_id" value="${claimable.transactionId}" />
        <input type="hidden" name="evidence" value="${form.evidence}" />
        <input type="hidden" name="payee" value="${payee}" />
        <input type="hidden" name="reason" value="${form.reason}" />
        <input type="hidden" name="number" value="${number}" />
        ${form.evidence === 'signature' && toSign(speech, prepared, form.signature)}
        ${form.evidence === 'test_payment' && testToCome(speech, claimable.coin, Number(form.atLeast))}
        <p class="next">
          <button class="button">${speech.text('claim_send')}</button>
          <a href="${here(input)}">${speech.text('claim_change')}</a>
        </p>
      </form>`,
  );
}

/** The address that will receive the money, for comparison by eye. */
const addressToCheck = (address: string): Html =>
  html`<code class="address value" dir="ltr" translate="no">${grouped(address)}</code>`;

const here = ({ session, speech }: PageInput): string => `/pay/${session.sessionId}/claim?lang=${speech.language.code}`;

const transferHtml = (
  speech: Speech,
  { amount, coin, network }: Pick<Claimable, 'amount' | 'coin' | 'network'>,
): Html =>
  sentenceHtml(speech.sentence('transfer', { amount: strong(`${amount} ${coin}`), network: NETWORK_NAMES[network] }));

function page(input: PageInput, problem: ClaimProblem | null, body: Html): string {
  const { session, speech } = input;
  const language = `lang=${speech.language.code}`;
  const title = speech.text('claim');
  const attributes = html`data-texts="${scriptTexts(speech, SCRIPT_TEXTS)}"`;
  return renderSheet(
    input,
    {
      title,
      headline: title,
      path: `/pay/${session.sessionId}/claim?`,
      attributes,
      scripts: ['checkout.js', 'wallets.js'],
    },
    html`${problem && html`<p class="warning" role="alert">${speech.text(problem)}</p>`} ${body}
      <p class="next">
        <a href="/pay/${session.sessionId}?${language}">${speech.text('back_to_payment')}</a>
        <a href="/pay/${session.sessionId}/help?${language}">${speech.text('help')}</a>
      </p>`,
  );
}

function claimForm(input: PageInput, deposit: Claimable, form: ClaimForm | null): Html {
  const { speech } = input;
  const { transactionId, network, coin, fromAddress, txHash, evidence } = deposit;
  const chosen = evidence.find((kind) => kind === form?.evidence) ?? must(evidence[0]);
  const hint = speech.text('claim_payee_hint', { network: NETWORK_NAMES[network] });
  return html`<form method="post" action="${here(input)}">
    <dl>
      ${
        fromAddress !== null &&
        html`<div>
          <dt>${speech.text('receipt_from')}</dt>
          <dd>${code(fromAddress)}</dd>
        </div>`
      }
      <div>
        <dt>${speech.text('receipt_transfers')}</dt>
        <dd>${code(txHash)}</dd>
      </div>
    </dl>
    <input type="hidden" name="transaction_id" value="${transactionId}" />
    ${field(speech.text('claim_payee'), html`<input name="payee" value="${form?.payee ?? ''}" maxlength="100" ${TYPED} required />`, hint)}
    <fieldset class="choices">
      <legend>${speech.text('claim_proof')}</legend>
      ${evidence.map(
        (kind) =>
          html`<label
            ><input type="radio" name="evidence" value="${kind}" ${when(kind === chosen, 'checked')} />
            ${speech.text(EVIDENCE_TEXTS[kind])}</label
          >`,
      )}
    </fieldset>
    ${
      evidence.includes('test_payment') &&
      html`<div class="at-least">
        ${field(
          speech.text('claim_at_least', { coin }),
          html`<input name="at_least" inputmode="numeric" value="${form?.atLeast ?? ''}" maxlength="6" ${TYPED} />`,
        )}
      </div>`
    }
    ${field(speech.text('claim_reason'), html`<textarea name="reason" rows="2" maxlength="500">${form?.reason ?? ''}</textarea>`)}
    <p class="next"><button class="button">${speech.text('claim_continue')}</button></p>
  </form>`;
}

const testToCome = (speech: Speech, coin: string, from: number): Html =>
  html`<input type="hidden" name="at_least" value="${from}" />
    <p>${speech.text('claim_test_later', { coin, from, to: from + 1 })}</p>`;

/** For addresses and signatures, which are not words. */
const TYPED = html`dir="ltr" autocomplete="off" autocapitalize="none" spellcheck="false"`;

const field = (label: string, control: Html, hint?: string): Html =>
  html`<p class="field"><label>${label}${control}</label>${hint !== undefined && html`<small>${hint}</small>`}</p>`;

/** The exact text, to be signed by a wallet in this browser or any other, whose signature is pasted. */
function toSign(speech: Speech, { claimable, text }: PreparedClaim, signature: string): Html {
  const { network, fromAddress } = claimable;
  return html`<p>${sentenceHtml(speech.sentence('claim_sign', { address: strong(must(fromAddress)) }))}</p>
    <div>
      <pre class="value" id="claim-text" dir="ltr" translate="no" lang="en">${text}</pre>
      <button type="button" class="copy scripted" data-copy="${text}">${speech.text('claim_copy')}</button>
    </div>
    <div
      class="browser-wallet"
      data-sign
      data-network="${signingNetwork(network)}"
      data-from="${fromAddress}"
      hidden
    ></div>
    ${field(speech.text('claim_signature'), html`<textarea name="signature" rows="3" maxlength="400" ${TYPED} required>${signature}</textarea>`)}`;
}

/** A key signs the same way on every network of its family. */
const signingNetwork = (network: Network): Network => (addressFamilyOf(network) === 'evm' ? 'ethereum' : network);

function claimList(speech: Speech, claims: readonly ClaimView[]): Html {
  return html`<h2>${speech.text('claims')}</h2>
    <ul class="transfers">
      ${claims.map(
        (claim) =>
          html`<li>
            <span>${transferHtml(speech, claim)}</span
            ><small>${speech.text('receipt_to')} ${code(claim.payee)}</small>${standing(speech, claim)}
          </li>`,
      )}
    </ul>`;
}

/** The merchant's own reason is for its staff: the payer learns the outcome and whom to ask. */
function standing(
  speech: Speech,
  { status, testPayment, isProven, payableFromSec, coin, network, toAddress, fromAddress }: ClaimView,
): Html {
  if (status === 'approved')
    return html`<span>${speech.text('claim_approved', { time: speech.dateTime(must(payableFromSec)) })}</span>`;
  if (status === 'rejected') return html`<span>${speech.text('claim_rejected')}</span>`;
  if (testPayment === null || isProven) return html`<span>${speech.text('claim_open')}</span>`;
  const values = {
    amount: strong(`${testPayment} ${coin}`),
    network: NETWORK_NAMES[network],
    address: fromAddress ?? '',
  };
  return html`<span>${sentenceHtml(speech.sentence('claim_test_now', values))}</span>
    <div class="to-send">
      ${addressToCheck(toAddress)}
      <button type="button" class="copy scripted" data-copy="${toAddress}">${speech.text('copy_address')}</button>
    </div>`;
}
