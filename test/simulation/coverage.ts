import { EVENT_TYPES } from '../../src/runtime/commands/event-versions.ts';
import { SOUND } from './chain/simulated-provider.ts';
import { RECEIVER_BEHAVIOURS } from './edges/receiver.ts';
import { FAULT_KINDS, OPERATOR_ACTS, type Step } from './plan/plan.ts';

/*
 * Situations that a run can meet, by the names under which they are counted: each type of event (those of a session by
 * the state that it is in), each refusal, each kind of fault, each pair of kinds at the same time.
 */

const STATES = ['open', 'paid', 'expired', 'failed', 'cancelled'];
const OF_SESSIONS = /^(Session|Deposit|Refund|CoinChosen|Transfer(GivenUp|Credit))/;
const REQUESTS: Readonly<Record<string, readonly string[]>> = {
  order: ['invalid_request', 'conflict', 'session_expired', 'amount_out_of_range', 'rate_unavailable'],
  cancel: ['session_already_paid', 'session_expired', 'idempotency_conflict', 'not_found'],
  refund: [
    ...['refund_exceeds_paid', 'session_not_paid', 'payer_ambiguous', 'sender_not_acknowledged', 'conflict'],
    ...['invalid_request', 'not_found'],
  ],
};

/** Why some of them never occur. The first that fits says it. */
const NEVER: readonly { readonly situations: RegExp; readonly why: string }[] = [
  { situations: /^event SessionCreated when (?!absent)/, why: 'a session is created once' },
  { situations: /^event SessionPaid when (paid|cancelled)/, why: 'a session is paid once, and never after a cancel' },
  { situations: /^event Session(Expired|Failed|Cancelled) when (?!open)/, why: 'only an open session ends so' },
  { situations: /^event SessionDeadlineMoved/, why: 'no plan supersedes an order' },
  { situations: /^event CoinChosen/, why: 'no plan lets a payer choose the coin' },
  {
    situations: /^event (Transfer(GivenUp|Credit|Attach)|NativeReturn)/,
    why: 'no plan attaches transfers or returns native coin',
  },
  { situations: /^event NativeCoinFound/, why: 'nobody pays native coin to the addresses given out' },
  { situations: /^event ReturnApproved/, why: 'returns of plans are below the amount that needs approvals' },
  { situations: /^event DeliveryBlocked/, why: 'receivers of plans have public addresses' },
  {
    situations:
      /^event (Person|JoinLink|SignedIn|SignedOut|SignedInBySso|RecoveryRequested|RecoveryRefused|Passkey|RolesChanged|ActionTaken|OperatorActed)/,
    why: 'people of the console are not modelled',
  },
  {
    situations:
      /^event (CheckpointSigned|PeriodClosed|Adjustment|DocumentIssued|StatementIssued|BookRates|EventLogRestored)/,
    why: 'audit, statements and entries by hand are not modelled, and a restored log is put in place without the tool',
  },
  { situations: /^event (PaymentLink|CanaryPayment)/, why: 'payment links and canaries are not modelled' },
  {
    situations:
      /^event (ApiKey(?!Issued)|Domain|MerchantChange|Policy|Webhook(Secret|Endpoint[RS](?!et))|Logo|ChangeDelay)/,
    why: 'no plan changes settings of a merchant',
  },
  {
    situations: /^event (AddressSource|ChainReplaced|RequestAnswered|Redelivery)/,
    why: 'no plan changes keys or chains, or asks for a notification again',
  },
  {
    situations: /^refusal \w+ invalid_request/,
    why: 'no plan asks for what is malformed',
  },
  { situations: /^refusal order /, why: 'every order of a plan can be made' },
  { situations: /^refusal \w+ idempotency_conflict/, why: 'no plan uses one key for two different requests' },
  { situations: /^refusal refund (payer_ambiguous|sender_not)/, why: 'every payer of a plan is a plain wallet' },
  {
    situations: /^refusal refund conflict/,
    why: 'another refund must take the money between the look-up of its payers and the decision, milliseconds later',
  },
  {
    situations: /^event JournalPlaceMoved/,
    why: 'a restored copy must lack the replacement of a move that ends by its earlier transaction before anybody takes it over',
  },
  {
    situations: /^event NonceAccountFailed/,
    why: 'nonce accounts of plans are new, and the treasury can pay for them',
  },
  {
    situations: /^pair (restore and restore|stopped and stopped|socket and socket)/,
    why: 'a plan has at most one of each',
  },
];

const eventSituations = EVENT_TYPES.flatMap((type) =>
  OF_SESSIONS.test(type) ? STATES.map((state) => `event ${type} when ${state}`) : [`event ${type}`],
);
const pairs = FAULT_KINDS.flatMap((one, at) => FAULT_KINDS.slice(at).map((other) => pairOf(one, other)));

/** What an attacker, a false service and people with bad luck do. */
const MOVES = [
  'a merchant who was settled refunds',
  'money of the treasury at an order',
  'a deposit leaves the chain while it is refunded',
  'approver signs nothing that was not typed',
  'stop while the signer judges',
  'attack own_address',
  ...['refund', 'return', 'sweep', 'gas_top_up', 'withdrawal', 'settlement', 'nonce_account'].map(
    (kind) => `attack release ${kind} may_have_paid`,
  ),
];

/** Every situation that is counted. */
export const EXPECTED: readonly string[] = [
  ...['order', 'pay', 'cancel', 'refund', ...FAULT_KINDS].map((kind) => `plan ${kind}`),
  ...Object.keys(SOUND).map((fault) => `plan provider ${fault}`),
  ...RECEIVER_BEHAVIOURS.map((behaviour) => `plan receiver ${behaviour}`),
  ...OPERATOR_ACTS.map((act) => `plan operator ${act}`),
  ...MOVES,
  ...eventSituations,
  ...Object.entries(REQUESTS).flatMap(([request, codes]) => codes.map((code) => `refusal ${request} ${code}`)),
  ...pairs,
];

/** The situations that a step is. */
export function situationsOf(step: Step): string[] {
  switch (step.kind) {
    case 'provider':
      return ['plan provider', ...Object.keys(step.faults).map((fault) => `plan provider ${fault}`)];
    case 'receiver':
      return ['plan receiver', `plan receiver ${step.behaviour}`];
    case 'operator':
      return ['plan operator', `plan operator ${step.act}`];
    default:
      return [`plan ${step.kind}`];
  }
}

/** Two kinds of fault at the same time, in either order. */
export function pairOf(one: string, other: string): string {
  return `pair ${[one, other].sort().join(' and ')}`;
}

/** Why no plan can produce it; null for what could occur. */
export const whyNever = (situation: string): string | null =>
  NEVER.find(({ situations }) => situations.test(situation))?.why ?? null;

/** How often each situation occurred, and which never did, with the reason where there is one. */
export function coverageReport(counts: ReadonlyMap<string, number>): string {
  const seen = [...counts]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([situation, times]) => `${String(times).padStart(8)}  ${situation}`);
  const missing = EXPECTED.filter((situation) => !counts.has(situation));
  const byReason = Map.groupBy(missing, whyNever);
  const open = byReason.get(null) ?? [];
  byReason.delete(null);
  const indented = (situations: readonly string[]): string[] => situations.map((situation) => `          ${situation}`);
  return [
    `situations met (${EXPECTED.length - missing.length} of ${EXPECTED.length} expected ones):`,
    ...seen,
    `never met: ${open.length === 0 ? 'none' : open.length}`,
    ...indented(open),
    ...[...byReason].flatMap(([why, situations]) => [`never met, since ${why!}:`, ...indented(situations)]),
  ].join('\n');
}
