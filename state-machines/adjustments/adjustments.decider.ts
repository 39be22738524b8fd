import type { AdjustmentEvent, AdjustmentPosted, AdjustmentTerms } from '../../src/domain/events/adjustment-events.ts';
import { isAdjustable } from '../../src/domain/money/ledger.ts';
import { formatAmount, isCoin, parseAmount } from '../../src/domain/money/money.ts';
import { NATIVE_COIN } from '../../src/domain/networks/networks.ts';
import { lookOf, sameName } from '../../src/domain/values/names.ts';
import { accept, refuse, type Decision, type Refusal } from '../../src/domain/values/result.ts';
import { mayReverse, type AdjustmentsContext, type AdjustmentsValue } from './adjustments.machine.ts';

export interface AdjustmentsState {
  readonly value: AdjustmentsValue;
  readonly context: AdjustmentsContext;
}

/* Commands: imperative, with every fact from outside as data. */

export type AdjustmentsCommand =
  | { readonly type: 'ProposeAdjustment'; readonly terms: AdjustmentTerms; readonly nowSec: number }
  | ({ readonly type: 'PostAdjustment'; readonly adjustmentId: string; readonly nowSec: number } & Pick<
      AdjustmentPosted['data'],
      'approvers' | 'reversesEvent'
    >)
  | {
      readonly type: 'RejectAdjustment';
      readonly adjustmentId: string;
      readonly actor: string;
      readonly nowSec: number;
    };

type Of<Type extends AdjustmentsCommand['type']> = Extract<AdjustmentsCommand, { type: Type }>;

const APPROVALS_NEEDED = 2;
const MAX_LINES = 100;
/** Limit of open proposals, which people do not reach. */
const MAX_PROPOSED = 100;
const MAX_REASON = 500;

/** Manual entries in the books. Repeating a command adds no events. */
export function decideAdjustments(
  command: AdjustmentsCommand,
  { context }: AdjustmentsState,
): Decision<AdjustmentEvent> {
  switch (command.type) {
    case 'ProposeAdjustment':
      return propose(command, context);
    case 'PostAdjustment':
      return post(command, context);
    case 'RejectAdjustment':
      return reject(command, context);
  }
}

function propose({ terms, nowSec }: Of<'ProposeAdjustment'>, context: AdjustmentsContext): Decision<AdjustmentEvent> {
  const { adjustments } = context;
  if (Object.hasOwn(adjustments, terms.adjustmentId)) return refuse('conflict', `${terms.adjustmentId} already exists`);
  const wrong = termsFault(terms) ?? reversalFault(terms, context);
  if (wrong) return { ok: false, refusal: wrong };
  if (Object.values(adjustments).filter(({ status }) => status === 'proposed').length >= MAX_PROPOSED)
    return refuse('conflict', `${MAX_PROPOSED} adjustments are already proposed: approve or reject some`);
  return accept({ type: 'AdjustmentProposed', data: { ...terms, proposedAtSec: nowSec } });
}

function post(
  { adjustmentId, approvers, reversesEvent, nowSec }: Of<'PostAdjustment'>,
  context: AdjustmentsContext,
): Decision<AdjustmentEvent> {
  const known = context.adjustments[adjustmentId];
  if (!known) return refuse('not_found', 'no such adjustment is proposed', 'id');
  if (known.status === 'posted') return accept();
  const { terms } = known;
  if (new Set(approvers.filter((name) => !sameName(name, terms.proposedBy)).map(lookOf)).size < APPROVALS_NEEDED)
    return refuse('conflict', 'two people other than the proposer have not approved it yet');
  if (!mayReverse(context, terms.reverses))
    return refuse('conflict', `${terms.reverses} was already reversed`, 'reverses');
  if ((terms.reverses === null) !== (reversesEvent === null))
    throw new Error('only a reversal names an event, and it must name one');
  return accept({ type: 'AdjustmentPosted', data: { ...terms, approvers, reversesEvent, postedAtSec: nowSec } });
}

function reject(
  { adjustmentId, actor, nowSec }: Of<'RejectAdjustment'>,
  { adjustments }: AdjustmentsContext,
): Decision<AdjustmentEvent> {
  const known = adjustments[adjustmentId];
  if (!known) return refuse('not_found', 'no such adjustment is proposed', 'id');
  if (known.status === 'posted') return refuse('conflict', 'it is already posted: propose one that reverses it', 'id');
  return accept({ type: 'AdjustmentRejected', data: { adjustmentId, actor, rejectedAtSec: nowSec } });
}

function termsFault({ network, coin, lines, reason, attachment }: AdjustmentTerms): Refusal | null {
  const invalid = (message: string, param: string): Refusal => ({ code: 'invalid_request', message, param });
  if (reason.trim() === '' || reason.length > MAX_REASON)
    return invalid(`reason must have from 1 to ${MAX_REASON} characters`, 'reason');
  if (attachment !== null && !/^[0-9a-f]{64}$/.test(attachment))
    return invalid('attachment must be a SHA-256 in hex', 'attachment');
  if (!isCoin(coin) && coin !== NATIVE_COIN[network])
    return invalid(`coin must be USDT, USDC or ${NATIVE_COIN[network]} on ${network}`, 'coin');
  if (lines.length < 2 || lines.length > MAX_LINES)
    return invalid(`debit and credit must name from 2 to ${MAX_LINES} lines together`, 'lines');
  let sum = 0n;
  for (const { account, amount } of lines) {
    if (!isAdjustable(account))
      return invalid(`${account} accepts no manual entries: it follows from chains, orders and transfers`, 'account');
    const units = signedUnits(amount);
    if (units === 0n) return invalid(`the amount of ${account} must be a decimal amount other than zero`, 'amount');
    sum += units;
  }
  return sum === 0n
    ? null
    : invalid(`debits and credits must be equal: they differ by ${formatAmount(sum)} ${coin}`, 'lines');
}

function signedUnits(text: string): bigint {
  return text.startsWith('-') ? -(parseAmount(text.slice(1)) ?? 0n) : (parseAmount(text) ?? 0n);
}

function reversalFault(terms: AdjustmentTerms, context: AdjustmentsContext): Refusal | null {
  if (terms.reverses === null) return null;
  const conflict = (message: string): Refusal => ({ code: 'conflict', message, param: 'reverses' });
  const original = context.adjustments[terms.reverses];
  if (original?.status !== 'posted') return conflict(`${terms.reverses} is not a posted adjustment`);
  if (original.reversedBy !== null) return conflict(`${terms.reverses} was reversed by ${original.reversedBy}`);
  const { network, coin, lines } = reversalOf(original.terms);
  const isExact = JSON.stringify([network, coin, lines]) === JSON.stringify([terms.network, terms.coin, terms.lines]);
  return isExact
    ? null
    : conflict(`a reversal of ${terms.reverses} must have its lines with debits and credits exchanged`);
}

/** The lines that reverse an adjustment. */
export const reversalOf = ({
  network,
  coin,
  lines,
}: AdjustmentTerms): Pick<AdjustmentTerms, 'network' | 'coin' | 'lines'> => ({
  ...{ network, coin },
  lines: lines.map(({ account, amount }) => ({
    account,
    amount: amount.startsWith('-') ? amount.slice(1) : `-${amount}`,
  })),
});
