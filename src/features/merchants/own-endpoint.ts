import type { MerchantId } from '../../domain/ids.ts';
import type { Idempotency } from '../shared/idempotency.ts';
import type { Caller, Outcome } from '../shared/merchant-api.ts';
import type { ChangedBy, MerchantOverview, Merchants, NewWebhookSecret, WebhookOverview } from './merchants.ts';

/** What a merchant does by itself with the endpoint it is told at; each change once for each Idempotency-Key. */
export class OwnEndpoint {
  readonly #merchants: Pick<Merchants, 'getMerchant' | 'issueWebhookSecret' | 'activateWebhookSecret' | 'resumeWebhook'>;
  readonly #idempotency: Idempotency;

  constructor(deps: {
    readonly merchants: Pick<Merchants, 'getMerchant' | 'issueWebhookSecret' | 'activateWebhookSecret' | 'resumeWebhook'>;
    readonly idempotency: Idempotency;
  }) {
    this.#merchants = deps.merchants;
    this.#idempotency = deps.idempotency;
  }

  get({ merchantId }: { readonly merchantId: MerchantId }): WebhookOverview | null {
    return this.#merchants.getMerchant(merchantId)?.webhook ?? null;
  }

  /** The ledger keeps the secret sealed only, so what a repetition is answered is what was sealed for the first request. */
  async issueSecret(caller: Caller, endpointId: string): Promise<Outcome<NewWebhookSecret>> {
    if (this.get(caller)?.endpoint_id !== endpointId) return noSuchEndpoint;
    return this.#merchants.issueWebhookSecret(caller.merchantId, byOf(caller), async (sealed) => {
      const admission = await this.#idempotency.admit(caller, 'webhook.secret.issue', endpointId, () => sealed);
      return admission.ok ? { ok: true, value: admission.givenId } : admission;
    });
  }

  activateSecret(caller: Caller, endpointId: string): Promise<Outcome<WebhookOverview>> {
    return this.#change(caller, endpointId, 'webhook.secret.activate', (by) => this.#merchants.activateWebhookSecret(caller.merchantId, by));
  }

  /** Sends to it again, what has queued in order. */
  resume(caller: Caller, endpointId: string): Promise<Outcome<WebhookOverview>> {
    return this.#change(caller, endpointId, 'webhook.resume', (by) => this.#merchants.resumeWebhook(caller.merchantId, by));
  }

  async #change(
    caller: Caller,
    endpointId: string,
    operation: string,
    change: (by: ChangedBy) => Promise<Outcome<MerchantOverview>>,
  ): Promise<Outcome<WebhookOverview>> {
    if (this.get(caller)?.endpoint_id !== endpointId) return noSuchEndpoint;
    return this.#idempotency.once(caller, {
      operation,
      requestHash: endpointId,
      mayRunTwice: true,
      run: async () => {
        const done = await change(byOf(caller));
        return done.ok ? { ok: true, value: done.value.webhook! } : done;
      },
    });
  }
}

const noSuchEndpoint: Outcome<never> = { ok: false, refusal: { code: 'not_found', message: 'no such endpoint' } };
const byOf = (caller: Caller): ChangedBy => ({ actor: `merchant:${caller.merchantId}`, correlationId: caller.requestId });
