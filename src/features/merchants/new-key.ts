import type { ApiKeyIssued } from '../../domain/events/merchant-events.ts';
import type { ApiKeyId, MerchantId, Mode } from '../../domain/values/ids.ts';
import type { Random } from '../../ports/random.ts';
import type { Sealer } from '../../runtime/cryptography/sealing.ts';
import { apiSecretContext, hashOfKey, hintOfKey, newApiKey, newApiSecret, newKeyId } from './credentials.ts';

/** Shown once, never again. */
export interface NewKey {
  readonly key_id: ApiKeyId;
  readonly api_key: string;
  readonly api_secret: string;
}

/** Shown once: only a hash of the key and sealed secrets are stored. */
export interface NewMerchant {
  readonly id: MerchantId;
  readonly mode: Mode;
  readonly key_id: ApiKeyId;
  readonly api_key: string;
  readonly api_secret: string;
  readonly webhook_secret: string;
}

export interface NewWebhookSecret {
  readonly webhook_secret: string;
  /** Unix seconds. */
  readonly activates_at: number;
}

/** An API key with its secret: the event to store, and what the merchant is shown. */
export function newKey(
  { random, sealer }: { readonly random: Random; readonly sealer: Sealer },
  merchantId: MerchantId,
  mode: Mode,
): { readonly issued: ApiKeyIssued['data']; readonly shown: NewKey } {
  const keyId = newKeyId(random);
  const apiKey = newApiKey(mode, random);
  const apiSecret = newApiSecret(mode, random);
  const sealedSecret = sealer.seal('api-secrets', Buffer.from(apiSecret), apiSecretContext(merchantId, keyId));
  const issued = { merchantId, keyId, mode, keyHash: hashOfKey(apiKey), hint: hintOfKey(mode, apiKey), sealedSecret };
  return { issued, shown: { key_id: keyId, api_key: apiKey, api_secret: apiSecret } };
}
