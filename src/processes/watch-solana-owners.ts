import type { DomainEvent } from '../domain/events/domain-event.ts';
import type { StoredEvent } from '../domain/events/envelope.ts';
import type { Mode, SessionId } from '../domain/ids.ts';
import { sessionOfStream } from '../domain/streams.ts';
import { toSec } from '../ports/clock.ts';

/** An address that was given to a session. */
export interface WatchedOwner {
  readonly owner: string;
  readonly sessionId: SessionId;
  readonly createdAtSec: number;
  readonly expiresAtSec: number;
  /** Null while the session is open. */
  readonly endedAtSec: number | null;
}

/** How urgently money may be expected: `fresh` and `waiting` sessions are open. */
export type Tier = 'fresh' | 'waiting' | 'recent' | 'old';

/** Most payers pay within minutes or not at all. */
const FRESH_SEC = 10 * 60;
/** Around its deadline a session is looked at often again: its expiry waits for that. */
const DEADLINE_MARGIN_SEC = 30;
const RECENT_SEC = 24 * 3600;
/** A session that nobody ended this long after its deadline is not waited for any more. */
const FORGOTTEN_SEC = 3600;

/** All owners ever given out in one mode, by what can still be expected of them. Closed sessions stay: money may come late. */
export class WatchedOwners {
  readonly #mode: Mode;
  readonly #ownerOf = new Map<SessionId, string>();
  readonly #open = new Map<string, WatchedOwner>();
  readonly #recent = new Map<string, WatchedOwner>();
  readonly #old = new Map<string, WatchedOwner>();
  readonly #sweeps = { recent: this.#recent.values(), old: this.#old.values() };

  constructor(mode: Mode) {
    this.#mode = mode;
  }

  get size(): number {
    return this.#open.size + this.#recent.size + this.#old.size;
  }

  sizeOf(tier: 'recent' | 'old'): number {
    return tier === 'recent' ? this.#recent.size : this.#old.size;
  }

  /** Repeating is harmless. */
  add(watched: WatchedOwner): void {
    if (this.find(watched.owner) !== null) return;
    this.#ownerOf.set(watched.sessionId, watched.owner);
    (watched.endedAtSec === null ? this.#open : this.#recent).set(watched.owner, watched);
  }

  end(sessionId: SessionId, endedAtSec: number): void {
    const watched = this.#open.get(this.#ownerOf.get(sessionId) ?? '');
    if (!watched) return;
    this.#open.delete(watched.owner);
    this.#recent.set(watched.owner, { ...watched, endedAtSec });
  }

  /** Follows the ledger. */
  apply({ stream, event, atMs }: StoredEvent<DomainEvent>): void {
    if (event.type === 'SessionCreated') {
      const { mode, sessionId, paymentOptions, createdAtSec, expiresAtSec } = event.data;
      const option = paymentOptions.find(({ network }) => network === 'solana');
      if (option && mode === this.#mode) this.add({ owner: option.address, sessionId, createdAtSec, expiresAtSec, endedAtSec: null });
    } else if (
      event.type === 'SessionPaid' ||
      event.type === 'SessionExpired' ||
      event.type === 'SessionFailed' ||
      event.type === 'SessionCancelled'
    ) {
      this.end(sessionOfStream(stream)!, toSec(atMs));
    }
  }

  find(owner: string): WatchedOwner | null {
    return this.#open.get(owner) ?? this.#recent.get(owner) ?? this.#old.get(owner) ?? null;
  }

  ofSession(sessionId: SessionId): WatchedOwner | null {
    return this.find(this.#ownerOf.get(sessionId) ?? '');
  }

  /**
   * All owners of the open sessions, by urgency. `readToSec`: chain time up to which they were read, null before the first look. One that was
   * not read past its deadline is waited for however long ago that was: after an outage nobody has looked yet.
   */
  open(nowSec: number, readToSec: number | null): { fresh: WatchedOwner[]; waiting: WatchedOwner[] } {
    const tiers = { fresh: [] as WatchedOwner[], waiting: [] as WatchedOwner[] };
    const forgottenBefore = Math.min(nowSec, readToSec ?? -Infinity) - FORGOTTEN_SEC;
    for (const watched of this.#open.values()) {
      if (watched.expiresAtSec < forgottenBefore) {
        this.end(watched.sessionId, watched.expiresAtSec);
        continue;
      }
      const isFresh = nowSec - watched.createdAtSec < FRESH_SEC || nowSec > watched.expiresAtSec - DEADLINE_MARGIN_SEC;
      tiers[isFresh ? 'fresh' : 'waiting'].push(watched);
    }
    return tiers;
  }

  /** The next owners of a sweep over a closed tier, which begins anew when it has come to the end. */
  next(tier: 'recent' | 'old', count: number, nowSec: number): WatchedOwner[] {
    const taken: WatchedOwner[] = [];
    while (taken.length < Math.min(count, this.sizeOf(tier))) {
      const step = this.#sweeps[tier].next();
      if (step.done) {
        this.#sweeps[tier] = (tier === 'recent' ? this.#recent : this.#old).values();
        if (taken.length > 0) break;
        continue;
      }
      taken.push(step.value);
      if (tier === 'recent' && nowSec - step.value.endedAtSec! > RECENT_SEC) this.#retire(step.value);
    }
    return taken;
  }

  #retire(watched: WatchedOwner): void {
    this.#recent.delete(watched.owner);
    this.#old.set(watched.owner, watched);
    // Nobody names the session of an old owner any more but its own deposits, and those carry the address.
    if (this.#ownerOf.get(watched.sessionId) === watched.owner) this.#ownerOf.delete(watched.sessionId);
  }
}
