import type { MerchantId } from '../values/ids.ts';

/*
 * The storage format of the `person-<id>` streams: the people who use the console, and everything each of them did
 * there.
 */

export const PERSON_ROLES = [
  'viewer',
  'support',
  'merchant_admin',
  'finance',
  'operator',
  'approver',
  'auditor',
] as const;
export type PersonRole = (typeof PERSON_ROLES)[number];

/** What a person may do, and for whom. */
export interface Grant {
  readonly role: PersonRole;
  /** Null: every merchant. */
  readonly merchantId: MerchantId | null;
  /** The grant ends at this time; null: no end. */
  readonly untilSec: number | null;
}

/** A link that lets whoever holds it register one passkey. */
export interface JoinLink {
  /** SHA-256 (hex) of the token in the link. */
  readonly linkHash: string;
  readonly expiresAtSec: number;
}

interface Reasoned {
  readonly personId: string;
  readonly by: string;
  readonly reason: string;
}

export interface PersonInvited {
  readonly type: 'PersonInvited';
  readonly data: Reasoned & JoinLink & { readonly name: string; readonly grants: readonly Grant[] };
}

/**
 * A person's identity at the single sign-on provider: the issuer's address and its own identifier for the person, which
 * never changes.
 */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
}

/** The identity provider signed the person in for the first time. */
export interface PersonProvisioned {
  readonly type: 'PersonProvisioned';
  readonly data: Identity & { readonly personId: string; readonly name: string };
}

/** Another link: for another passkey, or after the last one was lost. */
export interface JoinLinkIssued {
  readonly type: 'JoinLinkIssued';
  /** `recovers`: the second operator of a recovery issued it. */
  readonly data: Reasoned & JoinLink & { readonly recovers: boolean };
}

/** An operator reports that somebody lost every passkey; another operator must issue the link. */
export interface RecoveryRequested {
  readonly type: 'RecoveryRequested';
  readonly data: Reasoned & {
    readonly requestedAtSec: number;
    /** The link can be issued from then on, if the person has not refused. */
    readonly opensAtSec: number;
    readonly endsAtSec: number;
    /** Ids of the operator and of everybody who let them in, directly or through others, at the time. */
    readonly letInBy: readonly string[];
  };
}

/** The person, from an open sign-in: their passkeys are not lost. */
export interface RecoveryRefused {
  readonly type: 'RecoveryRefused';
  readonly data: Reasoned;
}

export interface PasskeyAdded {
  readonly type: 'PasskeyAdded';
  readonly data: {
    readonly personId: string;
    readonly credentialId: string;
    /** COSE, base64url. */
    readonly publicKey: string;
    readonly label: string;
    readonly addedAtSec: number;
    /** SHA-256 (hex) of the token in the link that was used. */
    readonly linkHash: string;
  };
}

export interface PasskeyRemoved {
  readonly type: 'PasskeyRemoved';
  readonly data: Reasoned & { readonly credentialId: string };
}

export interface RolesChanged {
  readonly type: 'RolesChanged';
  readonly data: Reasoned & { readonly grants: readonly Grant[] };
}

export interface PersonSuspended {
  readonly type: 'PersonSuspended';
  readonly data: Reasoned;
}

export interface PersonReinstated {
  readonly type: 'PersonReinstated';
  readonly data: Reasoned;
}

export interface SignIn {
  readonly signInId: string;
  /** SHA-256 (hex) of the cookie's token. */
  readonly tokenHash: string;
  readonly signedInAtSec: number;
  readonly endsAtSec: number;
  /** The browser's name for itself, shortened. */
  readonly browser: string;
}

export interface SignedIn {
  readonly type: 'SignedIn';
  readonly data: SignIn & { readonly personId: string; readonly credentialId: string; readonly signCount: number };
}

/** By single sign-on; the roles that the identity provider named this time replace the previous ones. */
export interface SignedInBySso {
  readonly type: 'SignedInBySso';
  readonly data: SignIn & Identity & { readonly personId: string; readonly grants: readonly Grant[] };
}

export interface SignedOut {
  readonly type: 'SignedOut';
  readonly data: Reasoned & { readonly signInId: string };
}

/** One attempt to change something, allowed or not. */
export interface ActionTaken {
  readonly type: 'ActionTaken';
  readonly data: {
    readonly personId: string;
    readonly signInId: string;
    readonly action: string;
    /** The object of the action: an order, a merchant, a proposal. */
    readonly target: string;
    readonly merchantId: MerchantId | null;
    readonly reason: string;
    readonly outcome: 'done' | 'refused';
    /** Why it was refused, or its result. */
    readonly detail: string;
    readonly takenAtSec: number;
    /** The passkey that signed the terms, and the terms; null when no signature was required. */
    readonly signed: { readonly credentialId: string; readonly signCount: number; readonly termsHash: string } | null;
  };
}

export type PersonEvent =
  | PersonInvited
  | PersonProvisioned
  | JoinLinkIssued
  | RecoveryRequested
  | RecoveryRefused
  | PasskeyAdded
  | PasskeyRemoved
  | RolesChanged
  | PersonSuspended
  | PersonReinstated
  | SignedIn
  | SignedInBySso
  | SignedOut
  | ActionTaken;
