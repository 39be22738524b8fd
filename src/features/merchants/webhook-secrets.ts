import type { MerchantId } from '../../domain/values/ids.ts';
import { must } from '../../domain/values/must.ts';
import type { Sealer } from '../../runtime/cryptography/sealing.ts';
import type { Outcome } from '../shared/merchant-api.ts';
import { webhookSecretContext } from './credentials.ts';

/* A webhook secret is kept sealed for its endpoint and version, and shown once. */

interface SecretOf {
  readonly merchantId: MerchantId;
  readonly endpointId: string;
  readonly version: number;
}

const contextOf = ({ merchantId, endpointId, version }: SecretOf): string =>
  webhookSecretContext(merchantId, endpointId, version);

export const sealWebhookSecret = (sealer: Sealer, of: SecretOf, secret: string): string =>
  sealer.seal('webhook-secrets', Buffer.from(secret), contextOf(of));

export const openWebhookSecret = (sealer: Sealer, of: SecretOf, sealed: string): string =>
  sealer.open('webhook-secrets', sealed, contextOf(of)).toString();

/** Stores the result of the first request with an idempotency key and returns it to repetitions. */
export type Keep = (made: string) => Promise<Outcome<string>>;
export const keepNothing: Keep = async (made) => ({ ok: true, value: made });

/** What was kept as `name:sealed secret`. */
export function keptParts(kept: string): [name: string, sealedSecret: string] {
  const [, name, sealedSecret] = must(/^(\w+):(.*)$/s.exec(kept));
  return [must(name), must(sealedSecret)];
}
