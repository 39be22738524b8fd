import { refuse } from '../../domain/values/result.ts';
import { hash } from 'node:crypto';
import type { ActionTaken, Grant, Identity, PasskeyAdded, SignIn } from '../../domain/events/person-events.ts';
import { base32 } from '../../domain/values/ids.ts';
import { lookOf } from '../../domain/values/names.ts';
import { personStream } from '../../domain/values/streams.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import type { PersonCommand, Wanted } from '../../../state-machines/person/person.decider.ts';
import type { PersonContext, Recovery } from '../../../state-machines/person/person.state.ts';
import type { PersonHandler } from '../shared/handlers/person-handler.ts';
import type { Outcome } from '../shared/merchant-api.ts';
import type { PeopleDirectory } from './directory.ts';

/** How long a link can be used to register a passkey. */
const LINK_SEC = 86_400;
/** A sign-in ends after this time, even while it is in use. */
export const ABSOLUTE_SEC = 12 * 3_600;
/** A sign-in ends after this time without a request. */
export const IDLE_SEC = 30 * 60;
const MAX_BROWSER = 200;

/** Shown once: only its hash is stored. */
export interface NewLink {
  readonly personId: string;
  readonly token: string;
  readonly expiresAtSec: number;
}

/** A signed-in person, as identified by a request. */
export interface SignedInPerson {
  readonly personId: string;
  readonly name: string;
  readonly signInId: string;
  readonly signedInAtSec: number;
  readonly endsAtSec: number;
  /** Grants that are currently in force. */
  readonly grants: readonly Grant[];
}

/** A person as the identity provider names them, with the roles from its claims. */
export interface NamedByProvider extends Identity {
  readonly name: string;
  readonly grants: readonly Grant[];
}

export interface PeopleDeps {
  readonly handler: PersonHandler;
  readonly directory: PeopleDirectory;
  readonly clock: Clock;
  readonly random: Random;
  /** How long a person can refuse the recovery of their access before a link for it can be made. */
  readonly recoveryDelaySec: number;
}

/** Users of the console with their passkeys, roles and sign-ins, and the record of what they did. */
export class People {
  readonly directory: PeopleDirectory;
  readonly #deps: PeopleDeps;
  /**
   * When each sign-in was last used. Not stored: after a restart the last event counts, which can only end a sign-in
   * earlier.
   */
  readonly #lastUsedSec = new Map<string, number>();

  constructor(deps: PeopleDeps) {
    this.#deps = deps;
    this.directory = deps.directory;
  }

  async invite(name: string, grants: readonly Grant[], wanted: Wanted): Promise<Outcome<NewLink>> {
    const personId = personIdOf(name);
    return this.#withLink(
      personId,
      (link, nowSec) => ({ type: 'Invite', personId, name, grants, ...link, ...wanted, nowSec }),
      wanted.by,
    );
  }

  /** `byHost`: the request comes from the command line of the machine. */
  async issueLink(personId: string, wanted: Wanted, byHost: boolean): Promise<Outcome<NewLink>> {
    await this.directory.catchUp();
    return this.#withLink(
      personId,
      (link, nowSec) => ({ type: 'IssueLink', ...link, ...wanted, letInBy: this.#letInBy(wanted.by), byHost, nowSec }),
      wanted.by,
    );
  }

  async requestRecovery(personId: string, wanted: Wanted): Promise<Outcome<PersonContext>> {
    await this.directory.catchUp();
    const { recoveryDelaySec: delaySec } = this.#deps;
    const shared = { ...wanted, letInBy: this.#letInBy(wanted.by), delaySec, nowSec: this.#nowSec() };
    return this.#execute(personId, { type: 'RequestRecovery', ...shared }, wanted.by);
  }

  refuseRecovery(personId: string, wanted: Wanted): Promise<Outcome<PersonContext>> {
    return this.#execute(personId, { type: 'RefuseRecovery', ...wanted }, wanted.by);
  }

  /** The recovery that can still let somebody in as the person; null if there is none. */
  recoveryOf(personId: string): Recovery | null {
    const recovery = this.directory.find(personId)?.recovery ?? null;
    return recovery !== null && recovery.endsAtSec > this.#nowSec() ? recovery : null;
  }

  /** The person's id and those of everybody who let them in, directly or through others. */
  #letInBy(name: string): readonly string[] {
    const found = new Set<string>();
    const add = (personId: string): void => {
      const person = this.directory.find(personId);
      if (person === null || found.has(personId)) return;
      found.add(personId);
      for (const by of person.letInBy) add(personIdOf(by));
    };
    add(personIdOf(name));
    return [...found];
  }

  changeRoles(personId: string, grants: readonly Grant[], wanted: Wanted): Promise<Outcome<PersonContext>> {
    return this.#execute(personId, { type: 'ChangeRoles', grants, ...wanted, nowSec: this.#nowSec() }, wanted.by);
  }

  suspend(personId: string, wanted: Wanted): Promise<Outcome<PersonContext>> {
    return this.#execute(personId, { type: 'Suspend', ...wanted }, wanted.by);
  }

  reinstate(personId: string, wanted: Wanted): Promise<Outcome<PersonContext>> {
    return this.#execute(personId, { type: 'Reinstate', ...wanted }, wanted.by);
  }

  removePasskey(personId: string, credentialId: string, wanted: Wanted): Promise<Outcome<PersonContext>> {
    return this.#execute(personId, { type: 'RemovePasskey', credentialId, ...wanted }, wanted.by);
  }

  signOut(personId: string, signInId: string, wanted: Wanted): Promise<Outcome<PersonContext>> {
    return this.#execute(personId, { type: 'SignOut', signInId, ...wanted }, wanted.by);
  }

  /** The person that the link is for; null if it was used, replaced or has expired. */
  async personOfLink(token: string): Promise<PersonContext | null> {
    await this.directory.catchUp();
    const personId = this.directory.byLink(hashOf(token));
    const person = personId === null ? null : this.directory.find(personId);
    return person?.link && person.link.expiresAtSec > this.#nowSec() && !person.suspended ? person : null;
  }

  addPasskey(
    personId: string,
    token: string,
    passkey: Pick<PasskeyAdded['data'], 'credentialId' | 'publicKey' | 'label'>,
  ) {
    const added = {
      ...passkey,
      label: shortened(passkey.label, 60),
      linkHash: hashOf(token),
      addedAtSec: this.#nowSec(),
    };
    return this.#execute(
      personId,
      { type: 'AddPasskey', passkey: added },
      this.directory.find(personId)?.invited?.name ?? personId,
    );
  }

  /** Returns the value of the cookie. The caller has verified the passkey. */
  async signIn(
    personId: string,
    proof: { credentialId: string; signCount: number },
    browser: string,
  ): Promise<Outcome<{ token: string }>> {
    const { token, signIn } = this.#newSignIn(browser);
    const command = { type: 'SignIn', signIn: { ...signIn, ...proof } } as const;
    const done = await this.#execute(personId, command, this.directory.find(personId)?.invited?.name ?? personId);
    return done.ok ? { ok: true, value: { token } } : done;
  }

  /**
   * Signs in a person named by the identity provider. The first name is kept for good, because people can change their
   * names there.
   */
  async signInBySso(
    { name, grants, ...identity }: NamedByProvider,
    browser: string,
  ): Promise<Outcome<{ token: string }>> {
    await this.directory.catchUp();
    const personId = this.directory.byIdentity(identity) ?? personIdOf(name);
    const { token, signIn } = this.#newSignIn(browser);
    const by = this.directory.find(personId)?.invited?.name ?? name;
    const done = await this.#execute(
      personId,
      { type: 'SignInBySso', personId, name, signIn: { ...signIn, ...identity, grants } },
      by,
    );
    if (!done.ok) return done;
    if (this.directory.byIdentity(identity) !== personId) {
      const message = 'the same somebody came in under another name at this very moment: sign in again';
      return refuse('conflict', message, 'name');
    }
    return { ok: true, value: { token } };
  }

  #newSignIn(browser: string): { readonly token: string; readonly signIn: SignIn } {
    const { random } = this.#deps;
    const token = Buffer.from(random.bytes(32)).toString('base64url');
    const nowSec = this.#nowSec();
    const signInId = `sin_${base32(random.bytes(15))}`;
    const lasts = { signedInAtSec: nowSec, endsAtSec: nowSec + ABSOLUTE_SEC };
    return {
      token,
      signIn: { signInId, tokenHash: hashOf(token), ...lasts, browser: shortened(browser, MAX_BROWSER) },
    };
  }

  /**
   * The person whose cookie this is; null if it is no longer valid. Counts as use unless the page itself polls, when
   * nobody may be present.
   */
  personOf(token: string, by: 'person' | 'page' = 'person'): SignedInPerson | null {
    const found = this.directory.bySignIn(hashOf(token));
    const person = found && this.directory.find(found.personId);
    if (!found || !person?.invited || person.suspended) return null;
    const { signInId, signedInAtSec, endsAtSec } = found.signIn;
    const nowSec = this.#nowSec();
    const lastUsedSec = this.#lastUsedSec.get(signInId) ?? signedInAtSec;
    if (endsAtSec <= nowSec || lastUsedSec + IDLE_SEC <= nowSec) {
      this.#lastUsedSec.delete(signInId);
      return null;
    }
    if (by === 'person') this.#lastUsedSec.set(signInId, nowSec);
    const { name } = person.invited;
    return {
      personId: found.personId,
      name,
      signInId,
      signedInAtSec,
      endsAtSec,
      grants: grantsNow(person.grants, nowSec),
    };
  }

  /** Whether the sign-in would still be accepted, for the list of sign-ins. */
  isOpen(signIn: { readonly signInId: string; readonly signedInAtSec: number; readonly endsAtSec: number }): boolean {
    const nowSec = this.#nowSec();
    return (
      signIn.endsAtSec > nowSec && (this.#lastUsedSec.get(signIn.signInId) ?? signIn.signedInAtSec) + IDLE_SEC > nowSec
    );
  }

  /** Records the action whatever its outcome. */
  async record(
    person: SignedInPerson,
    taken: Omit<ActionTaken['data'], 'personId' | 'signInId' | 'takenAtSec'>,
    correlationId: string,
  ): Promise<void> {
    const bounded = {
      ...taken,
      target: shortened(taken.target, 200),
      reason: shortened(taken.reason, 500),
      detail: shortened(taken.detail, 500),
    };
    const command = {
      type: 'RecordAction',
      taken: { ...bounded, signInId: person.signInId, takenAtSec: this.#nowSec() },
    } as const;
    await this.#deps.handler.execute(personStream(person.personId), command, {
      correlationId,
      actor: `person:${person.name}`,
    });
  }

  async #withLink(
    personId: string,
    command: (link: { linkHash: string; expiresAtSec: number }, nowSec: number) => PersonCommand,
    by: string,
  ): Promise<Outcome<NewLink>> {
    const token = Buffer.from(this.#deps.random.bytes(32)).toString('base64url');
    const nowSec = this.#nowSec();
    const expiresAtSec = nowSec + LINK_SEC;
    const done = await this.#execute(personId, command({ linkHash: hashOf(token), expiresAtSec }, nowSec), by);
    return done.ok ? { ok: true, value: { personId, token, expiresAtSec } } : done;
  }

  async #execute(personId: string, command: PersonCommand, by: string): Promise<Outcome<PersonContext>> {
    const context = { correlationId: this.#deps.random.uuid(), actor: `person:${by}` };
    const done = await this.#deps.handler.execute(personStream(personId), command, context);
    if (!done.ok) return done;
    // A suspension or sign-out takes effect with the next request to this process.
    await this.directory.catchUp();
    return { ok: true, value: done.state.context };
  }

  #nowSec(): number {
    return toSec(this.#deps.clock.nowMs());
  }
}

/** Derived from the name's look, so that no two people have names that look alike. */
export const personIdOf = (name: string): string =>
  `psn_${base32(Buffer.from(hash('sha256', lookOf(name), 'hex'), 'hex')).slice(0, 20)}`;

const hashOf = (token: string): string => hash('sha256', token, 'hex');

const grantsNow = (grants: readonly Grant[], nowSec: number): readonly Grant[] =>
  grants.filter(({ untilSec }) => untilSec === null || untilSec > nowSec);

const shortened = (text: string, length: number): string =>
  [...text.replaceAll(/\p{C}+/gu, ' ').trim()].slice(0, length).join('');
