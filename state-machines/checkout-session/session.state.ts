import type { RefundFailureReason } from '../../src/domain/events/refund-failures.ts';
import type {
  DepositConfirmed,
  DepositDetected,
  DepositKind,
  PaymentOption,
  SessionCancelled,
  SessionCreated,
  SessionExpired,
  SessionFailed,
  SessionPaid,
  TransferCredited,
} from '../../src/domain/events/session-events.ts';
import type { RefundLeg, RefundPayoutSigned, RefundRequested } from '../../src/domain/events/refund-events.ts';
import { amountOf, type Coin, most } from '../../src/domain/money/money.ts';
import { refundableOf } from '../../src/domain/money/refundable.ts';
import type { Sender } from '../../src/domain/networks/senders.ts';
import { must } from '../../src/domain/values/must.ts';

/** The state of a session's machine: facts folded from its events, and the sums that the guards need. */
export interface SessionContext {
  readonly created: SessionCreated['data'] | null;
  /** Due and tolerance in 10^-18 units of the due coin. */
  readonly due: bigint;
  readonly tolerance: bigint;
  /** Only moves earlier. */
  readonly expiresAtSec: number;
  readonly deposits: Readonly<Record<string, DepositState>>;
  readonly refunds: Readonly<Record<string, RefundState>>;
  /** By deposit key: the newest operator decision carried out here. */
  readonly operations: Readonly<Record<string, number>>;
  /** True once enough on-time money was seen, final or not. */
  readonly sufficientSeen: boolean;
  readonly paid: SessionPaid['data'] | null;
  /** On-time money that had been refunded when the session was paid. */
  readonly returnedUnpaid: bigint;
  /** Keys of the deposits that paid it, in block order. */
  readonly paidBy: readonly string[];
  readonly expired: SessionExpired['data'] | null;
  readonly failed: SessionFailed['data'] | null;
  readonly cancelled: SessionCancelled['data'] | null;
}

export interface DepositState {
  readonly facts: DepositDetected['data'];
  readonly kind: DepositKind;
  readonly units: bigint;
  readonly status: 'detected' | 'final' | 'reverted' | 'failed';
  /** When it last left the chain; kept once it is back. */
  readonly revertedAtSec?: number;
  /** The sender; absent while unknown. */
  readonly sender?: Sender;
  /** The decision that set it aside, and the amount: it then does not belong to this session. */
  readonly aside?: { readonly operation: number; readonly coin: Coin; readonly units: bigint };
  /** Present if it arrived at another address and an operator attached it. */
  readonly credit?: TransferCredited['data'];
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
  deposits: {},
  refunds: {},
  operations: {},
  sufficientSeen: false,
  paid: null,
  returnedUnpaid: 0n,
  paidBy: [],
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
  Object.values(context.deposits).filter(({ aside }) => aside === undefined);

/** Final on-time money of the due coin, wherever it went since. */
export function arrived(context: SessionContext): bigint {
  return sum(
    depositsOf(context)
      .filter((deposit) => deposit.kind === 'on_time' && deposit.status === 'final')
      .map((deposit) => deposit.units),
  );
}

/** On-time money of the due coin that was seen but is not final. */
export function pending(context: SessionContext): bigint {
  return sum(
    depositsOf(context)
      .filter((deposit) => deposit.kind === 'on_time' && deposit.status === 'detected')
      .map((deposit) => deposit.units),
  );
}

export function hasPending(context: SessionContext): boolean {
  return depositsOf(context).some((deposit) => deposit.kind === 'on_time' && deposit.status === 'detected');
}

export function isSufficient(context: SessionContext, units: bigint): boolean {
  return units >= context.due - context.tolerance;
}

/** Final money of a coin other than our own, whatever its kind; all of it can be refunded to its payers. */
export function finalOf(context: SessionContext, coin: Coin): bigint {
  return sum(
    depositsOf(context)
      .filter(({ facts, kind, status }) => facts.coin === coin && status === 'final' && kind !== 'own')
      .map((deposit) => deposit.units),
  );
}

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

/** By deposit key: what refunds have paid out of it or hold reserved. A failed leg is released. */
export function takenByDeposit({ refunds }: SessionContext): ReadonlyMap<string, bigint> {
  const taken = new Map<string, bigint>();
  for (const { legs } of Object.values(refunds))
    for (const { leg, status } of Object.values(legs)) {
      if (status === 'FAILED') continue;
      for (const { depositKey, amount } of leg.takenFrom)
        taken.set(depositKey, (taken.get(depositKey) ?? 0n) + amountOf(amount));
    }
  return taken;
}

/**
 * What a refund may still take of a deposit; never negative, and nothing while the deposit is not final, or where it is
 * our own money.
 */
export function leftOf(
  { facts, kind, status, units, aside }: DepositState,
  taken: ReadonlyMap<string, bigint>,
): bigint {
  const left = units - (taken.get(facts.depositKey) ?? 0n);
  return status === 'final' && kind !== 'own' && aside === undefined && left > 0n ? left : 0n;
}

/** The most that a refund of this coin without a named deposit may take. */
export function refundable(context: SessionContext, coin: Coin): bigint {
  const taken = takenByDeposit(context);
  const ofCoin = Object.values(context.deposits).filter(({ facts }) => facts.coin === coin);
  return sum(
    ofCoin.map((deposit) =>
      refundableOf({ kind: deposit.kind, fromAddress: deposit.facts.fromAddress, left: leftOf(deposit, taken) }),
    ),
  );
}

/** Final on-time money that refunds have neither paid out nor reserved; refunded money pays nothing. */
export function held(context: SessionContext): bigint {
  const taken = takenByDeposit(context);
  return sum(onTimeOf(context).map((deposit) => leftOf(deposit, taken)));
}

const onTimeOf = (context: SessionContext): DepositState[] =>
  depositsOf(context).filter(({ kind, status }) => kind === 'on_time' && status === 'final');

/**
 * The deposits that pay the order: those that did when it was paid, and further on-time money by block time while that
 * is not enough. On-time money that arrived when there already was enough pays nothing.
 */
export function depositsOfOrder(context: SessionContext): DepositState[] {
  const taken = takenByDeposit(context);
  const onTime = onTimeOf(context).sort((one, other) => one.facts.blockTimeSec - other.facts.blockTimeSec);
  const paying = onTime.filter(({ facts }) => context.paidBy.includes(facts.depositKey));
  let units = sum(paying.map((deposit) => deposit.units));
  for (const deposit of onTime) {
    if (units > 0n && isSufficient(context, units)) break;
    const left = leftOf(deposit, taken);
    if (left === 0n || paying.includes(deposit)) continue;
    paying.push(deposit);
    units += left;
  }
  return paying;
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
export const suffices = (context: SessionContext): boolean =>
  isSufficient(context, held(context) + pending(context)) && (held(context) > 0n || hasPending(context));

/** Changes one known deposit and records whether enough was ever seen. */
export function withDeposit(
  context: SessionContext,
  key: string,
  change: (deposit: DepositState) => DepositState,
): Partial<SessionContext> {
  const deposit = context.deposits[key];
  if (!deposit) return {};
  const deposits = { ...context.deposits, [key]: change(deposit) };
  return { deposits, sufficientSeen: context.sufficientSeen || suffices({ ...context, deposits }) };
}

/**
 * How a confirmed deposit changes the context; the decider also uses this before the machine does. The event's kind
 * counts, as for every other reader, whatever later rules would say about its block.
 */
export function foldConfirmed(context: SessionContext, data: DepositConfirmed['data']): Partial<SessionContext> {
  return withDeposit(context, data.depositKey, (deposit) => {
    const facts = {
      ...deposit.facts,
      blockNumber: data.blockNumber,
      blockHash: data.blockHash,
      blockTimeSec: data.blockTimeSec,
    };
    return {
      ...deposit,
      facts,
      kind: data.kind ?? deposit.kind,
      status: 'final',
      ...(data.sender && { sender: data.sender }),
    };
  });
}
