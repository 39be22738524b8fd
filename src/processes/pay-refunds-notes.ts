import type { Log } from '../ports/log.ts';
import type { WaitReason } from '../ports/payouts.ts';
import type { LegRef } from './pay-refunds-work.ts';
import { SentSince } from './sent-since.ts';

/** Why a leg is not paid yet, for people. */
export interface Waiting {
  readonly refundId: string;
  readonly legId: string;
  readonly reason: WaitReason;
  readonly detail: string;
  readonly sinceMs: number;
}

/** What a refusal that passes is called in the API. */
export const WAIT_REASONS: Readonly<Record<string, WaitReason>> = {
  approval: 'waiting_for_approval',
  kill_switch: 'payouts_stopped',
  chain_unavailable: 'chain_unavailable',
  network_fee_too_high: 'network_fee_too_high',
};

type Leg = Pick<LegRef, 'legId'>;

/** What a treasury desk remembers between two rounds. All of it is about pace and people; a crash may lose it. */
export class DeskNotes {
  readonly sentSince = new SentSince();
  readonly #log: Log;
  readonly #treasury: string;
  readonly #nowMs: () => number;
  readonly #pollMs: number;
  readonly #waiting = new Map<string, Waiting>();
  readonly #notBeforeMs = new Map<string, number>();
  /** By what raised it; each goes when its cause does. */
  readonly #alarms = new Map<string, string>();

  constructor(parts: { log: Log; treasury: string; nowMs: () => number; pollMs: number }) {
    this.#log = parts.log;
    this.#treasury = parts.treasury;
    this.#nowMs = parts.nowMs;
    this.#pollMs = parts.pollMs;
  }

  get waiting(): readonly Waiting[] {
    return [...this.#waiting.values()];
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
    if (before?.reason !== reason) this.#log.warn({ refund: refundId, leg: legId, reason, detail }, 'a refund payout waits');
    this.#waiting.set(legId, { refundId, legId, reason, detail, sinceMs: before?.sinceMs ?? this.#nowMs() });
  }

  goesOn({ legId }: Leg): void {
    this.#waiting.delete(legId);
  }

  isDue({ legId }: Leg): boolean {
    return (this.#notBeforeMs.get(legId) ?? 0) <= performance.now();
  }

  postpone({ legId }: Leg, times: number): void {
    this.#notBeforeMs.set(legId, performance.now() + this.#pollMs * times);
  }

  forget({ legId }: Leg): void {
    this.#waiting.delete(legId);
    this.#notBeforeMs.delete(legId);
    this.sentSince.forget(legId);
    this.#alarms.delete(legId);
  }
}
