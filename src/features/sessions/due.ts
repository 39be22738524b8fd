import type { StoredEvent } from '../../domain/events/envelope.ts';
import type { DomainEvent } from '../../domain/events/domain-event.ts';
import type { Mode, SessionId } from '../../domain/values/ids.ts';
import type { Network } from '../../domain/networks/networks.ts';
import { sessionOfStream } from '../../domain/values/streams.ts';
import { must } from '../../domain/values/must.ts';

export interface DueSession {
  readonly sessionId: SessionId;
  readonly mode: Mode;
  readonly networks: readonly Network[];
  readonly expiresAtSec: number;
}

interface Entry extends DueSession {
  /** The session is skipped between these times. The clock may have been set back to before the first. */
  postponedAtMs: number;
  notBeforeMs: number;
}

/** Sessions that can still expire, by deadline. Fed by the event log, so the list always matches it. */
export class DueSessions {
  readonly #entries = new Map<SessionId, Entry>();
  /** Sessions by the second of their deadline, visited in order. */
  readonly #bySecond = new Map<number, Set<SessionId>>();
  /** How many sessions offer a network, by mode and network. */
  readonly #offering = new Map<string, number>();
  readonly #awaited = new Set<(mode: Mode, network: Network) => void>();
  #seconds: number[] = [];
  #sorted = true;

  get size(): number {
    return this.#entries.size;
  }

  add(session: DueSession): void {
    if (this.#entries.has(session.sessionId)) return;
    this.#entries.set(session.sessionId, { ...session, postponedAtMs: 0, notBeforeMs: 0 });
    this.#count(session, 1);
    const second = this.#bySecond.get(session.expiresAtSec);
    if (second) {
      second.add(session.sessionId);
      return;
    }
    this.#bySecond.set(session.expiresAtSec, new Set([session.sessionId]));
    this.#sorted &&= this.#seconds.length === 0 || must(this.#seconds.at(-1)) < session.expiresAtSec;
    this.#seconds.push(session.expiresAtSec);
  }

  remove(id: SessionId): void {
    const entry = this.#entries.get(id);
    if (!entry) return;
    this.#entries.delete(id);
    this.#count(entry, -1);
    this.#bySecond.get(entry.expiresAtSec)?.delete(id);
  }

  /** Whether a session that can still be paid offers the network. */
  isAwaited(mode: Mode, network: Network): boolean {
    return (this.#offering.get(`${mode}/${network}`) ?? 0) > 0;
  }

  /** Calls the listener when the first such session of a network appears. Returns the function that unsubscribes. */
  onAwaited(listener: (mode: Mode, network: Network) => void): () => void {
    this.#awaited.add(listener);
    return () => this.#awaited.delete(listener);
  }

  #count({ mode, networks }: DueSession, change: 1 | -1): void {
    for (const network of networks) {
      const key = `${mode}/${network}`;
      const count = (this.#offering.get(key) ?? 0) + change;
      this.#offering.set(key, count);
      if (change === 1 && count === 1) for (const listener of this.#awaited) listener(mode, network);
    }
  }

  postpone(id: SessionId, nowMs: number, untilMs: number): void {
    const entry = this.#entries.get(id);
    if (!entry) return;
    entry.postponedAtMs = nowMs;
    entry.notBeforeMs = untilMs;
  }

  /**
   * At most `limit` sessions whose deadline is before `nowSec`, oldest first. They stay in the list until their own
   * event ends them.
   */
  takeDue(nowSec: number, nowMs: number, limit: number): DueSession[] {
    this.#tidy(nowSec);
    const due: DueSession[] = [];
    for (const second of this.#seconds) {
      if (second >= nowSec) break;
      for (const id of this.#bySecond.get(second) ?? []) {
        const entry = must(this.#entries.get(id));
        if (entry.notBeforeMs <= nowMs || nowMs < entry.postponedAtMs) due.push(entry);
        if (due.length === limit) return due;
      }
    }
    return due;
  }

  /** Applies the event log: created sessions can expire, ended ones cannot. */
  apply({ stream, event }: StoredEvent<DomainEvent>): void {
    const id = sessionOfStream(stream);
    if (id === null) return;
    if (event.type === 'SessionCreated') {
      const { mode, paymentOptions, expiresAtSec } = event.data;
      this.add({
        sessionId: id,
        mode,
        networks: [...new Set(paymentOptions.map((option) => option.network))],
        expiresAtSec,
      });
    }
    if (event.type === 'SessionDeadlineMoved') {
      const known = this.#entries.get(id);
      this.remove(id);
      if (known) this.add({ ...known, expiresAtSec: event.data.expiresAtSec });
    }
    if (
      event.type === 'SessionPaid' ||
      event.type === 'SessionExpired' ||
      event.type === 'SessionFailed' ||
      event.type === 'SessionCancelled'
    )
      this.remove(id);
  }

  #tidy(nowSec: number): void {
    if (!this.#sorted) this.#seconds.sort((one, other) => one - other);
    this.#sorted = true;
    while (
      this.#seconds.length > 0 &&
      must(this.#seconds[0]) < nowSec &&
      this.#bySecond.get(must(this.#seconds[0]))?.size === 0
    ) {
      this.#bySecond.delete(must(this.#seconds.shift()));
    }
  }
}
