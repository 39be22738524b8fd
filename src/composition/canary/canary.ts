import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, type Quittance } from '../../../packages/client/src/client.ts';
import { parseSessionId } from '../../domain/values/ids.ts';
import { amountOf } from '../../domain/money/money.ts';
import { must } from '../../domain/values/must.ts';
import { tokenOf, type Network } from '../../domain/networks/networks.ts';
import { Canaries } from '../../features/canary/canaries.process.ts';
import type { CanaryPayer, CanaryShop } from '../../features/canary/round.ts';
import { reportCanaries, reportCanaryLease } from '../../observability/metrics/canary.ts';
import { withLease, type RunningLease } from '../../runtime/leases/with-lease.ts';
import type { Wallet } from '../../signer/keys/wallet.ts';
import type { CanaryParts } from './account.ts';
import { canaryPayer } from './payer.ts';
import type { Foundation } from '../service-foundation.ts';
import type { ServiceParts } from '../service-parts.ts';

/** Starts canary payments in the process that holds the lease. */
export function startCanaries(
  { config, storage, clock, random, log }: ServiceParts,
  { mode, apiKey, apiSecret, wallet, chains: openChains }: CanaryParts & { readonly wallet: Wallet },
  { store, metrics }: Pick<Foundation, 'store' | 'metrics'>,
  publicUrl: string,
): RunningLease {
  const {
    CANARY_EVERY_SECONDS: everySec,
    CANARY_COIN: coin,
    CANARY_AMOUNT: amount,
    CANARY_MAX_OUT: maxOut,
    HEADER_PREFIX: headerPrefix,
  } = config;
  const shop = canaryShop(createClient({ baseUrl: publicUrl, apiKey, apiSecret, headerPrefix, maxRetries: 0 }));
  let running: Canaries | null = null;
  const start = async () => {
    const chains = openChains().filter(
      ({ settings }) => settings.mode === mode && tokenOf(settings, coin) !== undefined,
    );
    const asked = chains.filter(({ network }) => config.CANARY_NETWORKS?.includes(network) ?? true);
    const payers = new Map<Network, CanaryPayer>(
      asked.map((chain) => [chain.network, canaryPayer(chain, wallet, { coin, amount })]),
    );
    const canaries = new Canaries({
      ...{ store, clock, random, shop, mode, payers, coin, amount, maxOut, everySec, log },
      pause: (ms, signal) => sleep(ms, undefined, { signal, ref: false }),
    });
    canaries.start();
    running = canaries;
    return {
      stop: async () => {
        running = null;
        await canaries.stop();
        await Promise.all(chains.map((chain) => chain.close()));
      },
    };
  };
  reportCanaries(metrics.registry, () => running?.status() ?? [], everySec);
  const lease = withLease('canary', start, { leases: storage.leases, ttlMs: storage.leaseTtlMs, log });
  // Work that fails to start holds the lease only briefly; what counts is that payments are made.
  reportCanaryLease(metrics.registry, mode, () => lease.isHeld && running !== null);
  return lease;
}

function canaryShop(client: Quittance): CanaryShop {
  return {
    create: async ({ orderId, network, coin, amount }) => {
      const { id, payment_options: options } = await client.sessions.create({
        order_id: orderId,
        amount,
        currency: coin,
      });
      const option = options.find((each) => each.network === network);
      if (!option) throw new Error(`the session cannot be paid on ${network}`);
      return { sessionId: must(parseSessionId(id)), address: option.address };
    },
    look: async (id) => {
      const { status, received, pending, refundable, refunded } = await client.sessions.get(id);
      return {
        seen: status === 'paid' || amountOf(received) + amountOf(pending) > 0n,
        paid: status === 'paid',
        refundable,
        refunded,
      };
    },
    isNotified: async (id) => {
      const { data } = await client.deliveries.page({ session_id: id, event_type: 'payment.completed' });
      return data.some(({ status }) => status === 'delivered');
    },
    refund: async (id) =>
      void (await client.refunds.create({ session_id: id, reason: 'canary' }, { idempotencyKey: `canary-${id}` })),
  };
}
