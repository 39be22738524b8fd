import { html, type Html } from '../../../runtime/http/html.ts';
import type { Mode } from '../../../domain/values/ids.ts';
import { NETWORKS, type Network } from '../../../domain/networks/networks.ts';
import type { Comparison } from '../../../features/treasury/comparisons.ts';
import { COINS } from '../../../domain/money/money.ts';
import { csvLink, csvRoute } from '../../csv.ts';
import { run, type ConsoleDeps } from '../../deps.ts';
import { inMode } from '../../modes.ts';
import {
  badge,
  changeForm,
  code,
  facts,
  field,
  folded,
  link,
  MODE_IN_FILES,
  REASON,
  table,
  type Column,
} from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import { reasonIn, Refused, type ChangeRoute, type Visit } from '../../visit.ts';
import { approval, PROPOSER, rejection } from './approval.ts';
import { PAYS_NOTHING_OUT, paysOut } from '../pays-out.ts';
import { nativeReturn, nativeReturnForm } from './native-return.ts';
import { must } from '../../../domain/values/must.ts';
import type { UsedCap } from '../../../ports/outgoing/signer.ts';
import { messageOf } from '../../../runtime/util/message-of.ts';
import { merchantField, settlementAddress, settlementAddressForm } from './settlement-address.ts';
import { within } from '../../../runtime/util/within.ts';

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
    readonly waiting?: readonly { readonly refundId?: string; readonly reason?: string; readonly detail?: string }[];
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
        show: async (visit) => ({ page: { title: 'Treasury', isLive: true, body: await treasuryPage(deps, visit) } }),
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
      stop(deps),
    ],
  };
}

/** Throws `Refused` if the signer does not answer, so that a page never waits for it. */
export const treasuryStatus = (deps: ConsoleDeps): Promise<TreasuryStatus> =>
  within(SIGNER_PATIENCE_MS, run<TreasuryStatus>(deps, 'treasury.status'), () => {
    throw new Refused('the signer did not answer in time', 503);
  });

async function treasuryPage(deps: ConsoleDeps, visit: Visit): Promise<Html> {
  if (!paysOut(deps)) return PAYS_NOTHING_OUT;
  const [signers, moves] = await Promise.all([signersOf(deps, visit), movesOf(deps, visit)]);
  const [waiting, others] = [moves.filter(isWaiting), moves.filter((move) => !isWaiting(move))];
  return html`<p>
      ${link(inMode('/treasury/balances', visit.mode), 'Balances against the books')} ·
      ${link(inMode('/treasury/sweeps', visit.mode), 'Sweeps')} ·
      ${link(inMode('/adjustments', visit.mode), 'Entries by hand')}
    </p>
    <h2>Waiting for approval</h2>
    ${table('Proposals', moveColumns(visit), waiting, 'No proposals are waiting.')}
    ${
      visit.can('treasury.approve') &&
      html`<p>The signer counts your approval only if its settings list ${link('/me', 'your entry')}.</p>`
    }
    ${signers}
    <h2>In progress</h2>
    <p>${csvLink(visit)}</p>
    ${table('Moves', moveColumns(visit), others, 'No payouts are in progress.')}
    ${
      visit.can('treasury.approve') &&
      html`<h2>Approve a refund</h2>
        ${changeForm(visit, '/treasury/approve', field({ name: 'id', label: 'Refund', required: true, hint: 'A refund above the threshold, by its ID: re_…' }), 'Show the terms')}
        ${settlementAddressForm(visit, deps)}`
    }
    ${visit.can('treasury.propose') && proposalForms(visit, deps)}`;
}

/** A signer that cannot be asked hides nothing else, and can still be told to stop. */
async function signersOf(deps: ConsoleDeps, visit: Visit): Promise<Html | Html[]> {
  try {
    const signers = (await treasuryStatus(deps)).signers.filter(({ mode }) => mode === visit.mode);
    if (signers.length === 0) return html`<p class="empty">Nothing is paid out in ${visit.mode} mode here.</p>`;
    return signers.map((signer) => signerPart(visit, signer));
  } catch (error) {
    return html`<h2>Signer</h2>
      <p class="problem">
        The state of the signer is unknown: ${messageOf(error)}. Until it answers, nothing is paid out and nothing can
        be approved.
      </p>
      ${stopForm(visit)}`;
  }
}

const stopForm = (visit: Visit): Html | false =>
  visit.can('treasury.stop') &&
  html`<h3>Stop all payouts</h3>
    ${changeForm(visit, '/treasury/stop', [modeField(visit), field(REASON)], `Stop everything in ${visit.mode} mode`, 'danger')}`;

const modeField = ({ mode }: Visit): Html => html`<input type="hidden" name="mode" value="${mode}" />`;

const movesOf = async (deps: ConsoleDeps, { mode }: Visit): Promise<Move[]> =>
  (await run<{ moves: Move[] }>(deps, 'treasury.moves')).moves.filter((move) => move.mode === mode);

const CAP_COLUMNS: readonly Column<UsedCap>[] = [
  { name: 'Coin', cell: ({ coin }) => coin },
  { name: 'Per payout', isNumber: true, cell: (cap) => cap.perTransaction },
  { name: 'Used within an hour', isNumber: true, cell: ({ usedInHour, perHour }) => `${usedInHour} of ${perHour}` },
  { name: 'Used within a day', isNumber: true, cell: ({ usedInDay, perDay }) => `${usedInDay} of ${perDay}` },
  { name: 'Two approvers from', isNumber: true, cell: (cap) => cap.approvalFrom },
];

function signerPart(visit: Visit, { stopped, caps = [], limitsToApprove = [] }: SignerStatus): Html {
  const forMode = modeField(visit);
  const proposer = field(PROPOSER);
  return html`<h2>Signer</h2>
    ${facts([
      ['State', badge(stopped ? 'stopped' : 'active')],
      ['Limits awaiting approval', limitsToApprove.join('; ') || 'none'],
    ])}
    ${table('Caps of refunds and returns', CAP_COLUMNS, caps, 'No limits are set, so no refunds are paid out.')}
    ${!stopped && stopForm(visit)}
    ${stopped && !visit.can('treasury.approve') && html`<p>Nothing is paid out until two approvers resume it on this page.</p>`}
    ${stopped && visit.can('treasury.approve') && changeForm(visit, '/treasury/resume', [forMode, proposer], 'Resume: show the terms')}
    ${limitsToApprove.length > 0 && visit.can('treasury.approve') && changeForm(visit, '/treasury/limits', [forMode, proposer], 'Apply the new limits: show the terms')}`;
}

const isWaiting = ({ status }: Move): boolean => status === 'waiting_for_approval';

/** Null for what needs no approval. */
const approversOf = (move: Move): string | null =>
  move.approved_by.join(', ') || (isWaiting(move) ? 'nobody yet' : null);

const moveColumns = (visit: Visit): Column<Move>[] => [
  { name: 'Move', cell: ({ kind, id }) => html`${kind}<small>${id}</small>` },
  {
    name: 'Status',
    cell: ({ status, waiting }) => html`${badge(status)}${waiting !== null && html`<small>${waiting}</small>`}`,
  },
  { name: 'Amount', isNumber: true, cell: ({ amount, coin }) => `${amount} ${coin}` },
  { name: 'Network', cell: ({ network }) => network, onlyInFiles: true },
  MODE_IN_FILES,
  {
    name: 'To',
    cell: ({ to_address: to, network }) => html`${code(to)}<small>on ${network}</small>`,
    text: ({ to_address: to }) => to,
  },
  {
    name: 'Proposed by',
    cell: (move) => {
      const approvers = approversOf(move);
      return html`${move.requested_by}${approvers !== null && html`<small>approved by ${approvers}</small>`}`;
    },
    text: (move) => move.requested_by,
  },
  { name: 'Approved by', cell: approversOf, onlyInFiles: true },
  {
    name: 'Decide',
    isForm: true,
    cell: (move) => {
      if (!isWaiting(move)) return null;
      const id = html`<input type="hidden" name="id" value="${move.id}" />`;
      return html`${visit.can('treasury.approve') && approvePart(visit, move, id)}
      ${
        visit.can('treasury.propose') &&
        html`<details>
          <summary>Cancel</summary>
          ${changeForm(visit, '/treasury/reject', [id, field(REASON)], 'Cancel the proposal', 'danger')}
        </details>`
      }`;
    },
  },
];

/** The signer counts each person once, and not the proposer. */
function approvePart(visit: Visit, { approved_by: approvers, requested_by: proposer }: Move, id: Html): Html {
  const { name } = visit.person;
  if (approvers.includes(name)) return html`<p>You approved it.</p>`;
  if (proposer === name) return html`<p>You proposed it: others approve.</p>`;
  return changeForm(visit, '/treasury/approve', id, 'Show the terms');
}

function proposalForms(visit: Visit, deps: ConsoleDeps): Html {
  const money = [
    field({ name: 'network', label: 'Network', options: NETWORKS.map((network) => [network, network] as const) }),
    field({ name: 'coin', label: 'Coin', options: COINS.map((coin) => [coin, coin] as const) }),
    field({ name: 'amount', label: 'Amount', required: true, max: 40 }),
  ];
  const mode = modeField(visit);
  const withdrawal = changeForm(
    visit,
    '/treasury/withdraw',
    [mode, ...money, field({ name: 'to', label: 'To', required: true, max: 128 }), field(REASON)],
    'Preview',
  );
  const settlement = changeForm(
    visit,
    '/treasury/settle',
    [merchantField(visit, deps), ...money, field(REASON)],
    'Preview',
  );
  return html`<h2>Propose</h2>
    <p>Two approvers must agree to each proposal. You cannot be one of them.</p>
    ${folded(
      'A withdrawal',
      html`<p>To one of the cold addresses in the signer's settings.</p>
        ${withdrawal}`,
    )}
    ${folded(
      'A settlement',
      html`<p>To the merchant's settlement address, for at most what the books owe.</p>
        ${settlement}`,
    )}
    ${folded('A return of native coin', nativeReturnForm(visit, [mode, must(money[0])]))}`;
}

function merchantInWords({ merchants }: ConsoleDeps, id: string): string {
  const merchant = merchants().find((one) => one.id === id);
  if (!merchant) throw new Refused('merchant_id: there is no such merchant');
  return `${merchant.name} (${merchant.mode} mode, ${merchant.id})`;
}

function proposal(deps: ConsoleDeps, verb: 'withdraw' | 'settle', names: readonly string[]): ChangeRoute {
  const given = ({ form }: Visit): Record<string, string> =>
    Object.fromEntries(names.map((name) => [name, form[name] ?? '']));
  const inWords = ([name, value]: readonly [string, string]): readonly [string, string] =>
    name === 'merchant_id' ? ['merchant', merchantInWords(deps, value)] : [name, value];
  return {
    path: `/treasury/${verb}`,
    action: 'treasury.propose',
    target: ({ form }) => `${form['amount']} ${form['coin']} to ${form['to'] ?? form['merchant_id']}`,
    toSign: async (visit) => ({
      kind: 'terms',
      title: verb === 'withdraw' ? 'propose a withdrawal' : 'propose a settlement',
      lines: [...Object.entries(given(visit)).map(inWords), ['reason', reasonIn(visit)]],
    }),
    run: async (visit) => {
      const made = await run<{ id: string }>(deps, `treasury.${verb}`, {
        ...given(visit),
        operator: visit.person.name,
        reason: reasonIn(visit),
      });
      return { detail: made.id, shown: { to: '/treasury?done=proposed' } };
    },
  };
}

/** Stopping is safe, so it takes no signature: whoever sees a theft can end it at once. */
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
