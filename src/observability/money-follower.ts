import { setTimeout as sleep } from 'node:timers/promises';
import type { DomainEvent } from '../domain/events/domain-event.ts';
import type { StoredEvent } from '../domain/events/envelope.ts';
import type { SessionCreated, SessionEvent } from '../domain/events/session-events.ts';
import type { MerchantId, Mode, SessionId } from '../domain/values/ids.ts';
import type { Network } from '../domain/networks/networks.ts';
import { sessionOfStream } from '../domain/values/streams.ts';
import type { EventStore, RecordedEvent, Subscription } from '../ports/event-log/event-store.ts';
import type { ReadModel } from '../ports/read-model/read-model.ts';
import { decodeEvent } from '../runtime/commands/codec.ts';
import { RecentMap } from '../runtime/util/recent-map.ts';
import { seedFrom } from '../runtime/projections/whole-rows.ts';
import { SESSIONS_TABLE } from '../../projections/sessions/session-row.ts';
import { sessionView } from '../../projections/sessions/session-view.projection.ts';
import { exemplarOf, type Exemplar } from './metrics/exemplar.ts';
import type { MoneyMetrics, MoneyUnderWay } from './metrics/money.ts';
import { NONE_PENDING, nothingUnderWay, readUnderWay, type OpenRefund, type OpenSession } from './under-way.ts';
import type { WebhookMetrics } from './metrics/webhooks.ts';

/** The newest payment, for display. */
export interface LastPayment {
  readonly atSec: number;
  readonly mode: Mode;
  readonly network: Network | null;
  readonly coin: string;
  readonly amount: string;
}

export interface MoneyFollowerDeps {
  readonly store: EventStore;
  readonly readModel: ReadModel;
  readonly money: MoneyMetrics;
  readonly webhooks: WebhookMetrics;
  readonly merchants: () => readonly { readonly merchantId: MerchantId; readonly mode: Mode }[];
  /** Whether the merchant has an endpoint: a delivery waiting for one to be configured is not late. */
  readonly hasEndpoint: (merchantId: MerchantId) => boolean;
  /** Events from this moment on are counted; older ones only show what is in progress. */
  readonly sinceMs: number;
  readonly onError: (error: unknown) => void;
  /** What is in progress could not be read at the start; it is retried. */
  readonly onStartError: (error: unknown) => void;
  /** Between two attempts to start. Default 1,000. */
  readonly retryMs?: number;
}

/** When an event was written, and its trace. */
interface Moment {
  readonly atMs: number;
  readonly exemplarLabels: Exemplar;
}

const momentOf = ({ atMs, metadata }: Pick<StoredEvent, 'atMs' | 'metadata'>): Moment => ({
  atMs,
  exemplarLabels: exemplarOf(metadata.traceParent),
});

const RETRY_MS = 1_000;
const MAX_ENDED = 50_000;
const SETTLED = {
  DeliverySucceeded: 'delivered',
  DeliveryExhausted: 'exhausted',
  DeliveryRejected: 'rejected',
  DeliveryBlocked: 'blocked',
} as const;

/** Follows the event log for the metrics that only events provide. Its memory is bounded by what is in progress. */
export class MoneyFollower implements MoneyUnderWay {
  readonly #deps: MoneyFollowerDeps;
  #underWay = nothingUnderWay();
  /** Modes of sessions that ended: money may still arrive or leave. */
  readonly #ended = new RecentMap<SessionId, Mode>(MAX_ENDED);
  #subscription: Subscription | null = null;
  readonly #closing = new AbortController();
  lastPayment: LastPayment | null = null;

  constructor(deps: MoneyFollowerDeps) {
    this.#deps = deps;
  }

  /**
   * Resolves once what was in progress at the start is known; events are followed from then on. Retries until it
   * succeeds or is closed.
   */
  async start(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted && !this.#subscription) {
      try {
        await this.#follow();
      } catch (error) {
        this.#deps.onStartError(error);
        await sleep(this.#deps.retryMs ?? RETRY_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  async #follow(): Promise<void> {
    const { store, readModel } = this.#deps;
    const after = await seedFrom(readModel, sessionView, async () => {
      // What an earlier attempt found may have ended since.
      this.#underWay = await readUnderWay(readModel, this.#deps.merchants());
    });
    if (this.#closing.signal.aborted) return;
    this.#subscription = store.subscribe({
      name: 'money-figures',
      after,
      streamPrefixes: ['session-', 'delivery-'],
      onEvents: async (events) => {
        for (const event of events) {
          const underWay = this.#take(event);
          if (underWay !== null) await underWay;
        }
      },
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#subscription?.close();
  }

  openSessions(): Iterable<OpenSession> {
    return this.#underWay.sessions.values();
  }

  openRefunds(): Iterable<OpenRefund> {
    return this.#underWay.refunds.values();
  }

  pendingDeliveries(): number {
    return this.#underWay.deliveries.size;
  }

  oldestPendingAtMs(): number | null {
    let oldest: number | null = null;
    for (const { merchantId, atMs } of this.#underWay.deliveries.values())
      if ((oldest === null || atMs < oldest) && this.#deps.hasEndpoint(merchantId)) oldest = atMs;
    return oldest;
  }

  /**
   * A metric that cannot be updated must not hold up the others. Null when there is nothing to wait for, as with nearly
   * every event.
   */
  #take(recorded: RecordedEvent): Promise<void> | null {
    try {
      const isNew = recorded.atMs >= this.#deps.sinceMs;
      if (recorded.stream.startsWith('delivery-')) this.#takeDelivery(recorded, isNew);
      else
        return this.#takeSession(decodeEvent(recorded), isNew)?.catch((error: unknown) => this.#failed(error)) ?? null;
    } catch (error) {
      this.#failed(error);
    }
    return null;
  }

  #failed(error: unknown): void {
    this.#deps.money.followFailures.inc();
    this.#deps.onError(error);
  }

  #takeDelivery({ stream, type, atMs, data }: RecordedEvent, isNew: boolean): void {
    const id = stream.slice('delivery-'.length);
    if (type === 'DeliveryScheduled' || type === 'RedeliveryRequested')
      this.#underWay.deliveries.set(id, { merchantId: merchantIn(data), atMs });
    if (!(type in SETTLED)) return;
    this.#underWay.deliveries.delete(id);
    if (isNew) this.#deps.webhooks.settled.inc({ outcome: SETTLED[type as keyof typeof SETTLED] });
  }

  #takeSession(stored: StoredEvent<DomainEvent>, isNew: boolean): Promise<void> | null {
    const id = sessionOfStream(stored.stream);
    if (id === null) return null;
    const event = stored.event as SessionEvent;
    const known = this.#underWay.sessions.get(id)?.mode ?? this.#ended.get(id);
    if (event.type === 'SessionCreated') this.#created(event.data, isNew);
    else if (known !== undefined) this.#takeFact(id, known, event, momentOf(stored), isNew);
    else
      return this.#modeOf(id).then((mode) =>
        mode === null ? undefined : this.#takeFact(id, mode, event, momentOf(stored), isNew),
      );
    return null;
  }

  #takeFact(
    id: SessionId,
    mode: Mode,
    event: Exclude<SessionEvent, SessionCreated>,
    moment: Moment,
    isNew: boolean,
  ): void {
    if ('depositKey' in event.data) this.#tookDeposit(id, mode, event, isNew);
    else if ('refundId' in event.data) this.#tookRefund(mode, event, moment, isNew);
    else if (ENDS.has(event.type)) this.#sessionEnded(id, mode, event, moment, isNew);
  }

  #created({ sessionId, mode, rateLock, currency, dueCoin }: SessionCreated['data'], isNew: boolean): void {
    if (this.#ended.get(sessionId) !== undefined) return;
    this.#underWay.sessions.set(sessionId, { mode, status: 'open', pending: NONE_PENDING, lastDeposit: null });
    if (!isNew) return;
    const { money } = this.#deps;
    money.sessions.inc({ mode, outcome: 'created' });
    let lowest = Infinity;
    let highest = 0;
    for (const { used, rate } of rateLock?.quotes ?? []) {
      if (!used || rate === null) continue;
      lowest = Math.min(lowest, Number(rate));
      highest = Math.max(highest, Number(rate));
    }
    if (lowest > 0 && lowest < Infinity) money.rateSpread.set({ currency, coin: dueCoin }, highest / lowest - 1);
  }

  #tookDeposit(id: SessionId, mode: Mode, event: SessionEvent, isNew: boolean): void {
    const { money } = this.#deps;
    const session = this.#underWay.sessions.get(id);
    switch (event.type) {
      case 'DepositDetected': {
        const { network, kind, depositKey } = event.data;
        if (session && kind === 'on_time')
          this.#underWay.sessions.set(id, {
            ...session,
            status: 'processing',
            pending: new Set([...session.pending, depositKey]),
          });
        if (!isNew) return;
        money.deposits.inc({ mode, network, outcome: 'detected' });
        money.depositKinds.inc({ mode, network, kind });
        return;
      }
      case 'DepositConfirmed': {
        const network = networkOf(event.data.depositKey);
        if (session)
          this.#underWay.sessions.set(id, {
            ...settled(session, event.data.depositKey),
            lastDeposit: { network, blockTimeSec: event.data.blockTimeSec },
          });
        if (isNew) money.deposits.inc({ mode, network, outcome: 'final' });
        return;
      }
      case 'DepositReverted':
        if (session) this.#underWay.sessions.set(id, settled(session, event.data.depositKey));
        if (isNew)
          money.deposits.inc({
            mode,
            network: networkOf(event.data.depositKey),
            outcome: event.data.afterFinal ? 'reverted_after_final' : 'reverted',
          });
        return;
      default:
    }
  }

  #tookRefund(mode: Mode, event: SessionEvent, { atMs, exemplarLabels }: Moment, isNew: boolean): void {
    const { money } = this.#deps;
    switch (event.type) {
      case 'RefundRequested':
        this.#underWay.refunds.set(event.data.refundId, {
          mode,
          status: 'PENDING',
          requestedAtSec: event.data.requestedAtSec,
        });
        if (isNew) money.refunds.inc({ mode, outcome: 'requested' });
        return;
      case 'RefundPayoutSigned': {
        const refund = this.#underWay.refunds.get(event.data.refundId);
        if (refund) this.#underWay.refunds.set(event.data.refundId, { ...refund, status: 'PROCESSING' });
        return;
      }
      case 'RefundCompleted':
      case 'RefundFailed': {
        const refund = this.#underWay.refunds.get(event.data.refundId);
        this.#underWay.refunds.delete(event.data.refundId);
        if (!isNew) return;
        money.refunds.inc({ mode, outcome: event.type === 'RefundCompleted' ? 'completed' : 'failed' });
        if (refund)
          money.refundDuration.observe({
            labels: { mode },
            value: Math.max(0, atMs / 1000 - refund.requestedAtSec),
            exemplarLabels,
          });
        return;
      }
      case 'RefundPayoutReverted':
        if (isNew) money.refunds.inc({ mode, outcome: 'reverted' });
        return;
      default:
    }
  }

  #sessionEnded(
    id: SessionId,
    mode: Mode,
    event: SessionEvent,
    { atMs, exemplarLabels }: Moment,
    isNew: boolean,
  ): void {
    const { money } = this.#deps;
    const session = this.#underWay.sessions.get(id);
    this.#underWay.sessions.delete(id);
    this.#ended.set(id, mode);
    if (event.type === 'SessionPaid') {
      const { coin, received, paidAtSec } = event.data;
      if (paidAtSec >= (this.lastPayment?.atSec ?? 0)) {
        const network = session?.lastDeposit?.network ?? null;
        this.lastPayment = { atSec: paidAtSec, mode, network, coin, amount: received };
        money.lastPaid.set({ mode }, paidAtSec);
      }
      if (!isNew) return;
      money.sessions.inc({ mode, outcome: 'paid' });
      money.received.inc({ mode, coin }, Number(received));
      const deposit = session?.lastDeposit;
      const labels = deposit && { mode, network: deposit.network };
      if (labels)
        money.blockToPaid.observe({ labels, value: Math.max(0, atMs / 1000 - deposit.blockTimeSec), exemplarLabels });
    } else if (isNew && event.type === 'SessionExpired') money.sessions.inc({ mode, outcome: 'expired' });
    else if (isNew && event.type === 'SessionFailed') money.sessions.inc({ mode, outcome: 'failed' });
    else if (isNew && event.type === 'SessionCancelled') money.sessions.inc({ mode, outcome: 'cancelled' });
  }

  async #modeOf(id: SessionId): Promise<Mode | null> {
    const row = await this.#deps.readModel.get(SESSIONS_TABLE, id);
    if (row) this.#ended.set(id, row.mode);
    return row?.mode ?? null;
  }
}

const ENDS: ReadonlySet<SessionEvent['type']> = new Set([
  'SessionPaid',
  'SessionExpired',
  'SessionFailed',
  'SessionCancelled',
]);

/** The session once a deposit is no longer pending: confirmed without paying it, or gone. */
function settled(session: OpenSession, depositKey: string): OpenSession {
  const pending = new Set([...session.pending].filter((key) => key !== depositKey));
  return { ...session, pending, status: pending.size === 0 ? 'open' : 'processing' };
}

const networkOf = (depositKey: string): Network => depositKey.slice(0, depositKey.indexOf(':')) as Network;

const MERCHANT_FIELD = /"merchantId":"([^"]+)"/;

/** Found without parsing the whole event: inside JSON text this pattern is always a field. */
const merchantIn = (deliveryJson: string): MerchantId => (MERCHANT_FIELD.exec(deliveryJson)?.[1] ?? '') as MerchantId;
