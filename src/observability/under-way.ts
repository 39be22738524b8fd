import { setImmediate as breathe } from 'node:timers/promises';
import type { MerchantId, Mode, SessionId } from '../domain/values/ids.ts';
import type { Network } from '../domain/networks/networks.ts';
import { rowPages } from '../ports/read-model/row-pages.ts';
import type { ReadModel } from '../ports/read-model/read-model.ts';
import { DUE_SESSIONS_TABLE } from '../../projections/sessions/due-sessions.ts';
import { REFUNDS_TABLE } from '../../projections/sessions/refund-row.ts';
import { SESSIONS_TABLE } from '../../projections/sessions/session-row.ts';
import { deliveryList, DELIVERIES_TABLE } from '../../projections/webhooks/deliveries.projection.ts';
import { must } from '../domain/values/must.ts';

export interface OpenSession {
  readonly mode: Mode;
  readonly status: 'open' | 'processing';
  /** Deposits that count but are not final yet. */
  readonly pending: ReadonlySet<string>;
  readonly lastDeposit: { readonly network: Network; readonly blockTimeSec: number } | null;
}

export interface OpenRefund {
  readonly mode: Mode;
  readonly status: 'PENDING' | 'PROCESSING';
  readonly requestedAtSec: number;
}

interface PendingDelivery {
  readonly merchantId: MerchantId;
  readonly atMs: number;
}

/** Sessions, refunds and deliveries that have not ended. */
export interface UnderWay {
  readonly sessions: Map<SessionId, OpenSession>;
  readonly refunds: Map<string, OpenRefund>;
  /** By notification. */
  readonly deliveries: Map<string, PendingDelivery>;
}

type Rows = Pick<ReadModel, 'getMany' | 'scan' | 'before'>;

export const NONE_PENDING: ReadonlySet<string> = new Set();

const PAGE = 1_000;
/** The number of deliveries read per merchant. */
const MAX_PENDING = 20_000;

export const nothingUnderWay = (): UnderWay => ({ sessions: new Map(), refunds: new Map(), deliveries: new Map() });

/** Reads from the look-ups what is in progress, pausing for other users of the thread. */
export async function readUnderWay(
  readModel: Rows,
  merchants: readonly { readonly merchantId: MerchantId; readonly mode: Mode }[],
): Promise<UnderWay> {
  const underWay = nothingUnderWay();
  await readSessions(readModel, underWay);
  await readRefunds(readModel, underWay);
  for (const merchant of merchants) await readDeliveries(readModel, merchant, underWay);
  return underWay;
}

async function readSessions(readModel: Rows, { sessions }: UnderWay): Promise<void> {
  for await (const page of rowPages(readModel, DUE_SESSIONS_TABLE)) {
    const ids = page.map(({ row }) => row.sessionId);
    for (const row of await readModel.getMany(SESSIONS_TABLE, ids)) {
      if (row?.status === 'open' || row?.status === 'processing')
        sessions.set(row.sessionId, { mode: row.mode, status: row.status, pending: NONE_PENDING, lastDeposit: null });
    }
    await breathe();
  }
}

async function readRefunds(readModel: Rows, { refunds }: UnderWay): Promise<void> {
  for await (const page of rowPages(readModel, REFUNDS_TABLE)) {
    for (const { row } of page) {
      const { refundId, mode, status, createdSec } = row;
      if (status === 'PENDING' || status === 'PROCESSING')
        refunds.set(refundId, { mode, status, requestedAtSec: createdSec });
    }
    await breathe();
  }
}

async function readDeliveries(
  readModel: Rows,
  owner: { readonly merchantId: MerchantId; readonly mode: Mode },
  { deliveries }: UnderWay,
): Promise<void> {
  const list = deliveryList(owner, { status: 'pending' });
  for (let before: number | null = null, seen = 0; seen < MAX_PENDING;) {
    const members = await readModel.before(list, { before, limit: PAGE });
    const rows = await readModel.getMany(
      DELIVERIES_TABLE,
      members.map(({ member }) => member),
    );
    for (const row of rows) {
      if (row?.status === 'pending')
        deliveries.set(row.notificationId, { merchantId: row.merchantId, atMs: row.createdSec * 1000 });
    }
    if (members.length < PAGE) return;
    seen += members.length;
    before = must(members.at(-1)).order;
  }
}
