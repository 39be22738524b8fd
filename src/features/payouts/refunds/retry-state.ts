import type { Log } from '../../../ports/log.ts';
import { needsLook, type WaitReason } from '../../../ports/outgoing.ts';
import type { LegRef } from './work.ts';
import { SentSince } from '../sent-since.ts';
import { Turns } from '../turns.ts';

/** Why a leg is not paid yet, for people. */
export interface Waiting {
  readonly refundId: string;
  readonly legId: string;
  readonly reason: WaitReason;
  readonly detail: string;
  readonly sinceMs: number;
}

/** What keeps every leg of a treasury from being paid. */
export type Outage = Pick<Waiting, 'reason' | 'detail' | 'sinceMs'>;
/** For people: why nothing can tell another transaction apart now. */
export const SEQUENCE_BUSY = 'every nonce account of the treasury is in use, or is being made';

/** What a refusal that passes is called in the API. */
export const WAIT_REASONS: Readonly<Record<string, WaitReason>> = {
  approval: 'waiting_for_approval',
  kill_switch: 'payouts_stopped',
  unknown_outflow: 'payouts_stopped',
  chain_unavailable: 'chain_unavailable',
  network_fee_too_high: 'network_fee_too_high',
  deposit_not_found: 'deposit_not_final',
  deposit_not_final: 'deposit_not_final',
  sequence_busy: 'sequence_busy',
};

type Leg = Pick<LegRef, 'legId'>;

/** What a treasury executor remembers between two rounds. All of it is about pace and people; a crash may lose it. */
export class RefundRetryState {
  readonly sentSince = new SentSince();
  readonly turns: Turns;
  readonly #log: Log;
  readonly #treasury: string;
  readonly #nowMs: () => number;
  readonly #waiting = new Map<string, Waiting>();
  /** By leg: when its deposits were first missed (`performance.now()`). */
  readonly #missedAtMs = new Map<string, number>();
  /** Legs whose place in the account's sequence stays empty, which nothing after it can pass. */
  readonly #withheld = new Set<string>();
  #outage: Outage | null = null;
  /** By what raised it; each goes when its cause does. */
  readonly #alarms = new Map<string, string>();

  constructor(parts: { log: Log; treasury: string; nowMs: () => number; pollMs: number }) {
    this.#log = parts.log;
    this.#treasury = parts.treasury;
    this.#nowMs = parts.nowMs;
    this.turns = new Turns(parts.pollMs);
  }

  get waiting(): readonly Waiting[] {
    return [...this.#waiting.values()];
  }

  get outage(): Outage | null {
    return this.#outage;
  }

  setOutage(reason: WaitReason | null, detail = ''): void {
    this.#outage = reason === null ? null : { reason, detail, sinceMs: this.#outage?.sinceMs ?? this.#nowMs() };
  }

  /** What keeps the whole treasury from paying, or null. */
  get alarm(): string | null {
    return this.#alarms.values().next().value ?? null;
  }

  /** The account's sequence is asked for anew each time, so that alarm ends by itself. */
  isHalted(): boolean {
    return [...this.#alarms.keys()].some((source) => source !== 'sequence');
  }

  setAlarm(source: string, alarm: string | null): void {
    if (alarm === null) return void this.#alarms.delete(source);
    if (this.#alarms.get(source) !== alarm) this.#log.error({ treasury: this.#treasury, alarm }, 'payouts of this treasury are stopped');
    this.#alarms.set(source, alarm);
  }

  wait({ refundId, legId }: LegRef, reason: WaitReason, detail: string): void {
    const before = this.#waiting.get(legId);
    if (before?.reason !== reason)
      this.#log[needsLook(reason) ? 'error' : 'warn']({ refund: refundId, leg: legId, reason, detail }, 'a refund payout waits');
    this.#waiting.set(legId, { refundId, legId, reason, detail, sinceMs: before?.sinceMs ?? this.#nowMs() });
  }

  /** A leg that is kept from being sent, with a place in the account's sequence where the chain has one. */
  withhold(ref: LegRef, detail: string, takesPlace: boolean): void {
    this.wait(ref, 'deposit_reverted', detail);
    if (!takesPlace) return this.#placeIsFree(ref);
    this.#withheld.add(ref.legId);
    this.setAlarm(ref.legId, `${detail}; nothing after it in the account's sequence can land meanwhile`);
  }

  isWithheld({ legId }: Leg): boolean {
    return this.#withheld.has(legId);
  }

  get isWithholding(): boolean {
    return this.#withheld.size > 0;
  }

  goesOn({ legId }: Leg): void {
    this.#waiting.delete(legId);
    this.#missedAtMs.delete(legId);
    this.#placeIsFree({ legId });
  }

  #placeIsFree({ legId }: Leg): void {
    if (this.#withheld.delete(legId)) this.#alarms.delete(legId);
  }

  /** Milliseconds since this process first missed the deposits of the leg. */
  missedForMs({ legId }: Leg): number {
    const sinceMs = this.#missedAtMs.get(legId) ?? performance.now();
    this.#missedAtMs.set(legId, sinceMs);
    return performance.now() - sinceMs;
  }

  found({ legId }: Leg): void {
    this.#missedAtMs.delete(legId);
  }

  forget(leg: Leg): void {
    this.goesOn(leg);
    this.turns.forget(leg.legId);
    this.sentSince.forget(leg.legId);
    this.#alarms.delete(leg.legId);
  }
}
