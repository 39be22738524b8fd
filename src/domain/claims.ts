import type { Mode } from './values/ids.ts';
import type { Coin } from './money/money.ts';
import type { Network } from './networks/networks.ts';
import { needsAcknowledgement, type Sender } from './networks/senders.ts';
import { oneOf } from './values/one-of.ts';

/*
 * When the paying address cannot be refunded, the payer claims the payment: they prove that it is theirs and name the
 * address to be paid.
 */

/**
 * How a payer proves a payment: with the key that paid, with another payment from the same sender, or by the merchant's
 * judgement alone when the chain names no sender.
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
  /** Signs `claimText`; hex with `0x`: 65 bytes for secp256k1, 64 for Ed25519. */
  | { readonly kind: 'signature'; readonly number: string; readonly signature: string }
  /**
   * The service chose the amount; the evidence is a deposit of exactly this amount from the same sender, in the same
   * coin on the same network.
   */
  | { readonly kind: 'test_payment'; readonly amount: string }
  | { readonly kind: 'no_sender' };

/** A claim as the signer sees it, with the transaction it asks for. */
export interface OrderedClaim {
  readonly claimId: string;
  readonly evidence: ClaimEvidence;
}

/** What the paying wallet signs: every term that keeps one signature from being mistaken for another. */
export interface ClaimTerms {
  readonly sessionId: string;
  readonly mode: Mode;
  readonly network: Network;
  readonly depositKey: string;
  readonly coin: Coin;
  /** The amount of the whole deposit, as `formatAmount` writes it. */
  readonly amount: string;
  /** In the network's canonical form. */
  readonly payee: string;
  /** Unique: no two claims share a number. */
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

/** The upper limit of a test payment, in whole coins. */
export const MAX_TEST_COINS = 100;

/** 128 random bits, base64url. */
export const CLAIM_NUMBER = /^[A-Za-z0-9_-]{22}$/;
