import { html, type Html } from '../../../runtime/http/html.ts';
import type { Mode } from '../../../domain/values/ids.ts';
import { type Network } from '../../../domain/networks/networks.ts';
import type { Comparison } from '../../../features/treasury/comparisons.ts';
import { csvLink, csvRoute } from '../../csv.ts';
import { run, type ConsoleDeps } from '../../deps.ts';
import { inMode } from '../../modes.ts';
import {
  badge,
  changeForm,
  code,
  facts,
  field,
  link,
  MODE_IN_FILES,
  REASON,
  modeField,
  table,
  type Column,
} from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import { reasonIn, Refused, type ChangeRoute, type Visit } from '../../visit.ts';
import { approval, PROPOSER, rejection } from './approval.ts';
import { proposal, proposalForms } from './proposals.ts';
import { PAYS_NOTHING_OUT, paysOut } from '../pays-out.ts';
import { approveForm, cancelPart, waitingRefundsPart, type WaitingRefund } from './waiting-refunds.ts';
import { acknowledgement, outflowsOf, outflowsPart } from './outflows.ts';
import { nativeReturn } from './native-return.ts';
import type { UsedCap } from '../../../ports/outgoing/signer.ts';
import { messageOf } from '../../../runtime/util/message-of.ts';
import { settlementAddress, settlementAddressForm } from './settlement-address.ts';
import { within } from '../../../runtime/util/within.ts';
import { words, type Words } from '../../words.ts';

/** The signer answers in milliseconds unless something is wrong. */
const SIGNER_PATIENCE_MS = 2_000;

interface SignerStatus {
  readonly mode: Mode;
  readonly stopped: boolean;
  /** The limits of refunds and returns, and how much of them is used. */
  readonly caps?: readonly UsedCap[];
  readonly limitsToApprove?: readonly string[];
}

export interface TreasuryStatus {
  readonly comparisons: readonly Comparison[];
  readonly signers: readonly SignerStatus[];
  readonly treasuries: readonly {
    readonly mode: Mode;
    readonly network: Network;
    readonly address: string;
    /** Why nothing is paid out; null while all is well. */
    readonly alarm?: string | null;
    readonly waiting?: readonly WaitingRefund[];
  }[];
}

export interface Move {
  readonly id: string;
  readonly kind: string;
  readonly status: string;
  readonly mode: Mode;
  readonly network: string;
  readonly coin: string;
  readonly amount: string;
  readonly to_address: string;
  readonly requested_by: string;
  readonly requested_at: number;
  readonly approved_by: readonly string[];
  readonly waiting: string | null;
}

/** The money of the service: proposals, approvals by other people, and the stop button. */
export function treasuryRoutes(deps: ConsoleDeps): ConsoleRoutes {
  return {
    read: [
      {
        path: '/treasury',
        action: 'treasury.read',
        show: async (visit) => ({
          page: { title: words`Treasury`, isLive: true, body: await treasuryPage(deps, visit) },
        }),
      },
      csvRoute('/treasury', 'treasury.read', async (visit) => ({
        columns: moveColumns(visit),
        pages: [await movesOf(deps, visit)],
      })),
    ],
    change: [
      proposal(deps, 'withdraw', ['network', 'mode', 'coin', 'amount', 'to']),
      proposal(deps, 'settle', ['network', 'coin', 'amount', 'merchant_id']),
      nativeReturn(deps),
      approval(deps, '/treasury/approve', 'treasury.approve', ({ form }) => ({ id: form['id'] ?? '' })),
      approval(deps, '/treasury/resume', 'treasury.resume', ({ form }) => ({
        mode: form['mode'] ?? '',
        operator: form['proposer'] ?? '',
      })),
      approval(deps, '/treasury/limits', 'treasury.limits', ({ form }) => ({
        mode: form['mode'] ?? '',
        operator: form['proposer'] ?? '',
      })),
      rejection(deps, '/treasury', {
        action: 'treasury.propose',
        command: 'treasury.reject',
        title: 'cancel a proposal',
        what: 'proposal',
        argumentsOf: (visit) => ({ reason: reasonIn(visit) }),
      }),
      settlementAddress(deps),
      acknowledgement(deps),
      stop(deps),
    ],
  };
}

/** Throws `Refused` if the signer does not answer, so that a page never waits for it. */
export const treasuryStatus = (deps: ConsoleDeps): Promise<TreasuryStatus> =>
  within(SIGNER_PATIENCE_MS, run<TreasuryStatus>(deps, 'treasury.status'), () => {
    throw new Refused(words`the signer did not answer in time`, 503);
  });

async function treasuryPage(deps: ConsoleDeps, visit: Visit): Promise<Html> {
  if (!paysOut(deps)) return PAYS_NOTHING_OUT;
  const [status, moves, outflows] = await Promise.all([
    treasuryStatus(deps).catch(messageOf),
    movesOf(deps, visit),
    outflowsOf(deps),
  ]);
  const [waiting, others] = [moves.filter(isWaiting), moves.filter((move) => !isWaiting(move))];
  return html`<p>
      ${link(inMode('/treasury/balances', visit.mode), words`Balances against the books`)} ·
      ${link(inMode('/treasury/sweeps', visit.mode), words`Sweeps`)} ·
      ${link(inMode('/adjustments', visit.mode), words`Entries by hand`)}
    </p>
    ${outflowsPart(visit, outflows)}
    <h2>${words`Waiting for approval`}</h2>
    ${table(words`Proposals`, moveColumns(visit), waiting, words`No proposals are waiting.`)}
    ${typeof status !== 'string' && waitingRefundsPart(visit, status.treasuries)}
    ${
      visit.can('treasury.approve') &&
      html`<p>
        ${words`The signer counts your approval only if its settings list ${link('/me', words`your entry`)}.`}
      </p>`
    }
    ${signersPart(visit, status)}
    <h2>${words`In progress`}</h2>
    <p>${csvLink(visit)}</p>
    ${table(words`Moves`, moveColumns(visit), others, words`No payouts are in progress.`)}
    ${visit.can('treasury.approve') && settlementAddressForm(visit, deps)}
    ${visit.can('treasury.propose') && proposalForms(visit, deps)}`;
}

/** A signer that cannot be asked hides nothing else, and can still be told to stop. */
function signersPart(visit: Visit, status: TreasuryStatus | string): Html | Html[] {
  if (typeof status === 'string')
    return html`<h2>${words`Signer`}</h2>
      <p class="problem">
        ${words`The state of the signer is unknown: ${status}. Until it answers, nothing is paid out and nothing can
        be approved.`}
      </p>
      ${stopForm(visit)}`;
  const signers = status.signers.filter(({ mode }) => mode === visit.mode);
  if (signers.length === 0) return html`<p class="empty">${words`Nothing is paid out in ${visit.mode} mode here.`}</p>`;
  return signers.map((signer) => signerPart(visit, signer));
}

const stopForm = (visit: Visit): Html | false =>
  visit.can('treasury.stop') &&
  html`<h3>${words`Stop all payouts`}</h3>
    ${changeForm(visit, '/treasury/stop', [modeField(visit), field(REASON)], words`Stop everything in ${visit.mode} mode`, 'danger')}`;

const movesOf = async (deps: ConsoleDeps, { mode }: Visit): Promise<Move[]> =>
  (await run<{ moves: Move[] }>(deps, 'treasury.moves')).moves.filter((move) => move.mode === mode);

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

function signerPart(visit: Visit, { stopped, caps = [], limitsToApprove = [] }: SignerStatus): Html {
  const forMode = modeField(visit);
  const proposer = field(PROPOSER);
  return html`<h2>${words`Signer`}</h2>
    ${facts([
      [words`State`, badge(stopped ? 'stopped' : 'active')],
      [words`Limits awaiting approval`, limitsToApprove.join('; ') || words`none`],
    ])}
    ${table(words`Caps of refunds and returns`, CAP_COLUMNS, caps, words`No limits are set, so no refunds are paid out.`)}
    ${!stopped && stopForm(visit)}
    ${stopped && !visit.can('treasury.approve') && html`<p>${words`Nothing is paid out until two approvers resume it on this page.`}</p>`}
    ${stopped && visit.can('treasury.approve') && changeForm(visit, '/treasury/resume', [forMode, proposer], words`Resume: show the terms`)}
    ${limitsToApprove.length > 0 && visit.can('treasury.approve') && changeForm(visit, '/treasury/limits', [forMode, proposer], words`Apply the new limits: show the terms`)}`;
}

const isWaiting = ({ status }: Move): boolean => status === 'waiting_for_approval';

/** Null for what needs no approval. */
const approversOf = (move: Move): Words | string | null =>
  move.approved_by.join(', ') || (isWaiting(move) ? words`nobody yet` : null);

const moveColumns = (visit: Visit): Column<Move>[] => [
  { name: words`Move`, cell: ({ kind, id }) => html`${kind}<small>${id}</small>` },
  {
    name: words`Status`,
    cell: ({ status, waiting }) => html`${badge(status)}${waiting !== null && html`<small>${waiting}</small>`}`,
  },
  { name: words`Amount`, isNumber: true, cell: ({ amount, coin }) => `${amount} ${coin}` },
  { name: words`Network`, cell: ({ network }) => network, onlyInFiles: true },
  MODE_IN_FILES,
  {
    name: words`To`,
    cell: ({ to_address: to, network }) => html`${code(to)}<small>${words`on ${network}`}</small>`,
    text: ({ to_address: to }) => to,
  },
  {
    name: words`Proposed by`,
    cell: (move) => {
      const approvers = approversOf(move);
      return html`${move.requested_by}${approvers !== null && html`<small>${words`approved by ${approvers}`}</small>`}`;
    },
    text: (move) => move.requested_by,
  },
  { name: words`Approved by`, cell: approversOf, onlyInFiles: true },
  {
    name: words`Decide`,
    isForm: true,
    cell: (move) => {
      if (!isWaiting(move)) return null;
      return html`${visit.can('treasury.approve') && approvePart(visit, move)} ${cancelPart(visit, move.id)}`;
    },
  },
];

/** The signer counts each person once, and not the proposer. */
function approvePart(visit: Visit, { id, approved_by: approvers, requested_by: proposer }: Move): Html {
  const { name } = visit.person;
  if (approvers.includes(name)) return html`<p>${words`You approved it.`}</p>`;
  if (proposer === name) return html`<p>${words`You proposed it: others approve.`}</p>`;
  return approveForm(visit, id);
}

const stop = (deps: ConsoleDeps): ChangeRoute => ({
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
