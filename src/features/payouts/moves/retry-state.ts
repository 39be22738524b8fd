import type { Log } from '../../../ports/log.ts';
import { needsLook, type WaitReason } from '../../../ports/outgoing.ts';
import { SentSince } from '../sent-since.ts';
import { Turns } from '../turns.ts';

/** Why a move is not done yet, for people. */
export interface WaitingMove {
  readonly moveId: string;
  readonly reason: WaitReason;
  readonly detail: string;
  readonly sinceMs: number;
}

/** What a executor remembers between two rounds. All of it is about pace and people; a crash may lose it. */
export class MoveRetryState {
  readonly sentSince = new SentSince();
  readonly turns: Turns;
  readonly #log: Log;
  readonly #treasury: string;
  readonly #waiting = new Map<string, WaitingMove>();
  readonly #alarms = new Map<string, string>();

  constructor(parts: { readonly log: Log; readonly treasury: string; readonly pollMs: number }) {
    this.#log = parts.log;
    this.#treasury = parts.treasury;
    this.turns = new Turns(parts.pollMs);
  }

  get waiting(): readonly WaitingMove[] {
    return [...this.#waiting.values()];
  }

  get alarm(): string | null {
    return this.#alarms.values().next().value ?? null;
  }

  setAlarm(source: string, alarm: string | null): void {
    if (alarm === null) return void this.#alarms.delete(source);
    if (this.#alarms.get(source) !== alarm) this.#log.error({ treasury: this.#treasury, alarm }, 'moves of this treasury are stopped');
    this.#alarms.set(source, alarm);
  }

  wait(moveId: string, reason: WaitReason, detail: string, nowMs: number): void {
    const before = this.#waiting.get(moveId);
    if (before?.reason !== reason) this.#log[needsLook(reason) ? 'error' : 'warn']({ move: moveId, reason, detail }, 'a move of the treasury waits');
    this.#waiting.set(moveId, { moveId, reason, detail, sinceMs: before?.sinceMs ?? nowMs });
  }

  goesOn(moveId: string): void {
    this.#waiting.delete(moveId);
  }

  forget(moveId: string): void {
    this.#waiting.delete(moveId);
    this.turns.forget(moveId);
    this.sentSince.forget(moveId);
    this.#alarms.delete(moveId);
  }
}
