import type { Grant, JoinLink, PasskeyAdded, PersonInvited, SignedIn } from '../../src/domain/events/person-events.ts';

export interface PasskeyState {
  readonly added: PasskeyAdded['data'];
  /** The highest that the authenticator ever said. */
  readonly signCount: number;
}

export interface PersonContext {
  readonly invited: PersonInvited['data'] | null;
  readonly grants: readonly Grant[];
  readonly suspended: boolean;
  /** Open until a passkey is registered with it; a new one replaces it. */
  readonly link: JoinLink | null;
  /** By credential id, in the order in which they were added. */
  readonly passkeys: Readonly<Record<string, PasskeyState>>;
  /** Not ended by anybody, by id; whether their time is over is not the machine's to say. */
  readonly signIns: Readonly<Record<string, SignedIn['data']>>;
  /** Who says that every passkey is lost. */
  readonly recovery: { readonly by: string; readonly requestedAtSec: number } | null;
}

export const initialPersonContext: PersonContext = {
  invited: null,
  grants: [],
  suspended: false,
  link: null,
  passkeys: {},
  signIns: {},
  recovery: null,
};

/** Whose names count as one, however they are written. */
export const sameName = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();
