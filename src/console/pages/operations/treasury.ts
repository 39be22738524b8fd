import { html, type Html } from '../../../runtime/http/html.ts';
import type { Mode } from '../../../domain/values/ids.ts';
import { sameName } from '../../../domain/values/names.ts';
import { type Network } from '../../../domain/networks/networks.ts';
import type { Comparison } from '../../../features/treasury/comparisons.ts';
import { csvLink, csvRoute } from '../../csv.ts';
import { run, type ConsoleDeps } from '../../deps.ts';
import { inMode } from '../../modes.ts';
import { badge, code, link, MODE_IN_FILES, table, type Column } from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import { reasonIn, Refused, type Visit } from '../../visit.ts';
import { approval, rejection } from './approval.ts';
import { proposal, proposalForms } from './proposals.ts';
import { PAYS_NOTHING_OUT, paysOut } from '../pays-out.ts';
import { approveForm, cancelPart, waitingRefundsPart, type WaitingRefund } from './waiting-refunds.ts';
import { acknowledgement, outflowsOf, outflowsPart } from './outflows.ts';
import { nativeReturn } from './native-return.ts';
import { signerDecisions, signerPart, silentSigner, stop, type SignerStatus } from './signer-state.ts';
import { messageOf } from '../../../runtime/util/message-of.ts';
import { settlementAddress, settlementAddressForm } from './settlement-address.ts';
import { within } from '../../../runtime/util/within.ts';
import { words, type Words } from '../../words.ts';

/** The signer answers in milliseconds unless something is wrong. */
const SIGNER_PATIENCE_MS = 2_000;

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
  const signers = typeof status === 'string' ? [] : status.signers.filter(({ mode }) => mode === visit.mode);
  const [waiting, others] = [moves.filter(isWaiting), moves.filter((move) => !isWaiting(move))];
  const decisions = [
    outflowsPart(visit, outflows),
    ...signers.map((signer) => signerDecisions(visit, signer)),
    waiting.length === 0 ? null : table(words`Proposals`, moveColumns(visit), waiting, words`None.`),
    typeof status === 'string' ? null : waitingRefundsPart(visit, status.treasuries),
  ].filter((part) => part !== null);
  return html`<p>
      ${link(inMode('/treasury/balances', visit.mode), words`Balances against the books`)} ·
      ${link(inMode('/treasury/sweeps', visit.mode), words`Sweeps`)} ·
      ${link(inMode('/adjustments', visit.mode), words`Entries by hand`)}
    </p>
    <h2>${words`Waiting for a decision`}</h2>
    ${decisions.length === 0 ? html`<p class="empty">${words`Nothing waits.`}</p>` : decisions}
    ${
      visit.can('treasury.approve') &&
      html`<p>
        ${words`The signer counts your approval only if its settings list ${link('/me', words`your entry`)}.`}
      </p>`
    }
    ${typeof status === 'string' ? silentSigner(visit, status) : signersPart(visit, signers)}
    <h2>${words`In progress`}</h2>
    <p>${csvLink(visit)}</p>
    ${table(
      words`Moves`,
      moveColumns(visit).filter(({ isForm }) => isForm !== true),
      others,
      words`No payouts are in progress.`,
    )}
    ${visit.can('treasury.approve') && settlementAddressForm(visit, deps)}
    ${visit.can('treasury.propose') && proposalForms(visit, deps)}`;
}

const signersPart = (visit: Visit, signers: readonly SignerStatus[]): Html | Html[] =>
  signers.length === 0
    ? html`<p class="empty">${words`Nothing is paid out in ${visit.mode} mode here.`}</p>`
    : signers.map((signer) => signerPart(visit, signer));

const movesOf = async (deps: ConsoleDeps, { mode }: Visit): Promise<Move[]> =>
  (await run<{ moves: Move[] }>(deps, 'treasury.moves')).moves.filter((move) => move.mode === mode);

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
  if (approvers.some((other) => sameName(other, name))) return html`<p>${words`You approved it.`}</p>`;
  if (sameName(proposer, name)) return html`<p>${words`You proposed it: others approve.`}</p>`;
  return approveForm(visit, id);
}
