import { html, type Html } from '../../../runtime/http/html.ts';
import type { Mode } from '../../../domain/values/ids.ts';
import { run, type ConsoleDeps } from '../../deps.ts';
import { changeForm, code, field, REASON, table, type Column } from '../../parts.ts';
import type { ChangeRoute, Visit } from '../../visit.ts';
import { words } from '../../words.ts';
import { approval, PROPOSER } from './approval.ts';

export interface Outflow {
  readonly mode: Mode;
  readonly network: string;
  readonly outflow: string;
  readonly tx_hash: string | null;
  readonly coin: string | null;
  readonly amount: string | null;
  readonly from_address: string;
  readonly to_address: string | null;
}

export const outflowsOf = async (deps: ConsoleDeps): Promise<readonly Outflow[]> =>
  (await run<{ outflows: Outflow[] }>(deps, 'treasury.outflows')).outflows;

/** An outflow is proposed nowhere: both approvers state the same explanation. */
export const acknowledgement = (deps: ConsoleDeps): ChangeRoute =>
  approval(deps, '/treasury/acknowledge', 'treasury.acknowledge', ({ form }) => ({
    outflow: form['id'] ?? '',
    operator: form['proposer'] ?? '',
    reason: form['reason'] ?? '',
  }));

/** Money that left without an order, which stops the payouts of its network; null if there is none. */
export function outflowsPart(visit: Visit, all: readonly Outflow[]): Html | null {
  const outflows = all.filter(({ mode }) => mode === visit.mode);
  if (outflows.length === 0) return null;
  return html`<h3>${words`Left without an order`}</h3>
    <p class="problem">
      ${words`The service ordered none of this. Nothing is paid out on these networks until two approvers explain it. If
      nobody can, assume that the keys are stolen: stop all payouts, and move what is left.`}
    </p>
    ${table(words`Left without an order`, columns(visit), outflows, words`None.`)}`;
}

const columns = (visit: Visit): Column<Outflow>[] => [
  {
    name: words`Amount`,
    isNumber: true,
    cell: (outflow) => html`${amountOf(outflow)}<small>${words`on ${outflow.network}`}</small>`,
  },
  { name: words`From`, cell: ({ from_address: from }) => code(from) },
  {
    name: words`To`,
    cell: ({ to_address: to, tx_hash: txHash }) =>
      html`${to === null ? words`several, or nobody known` : code(to)}${txHash !== null && html`<small>${words`transaction ${txHash}`}</small>`}`,
  },
  {
    name: words`Decide`,
    isForm: true,
    cell: (outflow) => (visit.can('treasury.approve') ? explainForm(visit, outflow) : words`Two approvers explain it`),
  },
];

const amountOf = ({ amount, coin }: Outflow) =>
  amount === null || coin === null ? words`no coin of ours` : `${amount} ${coin}`;

const explainForm = (visit: Visit, { outflow }: Outflow): Html =>
  html`<details>
    <summary>${words`Explain`}</summary>
    ${changeForm(
      visit,
      '/treasury/acknowledge',
      [
        html`<input type="hidden" name="id" value="${outflow}" />`,
        field({ ...REASON, hint: words`What it was. Both approvers enter the same words.` }),
        field(PROPOSER),
      ],
      words`Show the terms`,
    )}
  </details>`;
