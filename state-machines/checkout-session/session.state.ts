import type { RefundFailureReason } from '../../src/domain/events/refund-failures.ts';
import type {
  DepositConfirmed,
  DepositDetected,
  DepositFacts,
  DepositReverted,
  PaymentOption,
  SessionCancelled,
  SessionCreated,
  SessionExpired,
  SessionFailed,
  SessionPaid,
} from '../../src/domain/events/session-events.ts';
import type { RefundLeg, RefundPayoutSigned, RefundRequested } from '../../src/domain/events/refund-events.ts';
import { amountOf, type Coin, most } from '../../src/domain/money/money.ts';
import { must } from '../../src/domain/values/must.ts';
import { Deposits, leftOf, type DepositState } from './deposits.ts';

/** The state of a session's machine: facts folded from its events, and the sums that the guards need. */
export interface SessionContext {
  readonly created: SessionCreated['data'] | null;
  /** Due and tolerance in 10^-18 units of the due coin. */
  readonly due: bigint;
  readonly tolerance: bigint;
  /** Only moves earlier. */
  readonly expiresAtSec: number;
  readonly deposits: Deposits;
  readonly refunds: Readonly<Record<string, RefundState>>;
  /** By network, address and coin: how far transfers below the dust limit were counted together. */
  readonly counted: Readonly<Record<string, Counted>>;
  /** By deposit key: the newest operator decision carried out here. */
  readonly operations: Readonly<Record<string, number>>;
  /** True once enough on-time money was seen, final or not. */
  readonly sufficientSeen: boolean;
  readonly paid: SessionPaid['data'] | null;
  /** On-time money that had been refunded when the session was paid. */
  readonly returnedUnpaid: bigint;
  /** Keys of the deposits that paid it, in block order. */
  readonly paidBy: ReadonlySet<string>;
  readonly expired: SessionExpired['data'] | null;
  readonly failed: SessionFailed['data'] | null;
  readonly cancelled: SessionCancelled['data'] | null;
}

/** Every transfer up to this block that is no larger was counted. */
export interface Counted {
  readonly throughBlock: number;
  readonly largest: bigint;
}

export interface RefundState {
  readonly requested: RefundRequested['data'];
  readonly units: bigint;
  readonly status: 'PENDING' | 'PROCESSING' | 'COMPLETED' | 'FAILED';
  readonly legs: Readonly<Record<string, LegState>>;
  readonly updatedAtSec: number;
  readonly failureReason: RefundFailureReason | null;
  readonly returned: bigint;
}

export interface LegState {
  readonly leg: RefundLeg;
  readonly units: bigint;
  readonly status: 'PENDING' | 'PROCESSING' | 'COMPLETED' | 'FAILED';
  /** Every transaction signed for this leg, oldest first; at most one of them can land. */
  readonly txHashes: readonly string[];
  /** The same with their bytes, which are broadcast again until one of them lands. */
  readonly payouts: readonly RefundPayoutSigned['data'][];
  readonly landedTxHash: string | null;
  /** The block it landed in; null before. */
  readonly landedIn: { readonly blockNumber: number; readonly blockHash: string } | null;
  readonly networkFee: string | null;
  readonly failureReason: RefundFailureReason | null;
}

export const initialContext: SessionContext = {
  created: null,
  due: 0n,
  tolerance: 0n,
  expiresAtSec: 0,
  deposits: Deposits.NONE,
  counted: {},
  refunds: {},
  operations: {},
  sufficientSeen: false,
  paid: null,
  returnedUnpaid: 0n,
  paidBy: new Set(),
  expired: null,
  failed: null,
  cancelled: null,
};

/** Only an absent session was never created. */
export const createdOf = ({ created }: SessionContext): SessionCreated['data'] => must(created);

const sum = (amounts: Iterable<bigint>): bigint => {
  let total = 0n;
  for (const amount of amounts) total += amount;
  return total;
};

/**
 * EVM addresses have several notations and serve several networks, so a payer may have used a network that the session
 * did not offer.
 */
export const optionAt = (
  { paymentOptions }: Pick<SessionCreated['data'], 'paymentOptions'>,
  given: string,
): PaymentOption | undefined => paymentOptions.find(({ address }) => address.toLowerCase() === given.toLowerCase());

/** Without those set aside, which do not belong to the session. */
export const depositsOf = (context: SessionContext): DepositState[] =>
  [...context.deposits].filter(({ aside }) => aside === undefined);

/** Final on-time money of the due coin, wherever it went since. */
export const arrived = ({ deposits }: SessionContext): bigint => deposits.sums.arrived;

/** On-time money of the due coin that was seen but is not final. */
export const pending = ({ deposits }: SessionContext): bigint => deposits.sums.pending;

export const hasPending = ({ deposits }: SessionContext): boolean => deposits.sums.pendingCount > 0;

export function isSufficient(context: SessionContext, units: bigint): boolean {
  return units >= context.due - context.tolerance;
}

/** Final money of a coin other than our own, whatever its kind; all of it can be refunded to its payers. */
export const finalOf = ({ deposits }: SessionContext, coin: Coin): bigint => deposits.sums.final[coin];

/** Money of a coin that refunds have paid out or hold reserved. A failed leg is released. */
export function refundedOrReserved(context: SessionContext, coin: Coin): bigint {
  return sum(
    Object.values(context.refunds)
      .flatMap((refund) => Object.values(refund.legs))
      .filter((leg) => leg.leg.coin === coin && leg.status !== 'FAILED')
      .map((leg) => leg.units),
  );
}

export function refunded(context: SessionContext, coin: Coin): bigint {
  return sum(
    Object.values(context.refunds)
      .flatMap((refund) => Object.values(refund.legs))
      .filter((leg) => leg.leg.coin === coin && leg.status === 'COMPLETED')
      .map((leg) => leg.units),
  );
}

/** The most that a refund of this coin without a named deposit may take. */
export const refundable = ({ deposits }: SessionContext, coin: Coin): bigint => deposits.sums.refundable[coin];

/** Final on-time money that refunds have neither paid out nor reserved; refunded money pays nothing. */
export const held = ({ deposits }: SessionContext): bigint => deposits.sums.held;

const onTimeOf = (context: SessionContext): DepositState[] =>
  depositsOf(context).filter(({ kind, status }) => kind === 'on_time' && status === 'final');

/**
 * The deposits that pay the order: those that did when it was paid, and further on-time money by block time while that
 * is not enough. On-time money that arrived when there already was enough pays nothing.
 */
export function depositsOfOrder(context: SessionContext): DepositState[] {
  const onTime = onTimeOf(context).sort((one, other) => one.facts.blockTimeSec - other.facts.blockTimeSec);
  const [paying, others] = [true, false].map((pays) =>
    onTime.filter(({ facts }) => context.paidBy.has(facts.depositKey) === pays),
  );
  const all = [...must(paying)];
  let units = sum(all.map((deposit) => deposit.units));
  for (const deposit of must(others)) {
    if (units > 0n && isSufficient(context, units)) break;
    const left = leftOf(deposit);
    if (left === 0n) continue;
    all.push(deposit);
    units += left;
  }
  return all;
}

/** What the merchant holds beyond what was due. */
export const excess = (context: SessionContext): bigint =>
  context.paid === null ? 0n : most(held(context) - context.due, 0n);

/**
 * A paid session whose money was reverted after it had been final. Money refunded before it was paid never covered it.
 */
export function isReversed(context: SessionContext): boolean {
  return context.paid !== null && !isSufficient(context, arrived(context) - context.returnedUnpaid);
}

export const isPastDeadline = (context: SessionContext, { blockTimeSec }: { blockTimeSec: number }): boolean =>
  blockTimeSec > context.expiresAtSec;

/** Whether on-time money, final or under way, would pay the session. */
const suffices = (context: SessionContext): boolean =>
  isSufficient(context, held(context) + pending(context)) && (held(context) > 0n || hasPending(context));

/** The deposit in place of what was known of it; records whether enough was ever seen. */
export function withDeposit(context: SessionContext, deposit: DepositState): Partial<SessionContext> {
  const deposits = context.deposits.with(deposit);
  return { deposits, sufficientSeen: context.sufficientSeen || suffices({ ...context, deposits }) };
}

/**
 * How a confirmed deposit changes the context; the decider also uses this before the machine does. The event's kind
 * counts, as for every other reader, whatever later rules would say about its block.
 */
export function foldConfirmed(context: SessionContext, data: DepositConfirmed['data']): Partial<SessionContext> {
  const deposit = context.deposits.get(data.depositKey);
  if (!deposit) return {};
  const { blockNumber, blockHash, blockTimeSec, sender } = data;
  return withDeposit(context, {
    ...deposit,
    facts: { ...deposit.facts, blockNumber, blockHash, blockTimeSec },
    kind: data.kind ?? deposit.kind,
    status: 'final',
    ...(sender && { sender }),
  });
}

export function foldDetected(context: SessionContext, data: DepositDetected['data']): Partial<SessionContext> {
  // A transfer that returns after a reorganisation stays where an operator put it, and refunds keep what they took.
  const { aside, taken = 0n } = context.deposits.get(data.depositKey) ?? {};
  return {
    ...withDeposit(context, {
      ...{ facts: data, kind: data.kind, units: amountOf(data.amount), status: 'detected', taken },
      ...(aside !== undefined && { aside }),
    }),
    ...(data.together && withCounted(context, data, data.blockNumber, amountOf(data.together.largest))),
  };
}

export function foldReverted(context: SessionContext, data: DepositReverted['data']): Partial<SessionContext> {
  const deposit = context.deposits.get(data.depositKey);
  if (!deposit) return {};
  const { together, blockNumber } = deposit.facts;
  const status = data.reason === 'failed' ? 'failed' : 'reverted';
  const counted = countedIn(context, deposit.facts);
  return {
    ...withDeposit(context, { ...deposit, status, revertedAtSec: data.revertedAtSec }),
    // Its blocks are read again, and what is still in them is counted again.
    ...(together &&
      counted?.throughBlock === blockNumber &&
      withCounted(context, deposit.facts, together.fromBlock - 1, counted.largest)),
  };
}

type Place = Pick<DepositFacts, 'network' | 'coin' | 'toAddress'>;
const placeOf = ({ network, coin, toAddress }: Place): string => `${network}/${toAddress}/${coin}`;

const countedIn = ({ counted }: SessionContext, place: Place): Counted | undefined => counted[placeOf(place)];

function withCounted(
  { counted }: SessionContext,
  place: Place,
  throughBlock: number,
  units: bigint,
): Pick<SessionContext, 'counted'> {
  const before = counted[placeOf(place)]?.largest ?? 0n;
  return { counted: { ...counted, [placeOf(place)]: { throughBlock, largest: most(before, units) } } };
}

/** Whether the transfer was already counted together with others. */
export function isCounted(
  context: SessionContext,
  facts: Place & Pick<DepositFacts, 'blockNumber' | 'amount'>,
): boolean {
  const counted = countedIn(context, facts);
  return (
    counted !== undefined && facts.blockNumber <= counted.throughBlock && amountOf(facts.amount) <= counted.largest
  );
}
