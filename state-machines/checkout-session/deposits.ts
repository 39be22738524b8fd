import type { DepositDetected, DepositKind, TransferCredited } from '../../src/domain/events/session-events.ts';
import type { Coin } from '../../src/domain/money/money.ts';
import { refundableOf } from '../../src/domain/money/refundable.ts';
import type { Sender } from '../../src/domain/networks/senders.ts';
import { must } from '../../src/domain/values/must.ts';

/** One deposit of a session. */
export interface DepositState {
  readonly facts: DepositDetected['data'];
  readonly kind: DepositKind;
  readonly units: bigint;
  readonly status: 'detected' | 'final' | 'reverted' | 'failed';
  /** What refunds have paid out of it or hold reserved. A failed leg is released. */
  readonly taken: bigint;
  /** When it last left the chain; kept once it is back. */
  readonly revertedAtSec?: number;
  /** The sender; absent while unknown. */
  readonly sender?: Sender;
  /** The decision that set it aside, and the amount: it then does not belong to this session. */
  readonly aside?: { readonly operation: number; readonly coin: Coin; readonly units: bigint };
  /** Present if it arrived at another address and an operator attached it. */
  readonly credit?: TransferCredited['data'];
}

type ByCoin = Readonly<Record<Coin, bigint>>;

/** What the guards need of all deposits together, so that no event walks over them. */
export interface DepositSums {
  /** Final on-time money of the due coin, wherever it went since. */
  readonly arrived: bigint;
  /** The part of it that refunds have neither paid out nor reserved. */
  readonly held: bigint;
  /** On-time money of the due coin that was seen but is not final, and its number of deposits. */
  readonly pending: bigint;
  readonly pendingCount: number;
  /** Number of on-time deposits that are seen or final, those set aside too. */
  readonly countedCount: number;
  /** Number of deposits below the dust limit, wherever they are. */
  readonly dustCount: number;
  /** Final money other than our own, whatever its kind. */
  readonly final: ByCoin;
  /** The most that a refund without a named deposit may take. */
  readonly refundable: ByCoin;
}

const NOTHING: ByCoin = { USDT: 0n, USDC: 0n };
const NO_SUMS: DepositSums = {
  arrived: 0n,
  held: 0n,
  pending: 0n,
  pendingCount: 0,
  countedCount: 0,
  dustCount: 0,
  final: NOTHING,
  refundable: NOTHING,
};

/**
 * What a refund may still take of a deposit; never negative, and nothing while the deposit is not final, or where it is
 * our own money.
 */
export function leftOf({ kind, status, units, taken, aside }: DepositState): bigint {
  return status === 'final' && kind !== 'own' && aside === undefined && units > taken ? units - taken : 0n;
}

/** The sums with one deposit added (`sign` 1) or taken out (-1). */
function count(sums: DepositSums, deposit: DepositState, sign: 1 | -1): DepositSums {
  const { facts, kind, status, units, aside } = deposit;
  const isOnTime = kind === 'on_time';
  const isThere = status === 'detected' || status === 'final';
  const countedCount = isOnTime && isThere ? sums.countedCount + sign : sums.countedCount;
  const dustCount = kind === 'dust' ? sums.dustCount + sign : sums.dustCount;
  if (aside !== undefined || !isThere) return { ...sums, countedCount, dustCount };
  const by = BigInt(sign);
  if (status === 'detected')
    return isOnTime
      ? { ...sums, countedCount, pending: sums.pending + by * units, pendingCount: sums.pendingCount + sign }
      : { ...sums, dustCount };
  const left = leftOf(deposit);
  const { coin, fromAddress } = facts;
  return {
    ...sums,
    countedCount,
    dustCount,
    arrived: isOnTime ? sums.arrived + by * units : sums.arrived,
    held: isOnTime ? sums.held + by * left : sums.held,
    final: kind === 'own' ? sums.final : plus(sums.final, coin, by * units),
    refundable: plus(sums.refundable, coin, by * refundableOf({ kind, fromAddress, left })),
  };
}

const plus = (sums: ByCoin, coin: Coin, units: bigint): ByCoin =>
  units === 0n ? sums : { ...sums, [coin]: sums[coin] + units };

/** How a version differs from the newer one: the deposit that it has under this key, or none. */
interface Undo {
  readonly newer: Deposits;
  readonly key: string;
  readonly deposit: DepositState | undefined;
}

/**
 * The deposits of a session by key, in the order of their first appearance, with their sums. A value that never changes,
 * at the cost of one that is changed in place: all versions share one map, which the last used version owns; every other
 * version knows only its difference from a neighbour (Baker's persistent arrays). So an event costs the same however
 * many deposits there are, and whoever keeps an older state still sees that state.
 */
export class Deposits implements Iterable<DepositState> {
  static readonly NONE = new Deposits(null, NO_SUMS);

  readonly sums: DepositSums;
  #entries: Map<string, DepositState> | null;
  #undo: Undo | null = null;

  private constructor(entries: Map<string, DepositState> | null, sums: DepositSums) {
    this.#entries = entries;
    this.sums = sums;
  }

  get(key: string): DepositState | undefined {
    return this.#owned()?.get(key);
  }

  get size(): number {
    return this.#owned()?.size ?? 0;
  }

  /** Iterates over a copy, because another version may own the map before the end. */
  [Symbol.iterator](): ArrayIterator<DepositState> {
    return [...(this.#owned()?.values() ?? [])].values();
  }

  /** With the deposit in place of an earlier one with its key. */
  with(deposit: DepositState): Deposits {
    const key = deposit.facts.depositKey;
    // The empty value is common to all sessions, so it never gives its map away.
    const entries = this.#owned() ?? new Map<string, DepositState>();
    const before = entries.get(key);
    const sums = count(before ? count(this.sums, before, -1) : this.sums, deposit, 1);
    const after = new Deposits(entries, sums);
    entries.set(key, deposit);
    if (this !== Deposits.NONE) {
      this.#entries = null;
      this.#undo = { newer: after, key, deposit: before };
    }
    return after;
  }

  /** Takes the map over from the version that owns it; null for the empty value. */
  #owned(): Map<string, DepositState> | null {
    const path: Deposits[] = [];
    for (let newer = this.#undo?.newer; newer; newer = newer.#undo?.newer) path.push(newer);
    for (const [index, owner] of [...path.entries()].toReversed()) {
      const older = path[index - 1] ?? this;
      const entries = must(owner.#entries);
      const { key, deposit } = must(older.#undo);
      owner.#undo = { newer: older, key, deposit: entries.get(key) };
      owner.#entries = null;
      if (deposit === undefined) entries.delete(key);
      else entries.set(key, deposit);
      older.#undo = null;
      older.#entries = entries;
    }
    return this.#entries;
  }
}
