import type { Valuation } from '../../src/domain/events/coin-events.ts';
import type {
  DepositConfirmed,
  DepositFacts,
  DepositReverted,
  SessionEvent,
} from '../../src/domain/events/session-events.ts';
import { amountOf, formatAmount, most } from '../../src/domain/money/money.ts';
import { accept, refuse, type Decision } from '../../src/domain/values/result.ts';
import { must } from '../../src/domain/values/must.ts';
import { chosenBy, foldCoinChosen, openAlternative } from './coin.ts';
import { kindInBlock, kindOf } from './deposit-kind.ts';
import { paymentOf } from './payment.ts';
import {
  createdOf,
  foldConfirmed,
  foldDetected,
  isCounted,
  isPastDeadline,
  optionAt,
  type SessionContext,
} from './session.state.ts';

/* Transfers to a session, as the watchers of chains report them. Every command is safe to repeat. */

export interface RecordDeposit {
  readonly type: 'RecordDeposit';
  readonly facts: DepositFacts;
  /** It came from an address of ours, in whichever mode. */
  readonly isOwn?: boolean;
}
export interface ConfirmDeposit {
  readonly type: 'ConfirmDeposit';
  readonly data: Omit<DepositConfirmed['data'], 'kind'>;
  readonly nowSec: number;
  readonly valuation: Valuation | null;
}
/** A reorganisation put a confirmed deposit into another block. */
export interface MoveDeposit {
  readonly type: 'MoveDeposit';
  readonly facts: DepositFacts;
  readonly headNumber: number;
  readonly nowSec: number;
}
export interface RevertDeposit {
  readonly type: 'RevertDeposit';
  readonly depositKey: string;
  readonly reason: DepositReverted['data']['reason'];
  readonly headNumber: number;
  readonly revertedAtSec: number;
}
/** The transfers of one reading. Those below the dust limit beyond `DUST_KEPT` are left to `CountTogether`. */
export interface RecordDeposits {
  readonly type: 'RecordDeposits';
  readonly transfers: readonly Omit<RecordDeposit, 'type'>[];
}
export interface ConfirmDeposits {
  readonly type: 'ConfirmDeposits';
  readonly confirmations: readonly ConfirmDeposit['data'][];
  readonly nowSec: number;
  readonly valuation: Valuation | null;
}
/** Transfers below the dust limit, in blocks that are final on the chain and were read completely. */
export interface CountTogether {
  readonly type: 'CountTogether';
  readonly transfers: readonly DepositFacts[];
  readonly headNumber: number;
  readonly nowSec: number;
  readonly valuation: Valuation | null;
}

export type DepositCommand =
  | RecordDeposit
  | RecordDeposits
  | ConfirmDeposit
  | ConfirmDeposits
  | CountTogether
  | MoveDeposit
  | RevertDeposit;

/** Transfers below the dust limit that a session keeps one by one. */
export const DUST_KEPT = 50;

export function decideDeposit(command: DepositCommand, context: SessionContext): Decision<SessionEvent> {
  switch (command.type) {
    case 'RecordDeposit':
      return recordDeposit(command, context);
    case 'RecordDeposits':
      return each(command.transfers, context, recordDeposit);
    case 'ConfirmDeposit':
      return confirmDeposit(command, context);
    case 'ConfirmDeposits':
      return each(command.confirmations, context, (data, now) => confirmDeposit({ ...command, data }, now));
    case 'CountTogether':
      return countTogether(command, context);
    case 'MoveDeposit':
      return moveDeposit(command, context);
    case 'RevertDeposit':
      return revertDeposit(command, context);
  }
}

/** Decides one after another, each on what the earlier ones decided. */
function each<Item>(
  items: Iterable<Item>,
  context: SessionContext,
  decide: (item: Item, context: SessionContext) => Decision<SessionEvent>,
): Decision<SessionEvent> {
  const events: SessionEvent[] = [];
  let now = context;
  for (const item of items) {
    const decision = decide(item, now);
    if (!decision.ok) return decision;
    for (const event of decision.events) {
      events.push(event);
      now = { ...now, ...folded(now, event) };
    }
  }
  return accept(...events);
}

function folded(context: SessionContext, event: SessionEvent): Partial<SessionContext> {
  switch (event.type) {
    case 'CoinChosen':
      return foldCoinChosen(context);
    case 'DepositDetected':
      return foldDetected(context, event.data);
    case 'DepositConfirmed':
      return foldConfirmed(context, event.data);
    case 'SessionPaid':
      return { paid: event.data };
    default:
      throw new Error(`${event.type} is not decided with deposits`);
  }
}

function recordDeposit({ facts, isOwn }: Omit<RecordDeposit, 'type'>, context: SessionContext): Decision<SessionEvent> {
  const known = context.deposits.get(facts.depositKey);
  if (known && (known.credit || known.status === 'detected' || known.status === 'final')) return accept();
  // Whatever look-up led to this session, only its own events tell what it offered.
  if (!optionAt(createdOf(context), facts.toAddress))
    return refuse('conflict', `${facts.toAddress} is not an address of this session`);
  if (facts.together === undefined && isCounted(context, facts)) return accept();
  const kind = isOwn === true ? 'own' : kindOf(context, facts);
  const isOneOfMany = kind === 'dust' && facts.together === undefined && context.deposits.sums.dustCount >= DUST_KEPT;
  if (isOneOfMany && !known) return accept();
  const other = kind === 'on_time' && facts.coin !== createdOf(context).dueCoin ? must(openAlternative(context)) : null;
  const detected: SessionEvent = { type: 'DepositDetected', data: { ...facts, kind } };
  return other
    ? accept<SessionEvent>({ type: 'CoinChosen', data: chosenBy(other) }, detected)
    : accept<SessionEvent>(detected);
}

function confirmDeposit(
  { data, nowSec, valuation }: Omit<ConfirmDeposit, 'type'>,
  context: SessionContext,
): Decision<SessionEvent> {
  const deposit = context.deposits.get(data.depositKey);
  if (deposit?.status !== 'detected') return accept();
  const kind = kindInBlock(context, deposit, data);
  const facts = { ...data, ...(kind !== deposit.kind && { kind }) };
  const confirmed: SessionEvent = { type: 'DepositConfirmed', data: facts };
  const after = { ...context, ...foldConfirmed(context, facts) };
  return accept<SessionEvent>(confirmed, ...paymentOf(after, { paidAtSec: nowSec, valuation }));
}

/**
 * A late deposit that is on time in its new block is detected again, because it pays once that block is confirmed; one
 * that an operator set aside pays when it is put back.
 */
function moveDeposit({ facts, headNumber, nowSec }: MoveDeposit, context: SessionContext): Decision<SessionEvent> {
  const { depositKey } = facts;
  const deposit = context.deposits.get(depositKey);
  const isLate = deposit?.status === 'final' && deposit.kind === 'late' && !deposit.credit;
  const kind = isLate ? kindInBlock(context, deposit, facts) : 'late';
  if (kind === 'late') return accept();
  const left = { depositKey, reason: 'reorg', afterFinal: true, headNumber, revertedAtSec: nowSec } as const;
  return accept<SessionEvent>(
    { type: 'DepositReverted', data: left },
    { type: 'DepositDetected', data: { ...facts, kind } },
  );
}

function revertDeposit(
  { depositKey, reason, headNumber, revertedAtSec }: RevertDeposit,
  context: SessionContext,
): Decision<SessionEvent> {
  const { status, credit } = context.deposits.get(depositKey) ?? {};
  if (credit || (status !== 'detected' && status !== 'final')) return accept();
  return accept({
    type: 'DepositReverted',
    data: { depositKey, reason, afterFinal: status === 'final', headNumber, revertedAtSec },
  });
}

/**
 * What each address received of a coin becomes one deposit, in time and late money apart. It counts like any other of
 * that amount, so that many small payments may pay together.
 */
function countTogether(
  { transfers, headNumber, nowSec, valuation }: CountTogether,
  context: SessionContext,
): Decision<SessionEvent> {
  const left = transfers.filter(
    (facts) => context.deposits.get(facts.depositKey) === undefined && !isCounted(context, facts),
  );
  const groups = Map.groupBy(left, (facts) =>
    [facts.network, facts.toAddress, facts.coin, isPastDeadline(context, facts)].join(' '),
  );
  const deposits = [...groups.values()].map(sumOf).toSorted((one, other) => one.blockNumber - other.blockNumber);
  return each(deposits, context, (facts, now) => {
    const confirmation = { depositKey: facts.depositKey, rule: { kind: 'finalized' }, headNumber } as const;
    const { blockNumber, blockHash, blockTimeSec } = facts;
    const data = { ...confirmation, blockNumber, blockHash, blockTimeSec };
    return each(
      [
        (then: SessionContext) => recordDeposit({ facts }, then),
        (then: SessionContext) => confirmDeposit({ data, nowSec, valuation }, then),
      ],
      now,
      (decide, then) => decide(then),
    );
  });
}

function sumOf(transfers: readonly DepositFacts[]): DepositFacts {
  const newest = transfers.reduce((one, other) => (other.blockNumber >= one.blockNumber ? other : one));
  const units = transfers.map(({ amount }) => amountOf(amount));
  const { network, coin, toAddress, blockNumber } = newest;
  return {
    ...newest,
    depositKey: `${network}:together-${coin}-${blockNumber}:${toAddress}`,
    amount: formatAmount(units.reduce((sum, each) => sum + each, 0n)),
    fromAddress: null,
    unknownPayer: 'counted_together',
    together: {
      transfers: transfers.length,
      fromBlock: transfers.reduce((first, facts) => Math.min(first, facts.blockNumber), blockNumber),
      largest: formatAmount(units.reduce(most, 0n)),
    },
  };
}
