import { createSecretKey } from 'node:crypto';
import { HttpWebhookSender } from '../../adapters/webhook-http/sender.ts';
import type { UrlRules } from '../../adapters/webhook-http/url.ts';
import { actorOf } from '../../operator/server/acts.ts';
import {
  accepted,
  type AdminArguments,
  type AdminCommands,
  CommandRefused,
  json,
  merchantIn,
  optionalText,
} from '../../operator/server/commands.ts';
import type { NotificationId } from '../../domain/values/ids.ts';
import { presentDelivery } from '../../http/presenters/delivery.presenter.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Tracing } from '../../observability/tracing.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import type { Random } from '../../ports/random.ts';
import type { LeaseGrant } from '../../runtime/leases/with-lease.ts';
import type { ServedRows } from '../../runtime/projections/served-rows.ts';
import { systemTimers } from '../../ports/timers.ts';
import type { WebhookSender } from '../../ports/webhooks/sender.ts';
import { DeliverWebhooks, type DeliveryObserver } from '../../features/webhooks/deliver.process.ts';
import type { Caller } from '../../features/shared/merchant-api.ts';
import { MerchantEndpoints } from '../../features/merchants/endpoints.ts';
import { createDeliveryHandler, type DeliveryHandler } from '../../features/shared/handlers/delivery-handler.ts';
import { MerchantWebhooks } from '../../features/webhooks/webhooks.ts';
import type { Core } from '../core.ts';
import { DeliveryProgress } from '../../features/webhooks/delivery-progress.ts';
import { LeasedWebhooks } from '../../features/webhooks/leased-webhooks.ts';
import type { Storage } from '../storage/parts.ts';

export interface WebhookParts {
  readonly core: Core;
  readonly store: EventStore;
  readonly storage: Pick<
    Storage,
    'readModel' | 'projections' | 'answers' | 'leases' | 'leaseTtlMs' | 'sharedStatus' | 'sharedLog'
  >;
  /** Whether this process can hold the delivery lease. */
  readonly delivers: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly rules: UrlRules;
  readonly carrier?: WebhookSender;
  readonly headerPrefix: string;
  readonly servedRows: ServedRows;
  readonly observer?: DeliveryObserver;
  readonly tracing?: Tracing | null;
}

export interface RunningWebhooks {
  /** Null if this process never delivers. */
  readonly process: LeasedWebhooks | null;
  /** The merchant's view. */
  readonly api: MerchantWebhooks;
  close(): Promise<void>;
}

/** Starts the deliveries, and the views and commands for merchants and operators. */
export async function startWebhooks(parts: WebhookParts): Promise<RunningWebhooks> {
  const { core, store, clock, random } = parts;
  const { readModel, answers } = parts.storage;
  const handler = createDeliveryHandler({ store, clock, random, notificationIds: core.notificationIds });
  const directory = new MerchantEndpoints(core.directory, core.merchantHandler);
  parts.tracing?.commands(handler);
  const deliveries = parts.delivers ? startDeliveries(parts, handler, directory) : null;
  await deliveries?.process.first;
  const api = new MerchantWebhooks({
    store,
    readModel,
    handler,
    directory,
    answers,
    notificationIds: core.notificationIds,
    clock,
    idempotency: core.idempotency,
    cursorKey: createSecretKey(core.cursorKey),
    servedRows: parts.servedRows,
  });
  return {
    process: deliveries?.process ?? null,
    api,
    close: async () => void (await deliveries?.close()),
  };
}

function startDeliveries(parts: WebhookParts, handler: DeliveryHandler, directory: MerchantEndpoints) {
  const { store, storage, random, log, headerPrefix } = parts;
  const plainSender = parts.carrier ?? new HttpWebhookSender(parts.rules);
  const sender = parts.tracing?.sender(plainSender, headerPrefix) ?? plainSender;
  const { leases, leaseTtlMs: ttlMs, sharedLog } = storage;
  const progress = sharedLog && new DeliveryProgress({ ...storage, store, isAfter: sharedLog.isAfter });
  const create = (grant: LeaseGrant): DeliverWebhooks =>
    new DeliverWebhooks({
      store,
      readModel: storage.readModel,
      handler,
      directory,
      sender,
      answers: storage.answers,
      timers: systemTimers,
      random,
      log,
      headerPrefix,
      ...(progress && { takeOver: progress.term(grant) }),
      ...(parts.observer && { observer: parts.observer }),
    });
  const process = new LeasedWebhooks({ leases, ttlMs, log, create });
  return {
    process,
    close: async () => {
      await process.close();
      await progress?.close();
      await sender.close();
    },
  };
}

/** `quittance webhook deliveries | replay`. */
export function webhookCommands(core: Core, api: MerchantWebhooks, random: Random): AdminCommands {
  const callerOf = (args: AdminArguments): Caller => {
    const merchantId = merchantIn(args);
    const settings = core.directory.settings(merchantId);
    if (!settings) throw new CommandRefused('no such merchant');
    return {
      merchantId,
      mode: settings.mode,
      requestId: `operator-${random.uuid()}`,
      operator: actorOf(args),
    };
  };
  return {
    'webhook.deliveries': async (args) => {
      const status = optionalText(args, 'status');
      const pageSize = numberOf(args, 'limit') ?? 20;
      const { rows } = accepted(
        await api.list(callerOf(args), { page: 1, pageSize, ...(status !== undefined && { status: status as never }) }),
      );
      return json(rows.map(presentDelivery));
    },
    'webhook.replay': async (args) => {
      const event = optionalText(args, 'event');
      if (event !== undefined)
        return json(presentDelivery(accepted(await api.redeliver(callerOf(args), event as NotificationId))));
      const fromSec = numberOf(args, 'from');
      const toSec = numberOf(args, 'to');
      if (fromSec === undefined) throw new CommandRefused('name --event, or a range with --from (and --to)');
      return json(
        accepted(
          await api.replay(callerOf(args), { fromSec, onlyUndelivered: false, ...(toSec !== undefined && { toSec }) }),
        ),
      );
    },
  };
}

function numberOf(args: AdminArguments, name: string): number | undefined {
  const text = optionalText(args, name);
  if (text === undefined) return undefined;
  if (!/^\d{1,12}$/.test(text)) throw new CommandRefused(`${name} must be a whole number`);
  return Number(text);
}
