import { html, type Html } from '../../../runtime/http/html.ts';
import type { Mode } from '../../../domain/values/ids.ts';
import type { UsedCap } from '../../../ports/outgoing/signer.ts';
import { run, type ConsoleDeps } from '../../deps.ts';
import { badge, changeForm, facts, field, modeField, REASON, table, type Column } from '../../parts.ts';
import { reasonIn, type ChangeRoute, type Visit } from '../../visit.ts';
import { words, type Words } from '../../words.ts';
import { PROPOSER } from './approval.ts';

export interface SignerStatus {
  readonly mode: Mode;
  readonly stopped: boolean;
  /** The limits of refunds and returns, and how much of them is used. */
  readonly caps?: readonly UsedCap[];
  readonly limitsToApprove?: readonly string[];
}

/** What two approvers decide about the signer itself; null if nothing waits. */
export function signerDecisions(visit: Visit, { stopped, limitsToApprove: limits = [] }: SignerStatus): Html | null {
  if (!stopped && limits.length === 0) return null;
  const decided = (to: string, button: Words): Html =>
    visit.can('treasury.approve')
      ? changeForm(visit, to, [modeField(visit), field(PROPOSER)], button)
      : html`<p>${words`Two approvers decide it on this page.`}</p>`;
  return html`${
    stopped &&
    html`<h3>${words`The signer is stopped: nothing is paid out`}</h3>
      ${decided('/treasury/resume', words`Resume: show the terms`)}`
  }
  ${
    limits.length > 0 &&
    html`<h3>${words`Wider limits`}</h3>
      <ul>
        ${limits.map((limit) => html`<li>${limit}</li>`)}
      </ul>
      ${decided('/treasury/limits', words`Apply the new limits: show the terms`)}`
  }`;
}

export const signerPart = (visit: Visit, { stopped, caps = [] }: SignerStatus): Html =>
  html`<h2>${words`Signer`}</h2>
    ${facts([[words`State`, badge(stopped ? 'stopped' : 'active')]])}
    ${table(words`Caps of refunds and returns`, CAP_COLUMNS, caps, words`No limits are set, so no refunds are paid out.`)}
    ${!stopped && stopForm(visit)}`;

/** A signer that cannot be asked can still be told to stop. */
export const silentSigner = (visit: Visit, fault: string): Html =>
  html`<h2>${words`Signer`}</h2>
    <p class="problem">
      ${words`The state of the signer is unknown: ${fault}. Until it answers, nothing is paid out and nothing can be
      approved.`}
    </p>
    ${stopForm(visit)}`;

const stopForm = (visit: Visit): Html | false =>
  visit.can('treasury.stop') &&
  html`<h3>${words`Stop all payouts`}</h3>
    ${changeForm(visit, '/treasury/stop', [modeField(visit), field(REASON)], words`Stop everything in ${visit.mode} mode`, 'danger')}`;

const CAP_COLUMNS: readonly Column<UsedCap>[] = [
  { name: words`Coin`, cell: ({ coin }) => coin },
  { name: words`Per payout`, isNumber: true, cell: (cap) => cap.perTransaction },
  {
    name: words`Used within an hour`,
    isNumber: true,
    cell: ({ usedInHour, perHour }) => words`${usedInHour} of ${perHour}`,
  },
  { name: words`Used within a day`, isNumber: true, cell: ({ usedInDay, perDay }) => words`${usedInDay} of ${perDay}` },
  { name: words`Two approvers from`, isNumber: true, cell: (cap) => cap.approvalFrom },
];

/** Stopping is safe, so it takes no signature: whoever sees a theft can end it at once. */
export const stop = (deps: ConsoleDeps): ChangeRoute => ({
  path: '/treasury/stop',
  action: 'treasury.stop',
  target: ({ form }) => form['mode'] ?? '',
  run: async (visit) => {
    await run(deps, 'treasury.stop', {
      mode: visit.form['mode'] ?? '',
      operator: visit.person.name,
      reason: reasonIn(visit),
    });
    return { detail: 'stopped', shown: { to: '/treasury?done=stopped' } };
  },
});
