import type { PlannedPayout, RefundLeg, RefundRequested } from '../../src/domain/events/refund-events.ts';
import { formatAmount, fromTokenUnits, least, amountOf, type Coin } from '../../src/domain/money/money.ts';
import { addressFamilyOf, comparableAddress, type Network } from '../../src/domain/networks/networks.ts';
import { unknownPayerWords } from '../../src/domain/networks/unknown-payer.ts';
import { refundableOf } from '../../src/domain/money/refundable.ts';
import type { Refusal } from '../../src/domain/values/result.ts';
import { depositsOf, depositsOfOrder, refundedOrReserved, type SessionContext } from './session.state.ts';
import { leftOf, type DepositState } from './deposits.ts';
import { must } from '../../src/domain/values/must.ts';

/** What to refund, and the facts needed to split it. */
export interface RefundTerms {
  readonly refundId: string;
  readonly coin: Coin;
  /** 10^-18 units; null requests all that is left. */
  readonly units: bigint | null;
  /** The deposit named by the merchant; null lets the order of payers decide. */
  readonly namedDeposit: string | null;
  /** The payouts that somebody signed: the refund makes these or is refused. */
  readonly planned?: readonly PlannedPayout[] | undefined;
  /** Decimals of the coin's token by network; absent where it cannot be paid out. */
  readonly decimals: Readonly<Partial<Record<Network, number>>>;
}

export type RefundPlan =
  | {
      readonly ok: true;
      readonly units: bigint;
      readonly legs: readonly RefundLeg[];
      readonly refundType: RefundRequested['data']['refundType'];
    }
  | { readonly ok: false; readonly refusal: Refusal };

/** One address on one network, with the money that the refund may take from it. */
interface Payer {
  readonly network: Network;
  readonly address: string;
  /** What it paid of the order; 0 for a stranger. */
  readonly paid: bigint;
  /** Whether it paid the order, on this or another network. */
  readonly isOfOrder: boolean;
  readonly units: bigint;
  readonly newestSec: number;
  /** Deposits that paid nothing of the order first, then the oldest. */
  readonly deposits: readonly { readonly depositKey: string; readonly left: bigint }[];
  readonly left: bigint;
  /** The smallest amount that its token can transfer. */
  readonly unit: bigint;
}

/** Payouts of one refund. The next refund takes what it leaves. */
const MOST_LEGS = 100;
/** The signer's limit of deposits per payout. */
const MOST_DEPOSITS_OF_A_LEG = 1_000;

/**
 * Splits a refund among the payers: first those who paid the order, then the others, largest contribution first. Each
 * gets at most what refunds left of its deposits, in whole units of its token (ADR 0019).
 */
export function planRefund(context: SessionContext, terms: RefundTerms): RefundPlan {
  const { coin, namedDeposit } = terms;
  const fault = namedDeposit === null ? null : faultOf(context, coin, namedDeposit);
  if (fault) return { ok: false, refusal: fault };
  const payers = payersOf(context, terms);
  const most = sumOf(payers);
  const units = terms.units ?? most;
  if (units <= 0n || units > most) return { ok: false, refusal: tooMuch(context, terms, most) };
  const { shares, rest } = allocate(payers, units);
  if (rest > 0n) return { ok: false, refusal: uncarried(coin, units, rest) };
  const legs = [...shares].flatMap(([payer, share]) => legsOf(payer, share, coin));
  if (legs.length > MOST_LEGS) return { ok: false, refusal: manyPayers(coin, legs) };
  if (terms.planned && !isPlanned(legs, terms.planned)) return { ok: false, refusal: CHANGED };
  return {
    ok: true,
    units,
    legs: legs.map((leg, index) => ({ legId: `${terms.refundId}-${index + 1}`, ...leg })),
    refundType: isFull(context, coin, units, most) ? 'full' : 'partial',
  };
}

/** Whether every leg takes its amount from deposits that still have it and were paid by its payee. */
export function isCovered(context: SessionContext, legs: readonly RefundLeg[]): boolean {
  const taken = new Map<string, bigint>();
  return legs.every(({ network, coin, toAddress, amount, takenFrom }) => {
    let units = 0n;
    for (const part of takenFrom) {
      const deposit = context.deposits.get(part.depositKey);
      const share = amountOf(part.amount);
      const isThere = deposit?.facts.network === network && deposit.facts.coin === coin;
      if (!isThere || personOf(deposit) !== person(network, toAddress) || share <= 0n) return false;
      const together = (taken.get(part.depositKey) ?? 0n) + share;
      if (together > leftOf(deposit)) return false;
      taken.set(part.depositKey, together);
      units += share;
    }
    return units > 0n && units === amountOf(amount);
  });
}

/** In the order in which a refund takes their money. */
function payersOf(context: SessionContext, { coin, namedDeposit, decimals }: RefundTerms): Payer[] {
  const ofOrder = new Set(depositsOfOrder(context));
  const people = new Set([...ofOrder].map(personOf));
  const groups = new Map<string, DepositState[]>();
  for (const deposit of depositsOf(context)) {
    const { facts, kind } = deposit;
    const left = leftOf(deposit);
    const may =
      namedDeposit === null
        ? refundableOf({ kind, fromAddress: facts.fromAddress, left }) > 0n
        : facts.depositKey === namedDeposit && left > 0n;
    if (!may || facts.coin !== coin || decimals[facts.network] === undefined) continue;
    const key = `${facts.network}:${personOf(deposit)}`;
    const group = groups.get(key);
    if (group) group.push(deposit);
    else groups.set(key, [deposit]);
  }
  const payers = [...groups.values()].map((deposits): Payer => {
    const isPaying = (deposit: DepositState): boolean => ofOrder.has(deposit);
    const inOrder = deposits.toSorted(
      (one, other) => Number(isPaying(one)) - Number(isPaying(other)) || byAge(one, other),
    );
    const parts = inOrder.map((deposit) => ({ depositKey: deposit.facts.depositKey, left: leftOf(deposit) }));
    const one = must(deposits[0]);
    const { network, fromAddress } = one.facts;
    return {
      network,
      address: must(fromAddress),
      deposits: parts,
      left: sumOf(parts),
      unit: fromTokenUnits(1n, must(decimals[network])),
      paid: unitsOf(deposits.filter(isPaying)),
      isOfOrder: people.has(personOf(one)),
      units: unitsOf(deposits),
      newestSec: deposits.reduce((newest, { facts }) => Math.max(newest, facts.blockTimeSec), 0),
    };
  });
  return payers.sort(
    (one, other) =>
      Number(other.isOfOrder) - Number(one.isOfOrder) ||
      compare(other.paid, one.paid) ||
      compare(other.units, one.units) ||
      other.newestSec - one.newestSec ||
      compare(must(one.deposits[0]).depositKey, must(other.deposits[0]).depositKey),
  );
}

/**
 * Uses as few payers as possible, each with whole units of the coarsest token among them, so that a finer token leaves
 * no remainder that the next one cannot pay. Only what is then missing is taken from the finer ones.
 */
function allocate(
  payers: readonly Payer[],
  units: bigint,
): { readonly shares: ReadonlyMap<Payer, bigint>; readonly rest: bigint } {
  const shares = new Map<Payer, bigint>();
  let enough = 0n;
  const needed = payers.filter(({ left }) => {
    const isNeeded = enough < units;
    enough += left;
    return isNeeded;
  });
  const coarsest = needed.reduce((unit, payer) => (payer.unit > unit ? payer.unit : unit), 1n);
  let rest = units;
  for (const unitFor of [() => coarsest, (payer: Payer) => payer.unit])
    for (const payer of needed) {
      const share = shares.get(payer) ?? 0n;
      const more = roundedDown(least(payer.left - share, rest), unitFor(payer));
      if (more === 0n) continue;
      shares.set(payer, share + more);
      rest -= more;
    }
  return { shares, rest };
}

function legsOf(payer: Payer, share: bigint, coin: Coin): Omit<RefundLeg, 'legId'>[] {
  const { network, address: toAddress, deposits } = payer;
  let rest = share;
  const takenFrom = deposits.flatMap(({ depositKey, left }) => {
    const units = least(left, rest);
    rest -= units;
    return units === 0n ? [] : [{ depositKey, amount: formatAmount(units) }];
  });
  const legs: Omit<RefundLeg, 'legId'>[] = [];
  for (let from = 0; from < takenFrom.length; from += MOST_DEPOSITS_OF_A_LEG) {
    const parts = takenFrom.slice(from, from + MOST_DEPOSITS_OF_A_LEG);
    const units = parts.reduce((total, { amount }) => total + amountOf(amount), 0n);
    legs.push({ network, coin, toAddress, amount: formatAmount(units), takenFrom: parts });
  }
  return legs;
}

/** Whether it is everything received in the coin, or everything that paid the order, in the first refund. */
function isFull(context: SessionContext, coin: Coin, units: bigint, most: bigint): boolean {
  if (refundedOrReserved(context, coin) > 0n) return false;
  return units === most || (coin === context.created?.dueCoin && units === unitsOf(depositsOfOrder(context)));
}

const isPlanned = (legs: readonly PlannedPayout[], planned: readonly PlannedPayout[]): boolean =>
  legs.length === planned.length && legs.every((leg, index) => isSamePayout(leg, must(planned[index])));

const isSamePayout = (one: PlannedPayout, other: PlannedPayout): boolean =>
  (['network', 'coin', 'toAddress', 'amount'] as const).every((part) => one[part] === other[part]);

/* Refusals */

const CHANGED: Refusal = {
  code: 'conflict',
  message: 'the remaining money has changed since the terms were signed: read them again',
};

function faultOf(context: SessionContext, coin: Coin, depositKey: string): Refusal | null {
  const deposit = context.deposits.get(depositKey);
  const invalid = (message: string): Refusal => ({ code: 'invalid_request', message, param: 'transaction_id' });
  if (!deposit || deposit.aside !== undefined) return invalid('transaction_id is not a deposit of this session');
  if (deposit.kind === 'own') return invalid('the deposit is a transfer of this installation itself');
  if (deposit.status !== 'final') return invalid(`the deposit is ${deposit.status}, not final`);
  if (deposit.facts.coin !== coin) return invalid(`the deposit is in ${deposit.facts.coin}`);
  return deposit.facts.fromAddress === null ? { ...nobodyOf([deposit]), param: 'transaction_id' } : null;
}

function nobodyOf(deposits: readonly DepositState[]): Refusal {
  const reasons = new Set(deposits.map(({ facts }) => unknownPayerWords(facts.unknownPayer)));
  return {
    code: 'payer_ambiguous',
    message: `the money has no single payer to refund: ${[...reasons].join('; ')}`,
  };
}

function tooMuch(context: SessionContext, { coin, namedDeposit }: RefundTerms, most: bigint): Refusal {
  const leftWhere = (counts: (deposit: DepositState) => boolean): bigint =>
    depositsOf(context).reduce(
      (total, deposit) => (deposit.facts.coin === coin && counts(deposit) ? total + leftOf(deposit) : total),
      0n,
    );
  const nobodys = leftWhere(({ facts }) => facts.fromAddress === null);
  if (namedDeposit === null && most === 0n && nobodys > 0n)
    return nobodyOf(depositsOf(context).filter(({ facts }) => facts.coin === coin && facts.fromAddress === null));
  const dust = leftWhere(({ kind, facts }) => kind === 'dust' && facts.fromAddress !== null);
  const message = [
    `at most ${formatAmount(most)} ${coin} can be refunded${namedDeposit === null ? '' : ' of this deposit'}`,
    ...(namedDeposit === null && nobodys > 0n ? [`${formatAmount(nobodys)} ${coin} have no single payer`] : []),
    ...(namedDeposit === null && dust > 0n
      ? [`${formatAmount(dust)} ${coin} are dust, which is refunded only by its transaction_id`]
      : []),
  ];
  return { code: 'refund_exceeds_paid', message: message.join('; '), param: 'amount.value' };
}

const uncarried = (coin: Coin, units: bigint, rest: bigint): Refusal => ({
  code: 'invalid_request',
  message: `${formatAmount(units)} ${coin} is not a whole number of units of the payers' tokens; ${formatAmount(units - rest)} ${coin} can be refunded`,
  param: 'amount.value',
});

function manyPayers(coin: Coin, legs: readonly Omit<RefundLeg, 'legId'>[]): Refusal {
  const first = legs.slice(0, MOST_LEGS).reduce((sum, { amount }) => sum + amountOf(amount), 0n);
  const message = `a refund makes at most ${MOST_LEGS} payouts: refund at most ${formatAmount(first)} ${coin} at once`;
  return { code: 'invalid_request', message, param: 'amount.value' };
}

/* Small parts */

/** Identifies a person by address; the same address on Ethereum and BSC is the same person. */
function person(network: Network, address: string | null): string {
  const family = addressFamilyOf(network);
  return `${family}:${address === null ? null : comparableAddress(family, address)}`;
}

const personOf = ({ facts }: DepositState): string => person(facts.network, facts.fromAddress);

const byAge = ({ facts: one }: DepositState, { facts: other }: DepositState): number =>
  one.blockTimeSec - other.blockTimeSec || compare(one.depositKey, other.depositKey);

const compare = <Value extends bigint | string>(one: Value, other: Value): number =>
  one < other ? -1 : one > other ? 1 : 0;
const sumOf = (parts: readonly { readonly left: bigint }[]): bigint =>
  parts.reduce((total, { left }) => total + left, 0n);
const unitsOf = (deposits: readonly DepositState[]): bigint => deposits.reduce((total, { units }) => total + units, 0n);
const roundedDown = (units: bigint, unit: bigint): bigint => units - (units % unit);
