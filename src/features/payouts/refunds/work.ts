import type { MerchantId, Mode, RefundId, SessionId } from '../../../domain/values/ids.ts';
import type { Network } from '../../../domain/networks/networks.ts';
import { sessionOfStream, sessionStream } from '../../../domain/values/streams.ts';
import type { EventStore, Subscription } from '../../../ports/event-log/event-store.ts';
import { rowPages } from '../../../ports/read-model/row-pages.ts';
import type { ReadModel, Table } from '../../../ports/read-model/read-model.ts';
import { decodeEvent } from '../../../runtime/commands/codec.ts';
import { seedFrom } from '../../../runtime/projections/whole-rows.ts';
import type { SessionHandler } from '../../shared/handlers/session-handler.ts';
import {
  LANDED_PAYOUTS_TABLE,
  landedKey,
  OPEN_REFUNDS_TABLE,
  openPayouts,
} from '../../../../projections/payouts/open-payouts.projection.ts';
import { createdOf } from '../../../../state-machines/checkout-session/session.state.ts';

export interface LegRef {
  readonly sessionId: SessionId;
  readonly merchantId: MerchantId;
  readonly refundId: RefundId;
  readonly legId: string;
  readonly mode: Mode;
  readonly network: Network;
}

type TreasuryLeg = Pick<LegRef, 'mode' | 'network' | 'legId'>;

interface WorkDeps {
  readonly store: EventStore;
  readonly readModel: ReadModel;
  readonly sessions: SessionHandler;
  readonly nowSec: () => number;
  /** Called when a leg of the treasury may need work. */
  readonly onWork: (mode: Mode, network: Network) => void;
}

/** Payouts that landed within the last day are checked again after a restart; every chain becomes final sooner. */
const WATCHED_SEC = 86_400;

/** Open legs and recently landed ones, by treasury. Fed from the event log, so a crash loses nothing. */
export class PayoutWork {
  readonly #deps: WorkDeps;
  readonly #open = new Map<string, Map<string, LegRef>>();
  readonly #landed = new Map<string, Map<string, LegRef>>();
  #subscription: Subscription | null = null;

  constructor(deps: WorkDeps) {
    this.#deps = deps;
  }

  /** Resolves once every refund that was open at the start is known. */
  async start(): Promise<void> {
    const { store, readModel, nowSec } = this.#deps;
    const after = await seedFrom(readModel, openPayouts, async () => {
      await this.#scan(OPEN_REFUNDS_TABLE, '', (row) => this.#addRefund(row['sessionId'], row['refundId']));
      await this.#scan(LANDED_PAYOUTS_TABLE, landedKey(nowSec() - WATCHED_SEC, ''), (row) =>
        this.#addLanded(row['sessionId'], row['refundId'], row['legId']),
      );
    });
    this.#subscription = store.subscribe({
      name: 'pay-refunds',
      after,
      streamPrefixes: ['session-'],
      onEvents: async (events) => {
        for (const recorded of events) {
          const { stream, event } = decodeEvent(recorded);
          const sessionId = sessionOfStream(stream);
          if (sessionId === null) continue;
          if (event.type === 'RefundRequested' || event.type === 'RefundPayoutReverted')
            await this.#addRefund(sessionId, event.data.refundId);
          if (event.type === 'RefundPayoutLanded')
            await this.#addLanded(sessionId, event.data.refundId, event.data.legId);
        }
      },
    });
  }

  async close(): Promise<void> {
    await this.#subscription?.close();
  }

  /** Oldest first. */
  open(mode: Mode, network: Network): readonly LegRef[] {
    return [...(this.#open.get(`${mode}/${network}`)?.values() ?? [])];
  }

  landed(mode: Mode, network: Network): readonly LegRef[] {
    return [...(this.#landed.get(`${mode}/${network}`)?.values() ?? [])];
  }

  done({ mode, network, legId }: TreasuryLeg): void {
    this.#open.get(`${mode}/${network}`)?.delete(legId);
  }

  markFinal({ mode, network, legId }: TreasuryLeg): void {
    this.#landed.get(`${mode}/${network}`)?.delete(legId);
  }

  async #addRefund(sessionId: SessionId, refundId: RefundId): Promise<void> {
    const state = await this.#deps.sessions.read(sessionStream(sessionId));
    const refund = state?.context.refunds[refundId];
    if (!refund) return;
    const { mode, merchantId } = createdOf(state.context);
    for (const { leg, status } of Object.values(refund.legs)) {
      if (status === 'COMPLETED' || status === 'FAILED') continue;
      put(this.#open, { sessionId, merchantId, refundId, legId: leg.legId, mode, network: leg.network });
      this.#deps.onWork(mode, leg.network);
    }
  }

  async #addLanded(sessionId: SessionId, refundId: RefundId, legId: string): Promise<void> {
    const state = await this.#deps.sessions.read(sessionStream(sessionId));
    const leg = state?.context.refunds[refundId]?.legs[legId];
    if (!leg) return;
    const { mode, merchantId } = createdOf(state.context);
    put(this.#landed, { sessionId, merchantId, refundId, legId, mode, network: leg.leg.network });
  }

  async #scan<Kept extends object>(
    table: Table<Kept>,
    after: string,
    take: (row: Kept) => Promise<void>,
  ): Promise<void> {
    for await (const page of rowPages(this.#deps.readModel, table, { after }))
      for (const { row } of page) await take(row);
  }
}

function put(legs: Map<string, Map<string, LegRef>>, ref: LegRef): void {
  const key = `${ref.mode}/${ref.network}`;
  const ofTreasury = legs.get(key) ?? new Map<string, LegRef>();
  ofTreasury.set(ref.legId, ref);
  legs.set(key, ofTreasury);
}
