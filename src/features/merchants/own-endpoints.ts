import { refuse } from '../../domain/values/result.ts';
import type { MerchantId } from '../../domain/values/ids.ts';
import type { Idempotency } from '../shared/idempotency.ts';
import type { Caller, Outcome } from '../shared/merchant-api.ts';
import type { Merchants } from './merchants.ts';
import type { ChangedBy } from './merchants-deps.ts';
import type { NewWebhookSecret } from './new-key.ts';
import type { MerchantOverview, WebhookOverview } from './overview.ts';
import { must } from '../../domain/values/must.ts';

type Settings = Pick<
  Merchants,
  'getMerchant' | 'addWebhook' | 'setWebhook' | 'issueWebhookSecret' | 'activateWebhookSecret' | 'resumeWebhook'
>;
type NewEndpoint = Parameters<Merchants['addWebhook']>[1];
type EndpointChange = Parameters<Merchants['setWebhook']>[1];

/** A merchant's changes to its own endpoints, each applied once per Idempotency-Key. */
export class OwnEndpoints {
  readonly #merchants: Settings;
  readonly #idempotency: Idempotency;

  constructor(deps: { readonly merchants: Settings; readonly idempotency: Idempotency }) {
    this.#merchants = deps.merchants;
    this.#idempotency = deps.idempotency;
  }

  /** The default endpoint comes first. */
  list({ merchantId }: { readonly merchantId: MerchantId }): readonly WebhookOverview[] {
    const merchant = this.#merchants.getMerchant(merchantId);
    return merchant ? endpointsOf(merchant) : [];
  }

  get(reader: { readonly merchantId: MerchantId }, endpointId: string): WebhookOverview | null {
    return this.list(reader).find(({ endpoint_id: id }) => id === endpointId) ?? null;
  }

  /** The event log stores the secret only sealed, so a repetition receives what was sealed for the first request. */
  add(caller: Caller, endpoint: NewEndpoint): ReturnType<Merchants['addWebhook']> {
    return this.#merchants.addWebhook(caller.merchantId, endpoint, byOf(caller), (made) =>
      this.#kept(caller, 'webhook.endpoint.create', JSON.stringify(endpoint), made),
    );
  }

  change(caller: Caller, endpointId: string, change: EndpointChange): Promise<Outcome<WebhookOverview>> {
    return this.#changed(caller, endpointId, (by) =>
      this.#merchants.setWebhook(caller.merchantId, { ...change, endpointId }, by),
    );
  }

  async issueSecret(caller: Caller, endpointId: string): Promise<Outcome<NewWebhookSecret>> {
    if (!this.get(caller, endpointId)) return noSuchEndpoint;
    const keep = (sealed: string) => this.#kept(caller, 'webhook.secret.issue', endpointId, sealed);
    return this.#merchants.issueWebhookSecret(caller.merchantId, byOf(caller), keep, endpointId);
  }

  activateSecret(caller: Caller, endpointId: string): Promise<Outcome<WebhookOverview>> {
    return this.#once(caller, endpointId, 'webhook.secret.activate', (by) =>
      this.#merchants.activateWebhookSecret(caller.merchantId, by, endpointId),
    );
  }

  /** Resumes deliveries, starting with the queued ones in order. */
  resume(caller: Caller, endpointId: string): Promise<Outcome<WebhookOverview>> {
    return this.#once(caller, endpointId, 'webhook.resume', (by) =>
      this.#merchants.resumeWebhook(caller.merchantId, by, endpointId),
    );
  }

  async #kept(caller: Caller, operation: string, requestHash: string, made: string): Promise<Outcome<string>> {
    const admission = await this.#idempotency.admit(caller, operation, requestHash, () => made);
    return admission.ok ? { ok: true, value: admission.givenId } : admission;
  }

  #once(caller: Caller, endpointId: string, operation: string, change: Change): Promise<Outcome<WebhookOverview>> {
    const run = (): Promise<Outcome<WebhookOverview>> => this.#changed(caller, endpointId, change);
    return this.get(caller, endpointId)
      ? this.#idempotency.once(caller, { operation, requestHash: endpointId, mayRunTwice: true, run })
      : Promise.resolve(noSuchEndpoint);
  }

  async #changed(caller: Caller, endpointId: string, change: Change): Promise<Outcome<WebhookOverview>> {
    if (!this.get(caller, endpointId)) return noSuchEndpoint;
    const done = await change(byOf(caller));
    if (!done.ok) return done;
    return { ok: true, value: must(endpointsOf(done.value).find(({ endpoint_id: id }) => id === endpointId)) };
  }
}

type Change = (by: ChangedBy) => Promise<Outcome<MerchantOverview>>;

const endpointsOf = ({ webhook, further_webhooks: further }: MerchantOverview): readonly WebhookOverview[] =>
  webhook ? [webhook, ...further] : further;
const noSuchEndpoint: Outcome<never> = refuse('not_found', 'no such endpoint');
const byOf = (caller: Caller): ChangedBy => ({
  actor: `merchant:${caller.merchantId}`,
  correlationId: caller.requestId,
});
