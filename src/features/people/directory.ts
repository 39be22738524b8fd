import type { Identity, PersonEvent } from '../../domain/events/person-events.ts';
import { isOfPerson } from '../../domain/events/of-streams.ts';
import { PERSON_PREFIX } from '../../domain/values/streams.ts';
import type { EventStore, RecordedEvent, Subscription } from '../../ports/event-log/event-store.ts';
import { decodeEvent } from '../../runtime/commands/codec.ts';
import type { OpenSignIn, PersonContext } from '../../../state-machines/person/person.state.ts';
import type { PersonState } from '../../../state-machines/person/person.decider.ts';
import { personTable } from '../shared/handlers/person-handler.ts';

/** Something that a person did or tried to do, or that was done to them. */
export interface PersonEntry {
  readonly atMs: number;
  readonly position: string;
  readonly correlationId: string;
  readonly event: PersonEvent;
}

const keyOf = ({ issuer, subject }: Identity): string => JSON.stringify([issuer, subject]);

interface Entry {
  readonly state: PersonState;
  readonly revision: number;
}

/** The newest entries of all people, for the search page; older ones are in the event log. */
const MAX_ENTRIES = 50_000;

/** All users of the console, in memory, kept current by a subscription to the `person-` streams. */
export class PeopleDirectory {
  readonly #store: EventStore;
  readonly #entries = new Map<string, Entry>();
  readonly #signIns = new Map<string, { readonly personId: string; readonly signIn: OpenSignIn }>();
  readonly #credentials = new Map<string, string>();
  readonly #links = new Map<string, string>();
  /** The person who first signed in as an identity of the provider, by issuer and subject. */
  readonly #identities = new Map<string, string>();
  /** Revision of a person's newest unreadable event, which may have revoked something. These people cannot sign in. */
  readonly #doubtful = new Map<string, number>();
  #log: PersonEntry[] = [];
  #subscription: Subscription | null = null;

  constructor(store: EventStore) {
    this.#store = store;
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#subscription = this.#store.subscribe({
        name: 'people-directory',
        after: null,
        streamPrefixes: [PERSON_PREFIX],
        onEvents: (events) => this.#take(events),
        onCaughtUp: resolve,
      });
    });
  }

  /** Resolves once everything committed so far is visible here. */
  async catchUp(): Promise<void> {
    const head = await this.#store.head();
    if (head !== null) await this.#subscription?.reached(head);
  }

  async close(): Promise<void> {
    await this.#subscription?.close();
    this.#subscription = null;
  }

  find(personId: string): PersonContext | null {
    return this.#entries.get(personId)?.state.context ?? null;
  }

  /** In the order of their invitations. */
  all(): PersonContext[] {
    return [...this.#entries.values()].map(({ state }) => state.context);
  }

  bySignIn(tokenHash: string): { readonly personId: string; readonly signIn: OpenSignIn } | null {
    const found = this.#signIns.get(tokenHash) ?? null;
    return found && this.#doubtful.has(found.personId) ? null : found;
  }

  byCredential(credentialId: string): string | null {
    return this.#known(this.#credentials.get(credentialId));
  }

  /** Works even while an event of the person is unreadable, so that nobody else takes over the identity. */
  byIdentity(identity: Identity): string | null {
    return this.#identities.get(keyOf(identity)) ?? null;
  }

  byLink(linkHash: string): string | null {
    return this.#known(this.#links.get(linkHash));
  }

  /** Newest first. */
  entries(): readonly PersonEntry[] {
    return this.#log.toReversed();
  }

  #take(events: readonly RecordedEvent[]): void {
    for (const recorded of events) {
      const personId = recorded.stream.slice(PERSON_PREFIX.length);
      const known = this.#entries.get(personId);
      // A batch that failed midway is redelivered from its start.
      if (known && recorded.revision <= known.revision) continue;
      const { stored, event, state } = this.#next(recorded, personId, known?.state);
      this.#entries.set(personId, { state, revision: recorded.revision });
      this.#index(personId, known?.state.context ?? null, state.context);
      this.#log.push({
        atMs: stored.atMs,
        position: stored.position,
        correlationId: stored.metadata.correlationId,
        event,
      });
      if (this.#log.length > MAX_ENTRIES + MAX_ENTRIES / 10) this.#log = this.#log.slice(-MAX_ENTRIES);
    }
  }

  #known(personId: string | undefined): string | null {
    return personId === undefined || this.#doubtful.has(personId) ? null : personId;
  }

  #next(recorded: RecordedEvent, personId: string, known: PersonState | undefined) {
    try {
      const stored = decodeEvent(recorded);
      if (!isOfPerson(stored)) throw new Error(`${stored.stream} is no stream of a person`);
      const { event } = stored;
      const state = personTable.replay([event], known);
      if (this.#doubtful.get(personId) === recorded.revision) this.#doubtful.delete(personId);
      return { stored, event, state };
    } catch (error) {
      this.#doubtful.set(personId, recorded.revision);
      throw error;
    }
  }

  #index(personId: string, before: PersonContext | null, after: PersonContext): void {
    if (before?.signIns !== after.signIns) {
      for (const { tokenHash } of Object.values(before?.signIns ?? {})) this.#signIns.delete(tokenHash);
      for (const signIn of Object.values(after.signIns)) this.#signIns.set(signIn.tokenHash, { personId, signIn });
    }
    if (before?.passkeys !== after.passkeys) {
      for (const credentialId of Object.keys(before?.passkeys ?? {})) this.#credentials.delete(credentialId);
      for (const credentialId of Object.keys(after.passkeys)) this.#credentials.set(credentialId, personId);
    }
    // Every process reads the same order of events, so all choose the same one of two simultaneous sign-ins.
    if (after.identity !== null && !this.#identities.has(keyOf(after.identity)))
      this.#identities.set(keyOf(after.identity), personId);
    if (before?.link !== after.link) {
      if (before?.link) this.#links.delete(before.link.linkHash);
      if (after.link) this.#links.set(after.link.linkHash, personId);
    }
  }
}
