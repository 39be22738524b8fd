import type {
  Grant,
  Identity,
  JoinLink,
  PasskeyAdded,
  PersonInvited,
  SignIn,
} from '../../src/domain/events/person-events.ts';

export interface PasskeyState {
  readonly added: PasskeyAdded['data'];
  /** The highest that the authenticator ever said. */
  readonly signCount: number;
}

/** By passkey or, where there is no `credentialId`, by single sign-on. */
export type OpenSignIn = SignIn & { readonly credentialId?: string };

export interface PersonContext {
  /** Who they are and who let them in; null as long as nobody did. */
  readonly invited: Pick<PersonInvited['data'], 'personId' | 'name' | 'by'> | null;
  /** At single sign-on; null for whoever was invited to register a passkey. */
  readonly identity: Identity | null;
  readonly grants: readonly Grant[];
  readonly suspended: boolean;
  /** Open until a passkey is registered with it; a new one replaces it. */
  readonly link: JoinLink | null;
  /** By credential id, in the order in which they were added. */
  readonly passkeys: Readonly<Record<string, PasskeyState>>;
  /** Not ended by anybody, by id; whether their time is over is not the machine's to say. */
  readonly signIns: Readonly<Record<string, OpenSignIn>>;
  /** Who says that every passkey is lost. */
  readonly recovery: { readonly by: string; readonly requestedAtSec: number } | null;
}

export const initialPersonContext: PersonContext = {
  invited: null,
  identity: null,
  grants: [],
  suspended: false,
  link: null,
  passkeys: {},
  signIns: {},
  recovery: null,
};

/** Whose names count as one, however they are written. */
export const sameName = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();
