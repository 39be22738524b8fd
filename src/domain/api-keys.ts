import { oneOf } from './values/one-of.ts';
/** What an API key can be allowed to do; a key without a list of scopes may do everything. */
export const SCOPES = [
  'payments:read',
  'payments:create',
  'refunds:create',
  'books:read',
  'webhooks:manage',
  'settings:manage',
] as const;

export type Scope = (typeof SCOPES)[number];

export const isScope = oneOf(SCOPES);

/** Descriptions of the scopes, for people. */
export const SCOPE_MEANINGS: Readonly<Record<Scope, string>> = {
  'payments:read': 'read payment sessions, refunds, transactions, timelines, proofs and the event feed',
  'payments:create': 'create and cancel payment sessions',
  'refunds:create': 'create refunds',
  'books:read': 'read the ledger and the checkpoints that prove it',
  'webhooks:manage': 'change the webhook endpoint and its secret, read deliveries and send them again',
  'settings:manage': 'read all settings, and change all but the webhook endpoint',
};

/** 1: the signature covers the body, which every client can do; 2: method, path and query as well. */
export type SignatureVersion = 1 | 2;

/** Restrictions on an API key. */
export interface KeyRestrictions {
  /** Null: all scopes. */
  readonly scopes: readonly Scope[] | null;
  /** Addresses and CIDR ranges the key may be used from; empty: any address. */
  readonly addresses: readonly string[];
  /** The lowest signature version accepted. */
  readonly signatureVersion: SignatureVersion;
}

export const UNRESTRICTED: KeyRestrictions = { scopes: null, addresses: [], signatureVersion: 1 };
