import { html, type Html } from '../../../runtime/http/html.ts';
import type { ClaimView } from '../../../features/shared/claim-views.ts';
import { csvLink, csvRoute } from '../../csv.ts';
import { accepted, callerOf, run, type ConsoleDeps } from '../../deps.ts';
import {
  badge,
  changeForm,
  code,
  facts,
  field,
  link,
  REASON,
  table,
  time,
  timeColumn,
  type Column,
} from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import { reasonIn, type ChangeRoute, type Visit, paramOf, merchantOf } from '../../visit.ts';
import { paymentOf, paymentPath } from './payment-path.ts';
import { must } from '../../../domain/values/must.ts';
import { words, type Words } from '../../words.ts';

const MAX_LISTED = 200;

/** Claims of payers who want a refund to an address other than the one that paid. */
export function claimRoutes(deps: ConsoleDeps): ConsoleRoutes {
  return {
    read: [
      {
        path: '/m/:merchant/claims',
        action: 'payments.read',
        show: async (visit) => ({
          page: {
            title: words`Claims`,
            isLive: true,
            body: waitingPage(visit, await waitingClaims(deps, visit, MAX_LISTED)),
          },
        }),
      },
      csvRoute('/m/:merchant/claims', 'payments.read', async (visit) => ({
        columns: waitingColumns(visit),
        pages: [await waitingClaims(deps, visit, MAX_LISTED)],
      })),
    ],
    change: [rejectChange(deps)],
  };
}

/** Claims of the merchant that nobody decided yet, oldest first. */
export const waitingClaims = async (deps: ConsoleDeps, visit: Visit, limit: number): Promise<readonly ClaimView[]> =>
  (
    await run<{ claims: readonly ClaimView[] }>(deps, 'claim.waiting', {
      merchant_id: merchantOf(visit).id,
      limit: String(limit),
    })
  ).claims;

const rejectChange = ({ api }: ConsoleDeps): ChangeRoute => ({
  path: '/m/:merchant/payments/:payment/claims/:claim/reject',
  action: 'payments.refund',
  target: (visit) => paramOf(visit, 'claim'),
  run: async (visit) => {
    const id = paymentOf(visit);
    const { claimId } = accepted(await api.rejectClaim(callerOf(visit), id, paramOf(visit, 'claim'), reasonIn(visit)));
    return { detail: `rejected ${claimId}`, shown: { to: `${paymentPath(visit, id)}?done=claim` } };
  },
});

function waitingPage(visit: Visit, claims: readonly ClaimView[]): Html {
  return html`<p>
      ${words`Payers who want a refund to another address than the one that paid. Open the payment to approve or reject.`}
      ${csvLink(visit)}
    </p>
    ${table(words`Waiting claims`, waitingColumns(visit), claims, words`No claims are waiting.`)}`;
}

const waitingColumns = (visit: Visit): readonly Column<ClaimView>[] => [
  { name: words`Payment`, cell: ({ sessionId }) => link(paymentPath(visit, sessionId), sessionId) },
  { ...STATUS, onlyInFiles: true },
  ...COLUMNS,
  timeColumn(words`Filed`, ({ filedAtSec }) => filedAtSec, visit),
];

/** The claims of one payment; empty if it has none. */
export function claimsPart(visit: Visit, claims: readonly ClaimView[]): Html | null {
  if (claims.length === 0) return null;
  const may = visit.can('payments.refund', merchantOf(visit).id);
  return html`<h2>${words`Claims`}</h2>
    ${claims.map(
      (claim) =>
        html`<section class="card">
          ${facts([
            ...[STATUS, ...COLUMNS].map(({ name, cell }) => [name, cell(claim)] as const),
            [words`Filed`, time(claim.filedAtSec, visit)],
            [words`Decided`, decided(visit, claim)],
            [words`Claim`, code(claim.claimId)],
          ])}
          ${may && decideForms(visit, claim)}
        </section>`,
    )}`;
}

const EVIDENCE: Readonly<Record<ClaimView['evidence'], Words>> = {
  signature: words`signed by the key that paid`,
  test_payment: words`a test payment from the same sender`,
  no_sender: words`none: the network names no sender`,
};

const STATUS: Column<ClaimView> = { name: words`Status`, cell: ({ status }) => badge(status) };

const COLUMNS: readonly Column<ClaimView>[] = [
  {
    name: words`Amount`,
    isNumber: true,
    cell: ({ amount, coin, network }) => html`<span>${amount} ${coin}<small>${words`on ${network}`}</small></span>`,
  },
  { name: words`From`, cell: ({ fromAddress }) => code(fromAddress) },
  { name: words`To`, cell: ({ payee }) => code(payee) },
  {
    name: words`Evidence`,
    cell: ({ evidence, testPayment, coin, isProven, status }) =>
      html`<span
        >${EVIDENCE[evidence]}${testPayment !== null && html`<small>${testPayment} ${coin}</small>`}${
          status === 'open' &&
          html`<small>${isProven ? words`confirmed` : words`has not arrived, or is not final`}</small>`
        }</span
      >`,
  },
  { name: words`Reason given`, cell: ({ reason }) => reason },
];

function decided(visit: Visit, { refundId, payableFromSec, rejectedAtSec, rejectionReason }: ClaimView): Html | null {
  if (rejectedAtSec !== null) return html`${time(rejectedAtSec, visit)}<small>${rejectionReason}</small>`;
  return refundId === null
    ? null
    : html`${code(refundId)}<small>${words`not paid before ${time(payableFromSec, visit)}`}</small>`;
}

/** An approved claim can be withdrawn until shortly before it is paid. */
function decideForms(visit: Visit, { claimId, status, isProven, payableFromSec }: ClaimView): Html | null {
  const here = paymentPath(visit, paymentOf(visit));
  const canReject = status === 'open' || (status === 'approved' && must(payableFromSec) > visit.nowSec);
  const hidden = html`<input type="hidden" name="claim" value="${claimId}" />`;
  return html`${
    status === 'open' &&
    isProven &&
    changeForm(visit, `${here}/refund`, [hidden, field(REASON)], words`Preview the refund to this address`)
  }${canReject && changeForm(visit, `${here}/claims/${claimId}/reject`, field(REASON), words`Reject`, 'danger')}`;
}
