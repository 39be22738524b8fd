import type { MerchantId } from '../../domain/values/ids.ts';
import type { QueueId } from '../../domain/notifications/delivery-ids.ts';
import { merchantStream } from '../../domain/values/streams.ts';
import type { EndpointDirectory, Subscription, WebhookEndpoint } from '../../ports/webhooks/endpoint-directory.ts';
import type { MerchantDirectory } from './directory.ts';
import type { MerchantHandler } from '../shared/handlers/merchant-handler.ts';

/** Merchants' webhook endpoints for the deliveries. */
export class MerchantEndpoints implements EndpointDirectory {
  readonly #directory: MerchantDirectory;
  readonly #merchants: MerchantHandler;

  constructor(directory: MerchantDirectory, merchants: MerchantHandler) {
    this.#directory = directory;
    this.#merchants = merchants;
  }

  endpointOf(queue: QueueId): WebhookEndpoint | null {
    return this.#directory.endpointOf(queue);
  }

  subscriptionsOf(merchantId: MerchantId): readonly Subscription[] {
    return this.#directory.subscriptionsOf(merchantId);
  }

  /** If the endpoint was replaced in the meantime there is nothing to suspend, which is not an error. */
  async suspend(merchantId: MerchantId, endpointId: string, reason: 'only_failures' | 'gone'): Promise<void> {
    const context = { correlationId: endpointId, actor: 'deliveries' };
    await this.#merchants.execute(merchantStream(merchantId), { type: 'SuspendEndpoint', endpointId, reason }, context);
    await this.#directory.catchUp();
  }

  onChange(listener: (queue: QueueId) => void): () => void {
    return this.#directory.onEndpointChange(listener);
  }
}
