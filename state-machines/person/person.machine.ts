import { assign, setup } from 'xstate';
import type { JoinLink, PersonEvent } from '../../src/domain/events/person-events.ts';
import { sameName } from '../../src/domain/values/names.ts';
import { initialPersonContext, type PersonContext } from './person.state.ts';
import { dataOf, typesOf } from '../wired.ts';

export type PersonValue = 'absent' | 'known';

/*
 * A person of the console: invited once, or provisioned by single sign-on, then passkeys, roles and sign-ins come and
 * go. Their actions are recorded in the same stream and change only the counter of the passkey that signed them.
 */

type Of<Type extends PersonEvent['type']> = Extract<PersonEvent, { type: Type }>['data'];
type Seen = { readonly context: PersonContext; readonly event: PersonEvent };

const linkOf = ({ linkHash, expiresAtSec, by }: JoinLink & { readonly by: string }): PersonContext['link'] => ({
  ...{ linkHash, expiresAtSec, by },
});

/** A recovery lasts until its link is used or has expired; any other link shows that it is not needed. */
function foldLink({ recovery }: PersonContext, issued: Of<'JoinLinkIssued'>): Partial<PersonContext> {
  const { by: linkBy, expiresAtSec: endsAtSec } = issued;
  return { link: linkOf(issued), recovery: issued.recovers && recovery ? { ...recovery, linkBy, endsAtSec } : null };
}

/** The provider vouches for people of single sign-on: a link alone lets nobody in as them. */
function foldPasskeyAdded(
  { invited, identity, link, letInBy, passkeys }: PersonContext,
  added: Of<'PasskeyAdded'>,
): Partial<PersonContext> {
  const isOwn = invited === null || link === null || identity !== null || sameName(link.by, invited.name);
  return {
    link: null,
    recovery: null,
    letInBy: isOwn || letInBy.includes(link.by) ? letInBy : [...letInBy, link.by],
    passkeys: { ...passkeys, [added.credentialId]: { added, signCount: 0 } },
  };
}

const without = <Value>(entries: Readonly<Record<string, Value>>, ...keys: string[]): Readonly<Record<string, Value>> =>
  Object.fromEntries(Object.entries(entries).filter(([key]) => !keys.includes(key)));

const counted = ({ passkeys }: PersonContext, credentialId: string, signCount: number): PersonContext['passkeys'] => {
  const passkey = passkeys[credentialId];
  return passkey
    ? { ...passkeys, [credentialId]: { ...passkey, signCount: Math.max(passkey.signCount, signCount) } }
    : passkeys;
};

function foldPasskeyRemoved(
  { passkeys, signIns }: PersonContext,
  { credentialId }: Of<'PasskeyRemoved'>,
): Partial<PersonContext> {
  const ended = Object.values(signIns).flatMap((signIn) =>
    signIn.credentialId === credentialId ? [signIn.signInId] : [],
  );
  return { passkeys: without(passkeys, credentialId), signIns: without(signIns, ...ended) };
}

function foldAction(context: PersonContext, { signed }: Of<'ActionTaken'>): Partial<PersonContext> {
  return signed ? { passkeys: counted(context, signed.credentialId, signed.signCount) } : {};
}

const isTheirs = ({ context, event }: Seen): boolean => event.data.personId === context.invited?.personId;

export const personMachine = setup({
  types: typesOf<PersonContext, PersonEvent>(),
  guards: {
    isTheirs,
    isByOpenLink: (seen: Seen) => {
      const { linkHash, credentialId } = dataOf(seen.event, 'PasskeyAdded');
      return (
        isTheirs(seen) &&
        seen.context.link?.linkHash === linkHash &&
        !Object.hasOwn(seen.context.passkeys, credentialId)
      );
    },
    isTheirPasskey: (seen: Seen) =>
      isTheirs(seen) && Object.hasOwn(seen.context.passkeys, dataOf(seen.event, 'PasskeyRemoved').credentialId),
    isAllowedIn: (seen: Seen) => {
      const { credentialId, signInId } = dataOf(seen.event, 'SignedIn');
      const { suspended, passkeys, signIns } = seen.context;
      return isTheirs(seen) && !suspended && Object.hasOwn(passkeys, credentialId) && !Object.hasOwn(signIns, signInId);
    },
    isTheirIdentity: (seen: Seen) => {
      const { issuer, subject, signInId } = dataOf(seen.event, 'SignedInBySso');
      const { suspended, identity, signIns } = seen.context;
      return (
        isTheirs(seen) &&
        !suspended &&
        identity?.issuer === issuer &&
        identity.subject === subject &&
        !Object.hasOwn(signIns, signInId)
      );
    },
    isSignedIn: (seen: Seen) =>
      isTheirs(seen) && Object.hasOwn(seen.context.signIns, dataOf(seen.event, 'SignedOut').signInId),
    isRecovered: (seen: Seen) => isTheirs(seen) && seen.context.recovery !== null,
    isActive: (seen: Seen) => isTheirs(seen) && !seen.context.suspended,
    isSuspended: (seen: Seen) => isTheirs(seen) && seen.context.suspended,
  },
  actions: {
    foldInvited: assign(({ event }) => {
      const invited = dataOf(event, 'PersonInvited');
      return { invited, grants: invited.grants, link: linkOf(invited), letInBy: [invited.by] };
    }),
    foldProvisioned: assign(({ event }) => {
      const { personId, name, issuer, subject } = dataOf(event, 'PersonProvisioned');
      return { invited: { personId, name, by: issuer }, identity: { issuer, subject } };
    }),
    foldLink: assign(({ context, event }) => foldLink(context, dataOf(event, 'JoinLinkIssued'))),
    foldRecovery: assign(({ event }) => {
      const { by, opensAtSec, endsAtSec, letInBy } = dataOf(event, 'RecoveryRequested');
      return { recovery: { by, opensAtSec, endsAtSec, letInBy, linkBy: null } };
    }),
    foldRecoveryRefused: assign(({ context }) => ({
      recovery: null,
      link: context.recovery?.linkBy === null ? context.link : null,
    })),
    foldPasskeyAdded: assign(({ context, event }) => foldPasskeyAdded(context, dataOf(event, 'PasskeyAdded'))),
    foldPasskeyRemoved: assign(({ context, event }) => foldPasskeyRemoved(context, dataOf(event, 'PasskeyRemoved'))),
    foldRoles: assign(({ event }) => ({ grants: dataOf(event, 'RolesChanged').grants })),
    foldSuspended: assign(() => ({ suspended: true, signIns: {}, link: null, recovery: null })),
    foldReinstated: assign(() => ({ suspended: false })),
    foldSignedIn: assign(({ context, event }) => {
      const signIn = dataOf(event, 'SignedIn');
      return {
        signIns: { ...context.signIns, [signIn.signInId]: signIn },
        passkeys: counted(context, signIn.credentialId, signIn.signCount),
      };
    }),
    foldSignedInBySso: assign(({ context, event }) => {
      const { grants, signInId, tokenHash, signedInAtSec, endsAtSec, browser } = dataOf(event, 'SignedInBySso');
      return {
        grants,
        signIns: { ...context.signIns, [signInId]: { signInId, tokenHash, signedInAtSec, endsAtSec, browser } },
      };
    }),
    foldSignedOut: assign(({ context, event }) => ({
      signIns: without(context.signIns, dataOf(event, 'SignedOut').signInId),
    })),
    foldAction: assign(({ context, event }) => foldAction(context, dataOf(event, 'ActionTaken'))),
  },
}).createMachine({
  id: 'person',
  context: initialPersonContext,
  initial: 'absent',
  states: {
    absent: {
      on: {
        PersonInvited: { target: 'known', actions: 'foldInvited' },
        PersonProvisioned: { target: 'known', actions: 'foldProvisioned' },
      },
    },
    known: {
      on: {
        JoinLinkIssued: { guard: 'isActive', actions: 'foldLink' },
        RecoveryRefused: { guard: 'isRecovered', actions: 'foldRecoveryRefused' },
        RecoveryRequested: { guard: 'isActive', actions: 'foldRecovery' },
        PasskeyAdded: { guard: 'isByOpenLink', actions: 'foldPasskeyAdded' },
        PasskeyRemoved: { guard: 'isTheirPasskey', actions: 'foldPasskeyRemoved' },
        RolesChanged: { guard: 'isTheirs', actions: 'foldRoles' },
        PersonSuspended: { guard: 'isActive', actions: 'foldSuspended' },
        PersonReinstated: { guard: 'isSuspended', actions: 'foldReinstated' },
        SignedIn: { guard: 'isAllowedIn', actions: 'foldSignedIn' },
        SignedInBySso: { guard: 'isTheirIdentity', actions: 'foldSignedInBySso' },
        SignedOut: { guard: 'isSignedIn', actions: 'foldSignedOut' },
        ActionTaken: { guard: 'isTheirs', actions: 'foldAction' },
      },
    },
  },
});
