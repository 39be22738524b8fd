import { html, type Html } from '../../../runtime/http/html.ts';
import type { Mode } from '../../../domain/values/ids.ts';
import { badge, changeForm, field, link, REASON, table, type Column } from '../../parts.ts';
import type { Visit } from '../../visit.ts';
import { words } from '../../words.ts';

/** A refund that is requested and not paid yet. */
export interface WaitingRefund {
  readonly refundId?: string;
  readonly reason?: string;
  readonly detail?: string;
}

interface Row extends WaitingRefund {
  readonly network: string;
}

interface Waiting {
  readonly mode: Mode;
  readonly network: string;
  readonly waiting?: readonly WaitingRefund[];
}

/** Refunds that wait, and why; null if there are none. Those that need two people are approved here. */
export function waitingRefundsPart(visit: Visit, treasuries: readonly Waiting[]): Html | null {
  const rows = treasuries
    .filter(({ mode }) => mode === visit.mode)
    .flatMap(({ network, waiting = [] }): Row[] => waiting.map((refund) => ({ network, ...refund })));
  return rows.length === 0
    ? null
    : html`<h3>${words`Refunds that wait`}</h3>
        ${table(words`Refunds that wait`, columns(visit), rows, words`None.`)}`;
}

const columns = (visit: Visit): Column<Row>[] => [
  {
    name: words`Refund`,
    cell: ({ refundId: id = '' }) => (visit.can('payments.read') ? link(`/search?q=${id}`, id) : id),
  },
  { name: words`Network`, cell: ({ network }) => network },
  {
    name: words`Why`,
    cell: ({ reason = 'unknown', detail }) =>
      html`${badge(reason)}${detail !== undefined && html`<small>${detail}</small>`}`,
  },
  {
    name: words`Decide`,
    isForm: true,
    cell: ({ refundId: id = '', reason }) =>
      html`${APPROVABLE.has(reason) && visit.can('treasury.approve') && approveForm(visit, id)} ${cancelPart(visit, id)}`,
  },
];

const APPROVABLE: ReadonlySet<string | undefined> = new Set(['waiting_for_approval', 'exceeds_account']);

const idField = (id: string): Html => html`<input type="hidden" name="id" value="${id}" />`;

export const approveForm = (visit: Visit, id: string): Html =>
  changeForm(visit, '/treasury/approve', idField(id), words`Show the terms`);

/** Cancels what nothing was signed for. */
export const cancelPart = (visit: Visit, id: string): Html | false =>
  visit.can('treasury.propose') &&
  html`<details>
    <summary>${words`Cancel`}</summary>
    ${changeForm(visit, '/treasury/reject', [idField(id), field(REASON)], words`Cancel the proposal`, 'danger')}
  </details>`;
