import type { MerchantId } from '../../domain/values/ids.ts';
import type { Idempotency } from '../shared/idempotency.ts';
import type { Caller, Outcome } from '../shared/merchant-api.ts';
import type { Merchants } from './merchants.ts';
import type { PendingChangeOverview } from './overview.ts';

/** A merchant's own pending changes. */
export class OwnChanges {
  readonly #merchants: Pick<Merchants, 'getMerchant' | 'withdrawChange'>;
  readonly #idempotency: Idempotency;

  constructor(deps: {
    readonly merchants: Pick<Merchants, 'getMerchant' | 'withdrawChange'>;
    readonly idempotency: Idempotency;
  }) {
    this.#merchants = deps.merchants;
    this.#idempotency = deps.idempotency;
  }

  /** In the order of the requests. */
  list({ merchantId }: { readonly merchantId: MerchantId }): readonly PendingChangeOverview[] {
    return this.#merchants.getMerchant(merchantId)?.pending_changes ?? [];
  }

  /** Returns the changes that are still pending. */
  withdraw(caller: Caller, changeId: string): Promise<Outcome<readonly PendingChangeOverview[]>> {
    const run = async (): Promise<Outcome<readonly PendingChangeOverview[]>> => {
      const by = { actor: `merchant:${caller.merchantId}`, correlationId: caller.requestId };
      const done = await this.#merchants.withdrawChange(caller.merchantId, changeId, by);
      return done.ok ? { ok: true, value: done.value.pending_changes } : done;
    };
    return this.#idempotency.once(caller, {
      operation: 'merchant.change.withdraw',
      requestHash: changeId,
      mayRunTwice: true,
      run,
    });
  }
}
