import { oneOf } from './one-of.ts';

declare const brand: unique symbol;

/** A primitive that only its own constructor or parser may produce. */
export type Brand<Type, Name extends string> = Type & { readonly [brand]: Name };

/** `live` moves real money on main networks, `test` uses test networks or the sandbox. Nothing crosses. */
export type Mode = 'live' | 'test';

export const MODES: readonly Mode[] = ['live', 'test'];
export const isMode = oneOf(MODES);

/** `cs_` and 32 base32 characters: 160 bits of an HMAC, so unguessable and unique per (mode, merchant, order_id). */
export type SessionId = Brand<string, 'SessionId'>;
/** `mer_` and 20 base32 characters. */
export type MerchantId = Brand<string, 'MerchantId'>;
/** `re_` and 26 base32 characters. */
export type RefundId = Brand<string, 'RefundId'>;
/** `txn_` and 26 base32 characters, derived from the fact it names. */
export type TransactionId = Brand<string, 'TransactionId'>;
/** `key_` and 20 base32 characters: the public name of an API key. */
export type ApiKeyId = Brand<string, 'ApiKeyId'>;
/** `pl_` and 20 base32 characters: 100 random bits. */
export type PaymentLinkId = Brand<string, 'PaymentLinkId'>;
/** `evt_` and 19 digits: nanoseconds since the Unix epoch (specification, "Payment event body"). */
export type NotificationId = Brand<string, 'NotificationId'>;

/** A function that reads an id; null when it is malformed. */
function parserOf<Id extends string>(form: RegExp): (text: string) => Id | null {
  const isId = (text: string): text is Id => form.test(text);
  return (text) => (isId(text) ? text : null);
}

const parsePublicSessionId = parserOf<SessionId>(/^cs_[a-z2-7]{32}$/);

/** Reads a session id in either prefix of the specification (`cs_`, `sess_`); null when it is malformed. */
export const parseSessionId = (text: string): SessionId | null => parsePublicSessionId(text.replace(/^sess_/, 'cs_'));
export const parseRefundId = parserOf<RefundId>(/^re_[a-z2-7]{26}$/);
export const parseTransactionId = parserOf<TransactionId>(/^txn_[a-z2-7]{26}$/);
export const parsePaymentLinkId = parserOf<PaymentLinkId>(/^pl_[a-z2-7]{20}$/);
/** Anything that may name a merchant; the directory knows which ones exist. */
export const parseMerchantId = parserOf<MerchantId>(/^[A-Za-z0-9_-]{1,64}$/);
export const parseApiKeyId = parserOf<ApiKeyId>(/^[A-Za-z0-9_-]{1,64}$/);
export const parseNotificationId = parserOf<NotificationId>(/^evt_\d+$/);

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

/**
 * RFC 4648 base32 in lower case, without padding. Implemented here because pure code, such as projections, uses no
 * packages.
 */
export function base32(bytes: Uint8Array): string {
  let text = '';
  let buffer = 0;
  let bits = 0;
  for (const byte of bytes) {
    buffer = ((buffer << 8) | byte) & 0xffff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += BASE32[(buffer >> bits) & 31];
    }
  }
  return bits > 0 ? text + BASE32[(buffer << (5 - bits)) & 31] : text;
}
