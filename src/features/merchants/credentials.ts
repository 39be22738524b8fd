import { hash } from 'node:crypto';
import {
  base32,
  parseApiKeyId,
  parseMerchantId,
  type ApiKeyId,
  type MerchantId,
  type Mode,
} from '../../domain/values/ids.ts';
import { must } from '../../domain/values/must.ts';
import type { Random } from '../../ports/random.ts';

/* Credentials that a merchant sees once, and ids of what belongs to a merchant. */

const SECRET_BYTES = 32;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 62^43 is just above 2^256, so 43 characters hold 256 bits. */
const SECRET_LENGTH = 43;
const ID_LENGTH = 20;

/** 256 random bits in letters and digits, so that a double click selects all of it. */
function secretText(random: Random): string {
  let rest = BigInt(`0x${Buffer.from(random.bytes(SECRET_BYTES)).toString('hex')}`);
  let text = '';
  for (let index = 0; index < SECRET_LENGTH; index++) {
    text = BASE62[Number(rest % 62n)] + text;
    rest /= 62n;
  }
  return text;
}

const newId = (prefix: string, random: Random): string => `${prefix}_${base32(random.bytes(13)).slice(0, ID_LENGTH)}`;

export const newMerchantId = (random: Random): MerchantId => must(parseMerchantId(newId('mer', random)));
export const newKeyId = (random: Random): ApiKeyId => must(parseApiKeyId(newId('key', random)));
export const newEndpointId = (random: Random): string => newId('we', random);
export const newChangeId = (random: Random): string => newId('chg', random);
export const newDomainId = (random: Random): string => newId('dom', random);

/** `sk_live_` or `sk_test_` (specification, "Authentication"). */
export const newApiKey = (mode: Mode, random: Random): string => `sk_${mode}_${secretText(random)}`;
/** Signs requests. Its whole text is the HMAC key. */
export const newApiSecret = (mode: Mode, random: Random): string => `sks_${mode}_${secretText(random)}`;
/** Signs webhooks. Separate from the API secret, so that a logged delivery is never a valid API signature. */
export const newWebhookSecret = (mode: Mode, random: Random): string => `whs_${mode}_${secretText(random)}`;

/** SHA-256 (hex), the only trace of an API key that is stored. */
export const hashOfKey = (apiKey: string): string => hash('sha256', apiKey, 'hex');
/** The prefix and the last four characters, for display. */
export const hintOfKey = (mode: Mode, apiKey: string): string => `sk_${mode}_...${apiKey.slice(-4)}`;

/* Contexts that bind a sealed text to tenant, id, version and purpose. */

export const apiSecretContext = (merchantId: MerchantId, keyId: ApiKeyId): string =>
  `${merchantId}|${keyId}|1|api_secret`;
export const webhookSecretContext = (merchantId: MerchantId, endpointId: string, version: number): string =>
  `${merchantId}|${endpointId}|${version}|webhook_secret`;
