import type { DomainEvent } from '../../../domain/events/domain-event.ts';
import type { StoredEvent } from '../../../domain/events/envelope.ts';
import type { Mode, SessionId } from '../../../domain/values/ids.ts';
import { sessionOfStream } from '../../../domain/values/streams.ts';
import { RECENT_SEC, turnOf } from '../../../domain/sweep-turns.ts';
import { toSec } from '../../../ports/clock.ts';
import { must } from '../../../domain/values/must.ts';

/** An address assigned to a session. */
export interface WatchedOwner {
  readonly owner: string;
  readonly sessionId: SessionId;
  readonly createdAtSec: number;
  readonly expiresAtSec: number;
  /** Null while the session is open. */
  readonly endedAtSec: number | null;
}

/** Most payers pay within minutes or not at all. */
const FRESH_SEC = 10 * 60;
/** A session is polled often again around its deadline, because its expiry waits for the result. */
const DEADLINE_MARGIN_SEC = 30;
/** A session not ended this long after its deadline is no longer waited for. */
const FORGOTTEN_SEC = 3600;

/**
 * All owners ever assigned in one mode, grouped by how likely money still is. Closed sessions stay, because money may
 * come late.
 */
export class WatchedOwners {
  readonly #mode: Mode;
  readonly #ownerOf = new Map<SessionId, string>();
  readonly #open = new Map<string, WatchedOwner>();
  readonly #ended = { recent: new EndedOwners(), old: new EndedOwners() };

  constructor(mode: Mode) {
    this.#mode = mode;
  }

  get size(): number {
    return this.#open.size + this.#ended.recent.size + this.#ended.old.size;
  }

  sizeOf(tier: 'recent' | 'old'): number {
    return this.#ended[tier].size;
  }

  /** Idempotent. `readToSec`: sessions that ended long before are old from the start. */
  add(watched: WatchedOwner, readToSec = 0): void {
    if (this.find(watched.owner) !== null) return;
    if (watched.endedAtSec !== null && readToSec - watched.endedAtSec > RECENT_SEC) return this.#ended.old.add(watched);
    this.#ownerOf.set(watched.sessionId, watched.owner);
    if (watched.endedAtSec === null) this.#open.set(watched.owner, watched);
    else this.#ended.recent.add(watched);
  }

  end(sessionId: SessionId, endedAtSec: number): void {
    const watched = this.#open.get(this.#ownerOf.get(sessionId) ?? '');
    if (!watched) return;
    this.#open.delete(watched.owner);
    this.#ended.recent.add({ ...watched, endedAtSec });
  }

  /** Applies an event of the event log. */
  apply({ stream, event, atMs }: StoredEvent<DomainEvent>): void {
    if (event.type === 'SessionCreated') {
      const { mode, sessionId, paymentOptions, createdAtSec, expiresAtSec } = event.data;
      const option = paymentOptions.find(({ network }) => network === 'solana');
      if (option && mode === this.#mode)
        this.add({ owner: option.address, sessionId, createdAtSec, expiresAtSec, endedAtSec: null });
    } else if (event.type === 'SessionDeadlineMoved') {
      const watched = this.ofSession(must(sessionOfStream(stream)));
      if (watched && this.#open.has(watched.owner))
        this.#open.set(watched.owner, { ...watched, expiresAtSec: event.data.expiresAtSec });
    } else if (
      event.type === 'SessionPaid' ||
      event.type === 'SessionExpired' ||
      event.type === 'SessionFailed' ||
      event.type === 'SessionCancelled'
    ) {
      this.end(must(sessionOfStream(stream)), toSec(atMs));
    }
  }

  find(owner: string): WatchedOwner | null {
    return this.#open.get(owner) ?? this.#ended.recent.find(owner) ?? this.#ended.old.find(owner) ?? null;
  }

  ofSession(sessionId: SessionId): WatchedOwner | null {
    return this.find(this.#ownerOf.get(sessionId) ?? '');
  }

  /**
   * All owners of open sessions by urgency. `readToSec`: chain time up to which they were read, null before the first
   * poll. A session not read past its deadline still counts as open, however long ago that was: after an outage nobody
   * has read it yet.
   */
  open(nowSec: number, readToSec: number | null): { fresh: WatchedOwner[]; waiting: WatchedOwner[] } {
    const tiers: Record<'fresh' | 'waiting', WatchedOwner[]> = { fresh: [], waiting: [] };
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

  /** The owners of a closed tier at this turn. Those that ended long ago are moved out of the tier. */
  atTurn(tier: 'recent' | 'old', turn: number, nowSec: number): WatchedOwner[] {
    const watched = this.#ended[tier].at(turn);
    if (tier === 'recent')
      for (const owner of watched) if (nowSec - must(owner.endedAtSec) > RECENT_SEC) this.#retire(owner);
    return watched;
  }

  #retire(watched: WatchedOwner): void {
    this.#ended.recent.delete(watched);
    this.#ended.old.add(watched);
    // Only its own deposits, which carry the address, still refer to the session of an old owner.
    if (this.#ownerOf.get(watched.sessionId) === watched.owner) this.#ownerOf.delete(watched.sessionId);
  }
}

/** Owners grouped by their turn in a round. */
class EndedOwners {
  readonly #turns = new Map<number, Map<string, WatchedOwner>>();
  size = 0;

  add(watched: WatchedOwner): void {
    const turn = turnOf(watched.owner);
    let owners = this.#turns.get(turn);
    if (!owners) this.#turns.set(turn, (owners = new Map<string, WatchedOwner>()));
    if (!owners.has(watched.owner)) this.size += 1;
    owners.set(watched.owner, watched);
  }

  delete({ owner }: WatchedOwner): void {
    if (this.#turns.get(turnOf(owner))?.delete(owner)) this.size -= 1;
  }

  find(owner: string): WatchedOwner | undefined {
    return this.#turns.get(turnOf(owner))?.get(owner);
  }

  at(turn: number): WatchedOwner[] {
    return [...(this.#turns.get(turn)?.values() ?? [])];
  }
}
