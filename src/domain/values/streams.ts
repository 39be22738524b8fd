import type { MerchantId, Mode, NotificationId, PaymentLinkId, SessionId } from './ids.ts';
import type { AddressFamily, Network } from '../networks/networks.ts';

/* Stream names. Every key that is not already unique by its id includes mode and merchant. */

export const sessionStream = (id: SessionId): string => `${SESSION_PREFIX}${id}`;
export const merchantStream = (id: MerchantId): string => `${MERCHANT_PREFIX}${id}`;
export const deliveryStream = (id: NotificationId): string => `${DELIVERY_PREFIX}${id}`;
export const addressesStream = (mode: Mode, family: AddressFamily): string => `addresses-${mode}-${family}`;
/** What addresses of a family are derived from, and whether the signer recognises it. */
export const addressSourceStream = (mode: Mode, family: AddressFamily): string => `address-source-${mode}-${family}`;
export const coverageStream = (mode: Mode, network: Network): string => `coverage-${mode}-${network}`;
/** Ranges that an operator had read again: separate from the coverage, whose last event is the watcher's own cursor. */
export const rescansStream = (mode: Mode, network: Network): string => `rescans-${mode}-${network}`;
export const treasuryStream = (mode: Mode, network: Network): string => `${TREASURY_PREFIX}${mode}-${network}`;
/** A transfer's own stream, created with the first decision about it. */
export const transferStream = (mode: Mode, depositKey: string): string => `${TRANSFER_PREFIX}${mode}-${depositKey}`;
export const idempotencyStream = (mode: Mode, merchant: MerchantId, keyHash: string): string =>
  `idempotency-${mode}-${merchant}-${keyHash}`;
export const ledgerPeriodsStream = (mode: Mode): string => `ledger-periods-${mode}`;
/** Files issued from the books. */
export const documentsStream = (mode: Mode): string => `ledger-documents-${mode}`;
/** A closed month: one event for the operator and one per merchant. */
export const statementsStream = (mode: Mode, month: string): string => `ledger-statements-${mode}-${month}`;
export const adjustmentsStream = (mode: Mode): string => `${ADJUSTMENTS_PREFIX}${mode}`;
export const secretsStream = (purpose: SecretPurpose): string => `secrets-${purpose}`;
export const personStream = (personId: string): string => `${PERSON_PREFIX}${personId}`;
export const paymentLinkStream = (id: PaymentLinkId): string => `${PAYMENT_LINK_PREFIX}${id}`;
/** Canary payments on a network, which test the whole path. */
export const canaryStream = (mode: Mode, network: Network): string => `canary-${mode}-${network}`;
/** Values of coins in the currencies of the books. */
export const BOOK_RATES_STREAM = 'ledger-rates';
export const AUDIT_STREAM = 'audit';
export const OPERATOR_ACTS_STREAM = 'operator-acts';
export const SESSION_PREFIX = 'session-';
export const MERCHANT_PREFIX = 'merchant-';
export const DELIVERY_PREFIX = 'delivery-';
export const TREASURY_PREFIX = 'treasury-';
export const ADJUSTMENTS_PREFIX = 'ledger-adjustments-';
export const TRANSFER_PREFIX = 'transfer-';
export const PERSON_PREFIX = 'person-';
export const PAYMENT_LINK_PREFIX = 'payment-link-';

/**
 * What nodes share sealed in the event log: their own secrets, a text that checks the key for personal data, and
 * retired keys.
 */
export const SECRET_PURPOSES = [
  ...(['session-id', 'list-cursor', 'personal-data-check'] as const),
  ...(['retired-keys-api-secrets', 'retired-keys-webhook-secrets', 'retired-keys-personal-data'] as const),
] as const;
export type SecretPurpose = (typeof SECRET_PURPOSES)[number];

/** The delivery a stream belongs to, or null for any other stream. */
export function deliveryOfStream(stream: string): NotificationId | null {
  return stream.startsWith(DELIVERY_PREFIX) ? (stream.slice(DELIVERY_PREFIX.length) as NotificationId) : null;
}

/** The session a stream belongs to, or null for any other stream. */
export function sessionOfStream(stream: string): SessionId | null {
  return stream.startsWith(SESSION_PREFIX) ? (stream.slice(SESSION_PREFIX.length) as SessionId) : null;
}
