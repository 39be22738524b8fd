import type { Mode } from './ids.ts';
import type { Coin } from './money.ts';
import type { Network } from './networks.ts';
import { needsAcknowledgement, type Sender } from './senders.ts';
import { oneOf } from './one-of.ts';

/*
 * Where the address that paid cannot be refunded, the payer claims the payment: proves that it is theirs and names who
 * is to be paid.
 */

/**
 * How a payer proves a payment: by the key that paid, by another payment from the same sender, or by people alone where
 * the chain names no sender.
 */
export const EVIDENCE_KINDS = ['signature', 'test_payment', 'no_sender'] as const;
export type EvidenceKind = (typeof EVIDENCE_KINDS)[number];
export const isEvidenceKind = oneOf(EVIDENCE_KINDS);

/** What can prove a deposit: nobody holds the key of a contract, and an exchange does not sign for its customers. */
export function evidenceFor(fromAddress: string | null, sender: Sender | null | undefined): readonly EvidenceKind[] {
  if (fromAddress === null) return ['no_sender'];
  return needsAcknowledgement(sender) ? ['test_payment'] : ['signature', 'test_payment'];
}

export type ClaimEvidence =
  /** Of `claimText`; hex with `0x`: 65 bytes of secp256k1, 64 of Ed25519. */
  | { readonly kind: 'signature'; readonly number: string; readonly signature: string }
  /**
   * The service chose the amount; a deposit of exactly this much from the same sender, in the same coin on the same
   * network, is the evidence.
   */
  | { readonly kind: 'test_payment'; readonly amount: string }
  | { readonly kind: 'no_sender' };

/** A claim as the signer sees it, with the transaction that it wants. */
export interface OrderedClaim {
  readonly claimId: string;
  readonly evidence: ClaimEvidence;
}

/** What the paying wallet signs: every term by which a signature could be taken for another. */
export interface ClaimTerms {
  readonly sessionId: string;
  readonly mode: Mode;
  readonly network: Network;
  readonly depositKey: string;
  readonly coin: Coin;
  /** Of the whole deposit, as `formatAmount` writes it. */
  readonly amount: string;
  /** In the one form that its network has for it. */
  readonly payee: string;
  /** Used once: no two claims have the same. */
  readonly number: string;
}

export const claimText = ({ sessionId, mode, network, depositKey, coin, amount, payee, number }: ClaimTerms): string =>
  [
    'Quittance refund claim',
    'I paid this deposit and want its refund to be paid to another address.',
    `refund to: ${payee}`,
    `amount: ${amount} ${coin}`,
    `network: ${network}`,
    `mode: ${mode}`,
    `payment: ${sessionId}`,
    `deposit: ${depositKey}`,
    `number: ${number}`,
  ].join('\n');

/** Whole coins that a test payment has at most. */
export const MAX_TEST_COINS = 100;

/** 128 random bits, base64url. */
export const CLAIM_NUMBER = /^[A-Za-z0-9_-]{22}$/;
