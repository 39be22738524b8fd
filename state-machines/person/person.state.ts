import type {
  Grant,
  Identity,
  JoinLink,
  PasskeyAdded,
  PersonInvited,
  RecoveryRequested,
  SignIn,
} from '../../src/domain/events/person-events.ts';

export interface PasskeyState {
  readonly added: PasskeyAdded['data'];
  /** The highest counter that the authenticator has reported. */
  readonly signCount: number;
}

/** By passkey or, without a `credentialId`, by single sign-on. */
export type OpenSignIn = SignIn & { readonly credentialId?: string };

export interface Recovery extends Pick<RecoveryRequested['data'], 'by' | 'opensAtSec' | 'endsAtSec' | 'letInBy'> {
  /** Who issued the link; null before that. */
  readonly linkBy: string | null;
}

export interface PersonContext {
  /** Who they are and who invited them; null before the invitation. */
  readonly invited: Pick<PersonInvited['data'], 'personId' | 'name' | 'by'> | null;
  /** At single sign-on; null for people invited to register a passkey. */
  readonly identity: Identity | null;
  readonly grants: readonly Grant[];
  readonly suspended: boolean;
  /** Open until a passkey is registered with it; a new one replaces it. */
  readonly link: (JoinLink & { readonly by: string }) | null;
  /** Names of those who could have come in as this person: who invited them, and who made a link that was used. */
  readonly letInBy: readonly string[];
  /** By credential id, in the order in which they were added. */
  readonly passkeys: Readonly<Record<string, PasskeyState>>;
  /** Sign-ins that nobody ended, by id; the machine does not know whether their time is over. */
  readonly signIns: Readonly<Record<string, OpenSignIn>>;
  /** Reported loss of all passkeys, until a passkey is registered or the person refuses. */
  readonly recovery: Recovery | null;
}

export const initialPersonContext: PersonContext = {
  invited: null,
  identity: null,
  grants: [],
  suspended: false,
  link: null,
  letInBy: [],
  passkeys: {},
  signIns: {},
  recovery: null,
};
