import type { Log } from '../../ports/log.ts';
import { needsLook, type WaitReason } from '../../ports/outgoing/transaction.ts';
import type { Missing, OutgoingRef } from './records.ts';
import { SentSince } from './sent-since.ts';
import { Turns } from './turns.ts';

/** Why something is not paid yet, as text for people. */
export interface WaitFacts {
  readonly reason: WaitReason;
  readonly detail: string;
  readonly sinceMs: number;
}

/** For people: no further transaction can be made unique at present. */
export const SEQUENCE_BUSY = 'every nonce account of the treasury is in use or being created';

/** The API's name for a temporary refusal. */
export const WAIT_REASONS: Readonly<Record<string, WaitReason>> = {
  approval: 'waiting_for_approval',
  exceeds_account: 'exceeds_account',
  ledger_behind: 'signer_unavailable',
  kill_switch: 'payouts_stopped',
  unknown_outflow: 'payouts_stopped',
  chain_unavailable: 'chain_unavailable',
  network_fee_too_high: 'network_fee_too_high',
  deposit_not_found: 'deposit_not_final',
  deposit_not_final: 'deposit_not_final',
  sequence_busy: 'sequence_busy',
  nothing_to_sweep: 'insufficient_funds',
};

interface RetryStateParts {
  readonly log: Log;
  readonly treasury: string;
  readonly words: { readonly one: string; readonly all: string };
  readonly nowMs: () => number;
  readonly pollMs: number;
  /**
   * How long a deposit that left the chain may take to come back, and the fraction of it that a process waits after its
   * start.
   */
  readonly depositGraceMs: number;
  readonly graceAfterStart: number;
}

/** What an executor remembers between rounds. It only affects pace and messages, so a crash may lose it. */
export class RetryState<Ref extends OutgoingRef> {
  readonly sentSince = new SentSince();
  readonly turns: Turns;
  readonly #parts: RetryStateParts;
  readonly #waiting = new Map<string, Ref['names'] & WaitFacts>();
  /** When the deposit to pay back was first missing (`performance.now()`). */
  readonly #missedAtMs = new Map<string, number>();
  /** Orders whose place in the account's sequence stays empty, which blocks everything after it. */
  readonly #withheld = new Set<string>();
  #outage: WaitFacts | null = null;
  /** By cause; each ends with its cause. */
  readonly #alarms = new Map<string, string>();

  constructor(parts: RetryStateParts) {
    this.#parts = parts;
    this.turns = new Turns(parts.pollMs);
  }

  get waiting(): readonly (Ref['names'] & WaitFacts)[] {
    return [...this.#waiting.values()];
  }

  /** While the chain or the signer is unavailable, everything waits. */
  get outage(): WaitFacts | null {
    return this.#outage;
  }

  setOutage(reason: WaitReason | null, detail = ''): void {
    this.#outage = reason === null ? null : { reason, detail, sinceMs: this.#outage?.sinceMs ?? this.#parts.nowMs() };
  }

  /** Why the whole treasury cannot pay; null if it can. */
  get alarm(): string | null {
    return this.#alarms.values().next().value ?? null;
  }

  /** The account's sequence is read again each time, so that alarm ends by itself. */
  isHalted(): boolean {
    return [...this.#alarms.keys()].some((source) => source !== 'sequence');
  }

  setAlarm(source: string, alarm: string | null): void {
    if (alarm === null) return void this.#alarms.delete(source);
    const { log, treasury, words } = this.#parts;
    if (this.#alarms.get(source) !== alarm) log.error({ treasury, alarm }, `${words.all} of this treasury are stopped`);
    this.#alarms.set(source, alarm);
  }

  wait({ id, names, logged }: Ref, reason: WaitReason, detail: string): void {
    const { log, words, nowMs } = this.#parts;
    const before = this.#waiting.get(id);
    if (before?.reason !== reason)
      log[needsLook(reason) ? 'error' : 'warn']({ ...logged, reason, detail }, `${words.one} waits`);
    this.#waiting.set(id, { ...names, reason, detail, sinceMs: before?.sinceMs ?? nowMs() });
  }

  /** Delays the order for a reason of its own, longer each time. */
  holdUp(ref: Ref, reason: WaitReason, detail: string): void {
    this.turns.backOff(ref.id);
    this.wait(ref, reason, detail);
  }

  /** Prevents the order from being sent; it keeps a place in the account's sequence where the chain has one. */
  withhold(ref: Ref, detail: string, takesPlace: boolean): void {
    this.wait(ref, 'deposit_reverted', detail);
    if (!takesPlace) return this.#placeIsFree(ref);
    this.#withheld.add(ref.id);
    this.setAlarm(ref.id, `${detail}; nothing after it in the account's sequence can land meanwhile`);
  }

  isWithheld({ id }: Ref): boolean {
    return this.#withheld.has(id);
  }

  get isWithholding(): boolean {
    return this.#withheld.size > 0;
  }

  goesOn(ref: Ref): void {
    this.#waiting.delete(ref.id);
    this.turns.clear(ref.id);
    this.covered(ref);
  }

  /** The deposit to pay back is there again. */
  covered(ref: Ref): void {
    this.found(ref);
    this.#placeIsFree(ref);
  }

  #placeIsFree({ id }: Ref): void {
    if (this.#withheld.delete(id)) this.#alarms.delete(id);
  }

  /** Whether the deposit to pay back is gone for good. Restarts of the process do not extend its grace period. */
  isGone(ref: Ref, { isAwaited, goneSinceSec }: Missing): boolean {
    if (isAwaited) {
      this.found(ref);
      return false;
    }
    const { nowMs, depositGraceMs, graceAfterStart } = this.#parts;
    const sinceMs = this.#missedAtMs.get(ref.id) ?? performance.now();
    this.#missedAtMs.set(ref.id, sinceMs);
    return (
      nowMs() - (goneSinceSec ?? 0) * 1000 >= depositGraceMs &&
      performance.now() - sinceMs >= depositGraceMs * graceAfterStart
    );
  }

  found({ id }: Ref): void {
    this.#missedAtMs.delete(id);
  }

  forget(ref: Ref): void {
    this.goesOn(ref);
    this.turns.forget(ref.id);
    this.sentSince.forget(ref.id);
    this.#alarms.delete(ref.id);
  }
}
