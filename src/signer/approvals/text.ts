import { hash } from 'node:crypto';
import type { ApprovalAct, ProposedAdjustment } from '../../ports/signer/approvals.ts';
import { OTHER_ACTIONS, TRANSACTION_ACTIONS } from '../../domain/approval-actions.ts';
import { onOneLine } from '../../domain/line-of-terms.ts';
import { formatAmount } from '../../domain/money/money.ts';
import type { OutgoingTransaction } from '../../ports/outgoing/transaction.ts';
import { bytesOf } from '../exclusive.ts';
import { changesOf, type Limits } from '../policies/limits-in-force.ts';
import type { DestinationEntry, JournalEntry, OutflowEntry } from '../journal/journal.ts';
import { lostPlaces } from '../journal/log-places.ts';

/** What the signer itself knows about an action. */
export interface TermsContext {
  readonly entries: readonly JournalEntry[];
  readonly limits: { readonly inForce: Limits; readonly wanted: Limits };
  /** Whether the account in the books does not cover a refund or return. */
  readonly exceedsAccount: (order: OutgoingTransaction) => boolean;
}

type Line = readonly [label: string, value: string];

/** The proposer of refunds. No approver may have this name. */
export const MERCHANT = 'merchant';

export const proposerOf = (act: ApprovalAct): string =>
  act.kind === 'transaction' && act.order.kind === 'refund' ? MERCHANT : act.proposedBy;

/** People who must not approve the action. */
export const partiesOf = (act: ApprovalAct): readonly string[] => [
  proposerOf(act),
  ...(act.kind === 'take_over' && act.requestedBy !== null ? [act.requestedBy] : []),
];

export const modeOf = (act: ApprovalAct): 'live' | 'test' =>
  'order' in act
    ? act.order.mode
    : 'destination' in act
      ? act.destination.mode
      : 'adjustment' in act
        ? act.adjustment.mode
        : act.mode;

/** The exact terms, one per line; null if there is nothing of the kind to approve. */
export function termsOf(act: ApprovalAct, context: TermsContext): readonly Line[] | null {
  switch (act.kind) {
    case 'transaction':
      return transactionTerms(act.order, context.exceedsAccount(act.order) ? BEYOND_ACCOUNT : []);
    case 'settlement_address': {
      const { mode, network, merchantId, address } = act.destination;
      const change = destinationsOf(context.entries, act.destination).length + 1;
      return [
        ['action', OTHER_ACTIONS.settlementAddress],
        ['to', address],
        ...placeOf(mode, network),
        ['merchant', merchantId],
        ['order', `${merchantId}/${network}/${change}`],
      ];
    }
    case 'resume': {
      const stop = context.entries.findLast((entry) => entry.kind === 'stopped' || entry.kind === 'resumed');
      if (stop?.kind !== 'stopped') return null;
      return [
        ['action', `${OTHER_ACTIONS.resume}${onOneLine(stop.by)} stopped`],
        ...lostPlaces(context.entries, act.anew).map(({ network, place }): Line => [
          'begin anew',
          `${network}, though this journal does not hold entry ${place.seq} (${place.hash}), up to which the event log has paid`,
        ]),
        ['mode', act.mode],
        ['order', `stop-${stop.seq}`],
      ];
    }
    case 'adjustment':
      return adjustmentTerms(act.adjustment);
    case 'acknowledge':
      return acknowledgeTerms(act, context.entries);
    case 'take_over':
      return takeOverTerms(act, context.entries);
    case 'limits': {
      const changes = changesOf(context.limits.inForce, context.limits.wanted);
      if (changes.length === 0) return null;
      const named = changes.map((change): Line => ['change', change]);
      // Bound to the preceding limits, so that an approval is not valid for all later times.
      const before = context.entries.findLast((entry) => entry.kind === 'limits')?.seq ?? 0;
      return [['action', OTHER_ACTIONS.limits], ...named, ['mode', act.mode], ['order', `limits-${before}`]];
    }
  }
}

export const adjustmentTerms = ({
  adjustmentId,
  mode,
  network,
  coin,
  lines,
  reason,
  attachment,
  reverses,
}: ProposedAdjustment): readonly Line[] => [
  ['action', reverses === null ? OTHER_ACTIONS.adjustment : OTHER_ACTIONS.reversal],
  ...lines.map(({ account, amount }): Line =>
    amount.startsWith('-')
      ? ['credit', `${amount.slice(1)} ${coin} ${account}`]
      : ['debit', `${amount} ${coin} ${account}`],
  ),
  ...placeOf(mode, network),
  ['reason', reason],
  ...(attachment === null ? [] : [['attachment', `sha-256 ${attachment}`] as const]),
  ...(reverses === null ? [] : [['reverses', reverses] as const]),
  ['order', adjustmentId],
];

/** What an approval is for, whoever proposed it. Another amount or payee needs another approval. */
export const hashOf = (terms: unknown): string => hash('sha256', JSON.stringify(terms), 'hex');

/** The complete text to sign. Values contain no line breaks, which the request schemas exclude. */
export const textOf = (terms: readonly Line[], proposedBy: string, validUntilMs: number, number: string): string =>
  [
    'Quittance approval',
    ...[
      ...terms,
      ['proposed by', proposedBy],
      ['valid until', new Date(validUntilMs).toISOString()],
      ['number', number],
    ].map(([label, value]) => `${label}: ${value}`),
  ].join('\n');

/** Approved apart, so that nobody who approved a large payment has approved that others pay for it. */
export const BEYOND_ACCOUNT: readonly Line[] = [
  ['account', "not covered by what the books hold for it: other people's money would pay it"],
];

export function transactionTerms(order: OutgoingTransaction, further: readonly Line[] = []): readonly Line[] {
  const { kind, mode, network, id, coin, amount, fromAddress, toAddress, merchantId, refund, deposits, transfer } =
    order;
  return [
    ['action', TRANSACTION_ACTIONS[kind]],
    ['amount', `${amount} ${coin}`],
    ['from', kind === 'refund' ? 'the treasury' : fromAddress],
    ['to', toAddress],
    ...placeOf(mode, network),
    ...(merchantId === null ? [] : [['merchant', merchantId] as const]),
    ...(refund === null
      ? []
      : ([
          ['refund', refund.refundId],
          ['session', refund.sessionId],
        ] as const)),
    ...(kind === 'return' ? deposits.map(({ depositKey }) => ['transfer', depositKey] as const) : []),
    ...(transfer ? [['transfer', `${transfer.txHash} to ${transfer.toAddress}`] as const] : []),
    ...further,
    ['order', id],
  ];
}

function acknowledgeTerms(
  { mode, network, outflowKeys, reason }: Extract<ApprovalAct, { kind: 'acknowledge' }>,
  entries: readonly JournalEntry[],
) {
  const meant = openOutflows(entries, network).filter(({ outflowKey }) => outflowKeys.includes(outflowKey));
  if (meant.length === 0) return null;
  const lines = meant.map(({ outflowKey, amount, coin, address, toAddress }): Line => {
    const money = amount === null || coin === null ? 'no coin of ours' : `${amount} ${coin}`;
    return ['outflow', `${money} from ${address} to ${toAddress ?? 'several, or nobody known'} (${outflowKey})`];
  });
  return [
    ['action', OTHER_ACTIONS.acknowledge],
    ...lines,
    ...placeOf(mode, network),
    ['reason', reason],
    ['order', `outflow-${meant.map(({ seq }) => seq).join('-')}`],
  ] as const;
}

/** In the journal's own words, whatever a service claims. */
function takeOverTerms(
  { mode, network, txHash, reason, requestedBy }: Extract<ApprovalAct, { kind: 'take_over' }>,
  entries: readonly JournalEntry[],
) {
  const signed = bytesOf(entries).find((entry) => entry.network === network && entry.txHash === txHash);
  if (!signed) return null;
  const { purpose, units, coin, fromAddress, toAddress, id, attempt } = signed;
  return [
    ['action', OTHER_ACTIONS.takeOver],
    ['payment', TRANSACTION_ACTIONS[purpose]],
    ['amount', `${formatAmount(BigInt(units))} ${coin}`],
    ['from', fromAddress],
    ['to', toAddress],
    ...placeOf(mode, network),
    ['transaction', txHash],
    ...(requestedBy === null ? [] : [['asked for by', requestedBy] as const]),
    ['reason', reason],
    ['order', `${id}/${attempt}`],
  ] as const;
}

const placeOf = (mode: string, network: string): readonly Line[] => [
  ['network', network],
  ['mode', mode],
];

/** Outflows that were reported and that two people have not explained yet. */
export function openOutflows(entries: readonly JournalEntry[], network: string): OutflowEntry[] {
  const explained = new Set(
    entries.flatMap((entry) => (entry.kind === 'acknowledged' && entry.network === network ? entry.outflowKeys : [])),
  );
  return entries.filter(
    (entry): entry is OutflowEntry =>
      entry.kind === 'outflow' && entry.network === network && !explained.has(entry.outflowKey),
  );
}

/** The addresses that two people approved for a merchant on a network; the last one is in force. */
export const destinationsOf = (
  entries: readonly JournalEntry[],
  { network, merchantId }: { readonly network: string; readonly merchantId: string | null },
): DestinationEntry[] =>
  entries.filter(
    (entry): entry is DestinationEntry =>
      entry.kind === 'destination' && entry.network === network && entry.merchantId === merchantId,
  );
