import type { Mode } from '../../domain/values/ids.ts';
import type { Coin } from '../../domain/money/money.ts';
import type { Network } from '../../domain/networks/networks.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import {
  INBOX_PLACES_TABLE,
  INBOX_TABLE,
  RESOLVED,
  UNRESOLVED,
  type InboxRow,
} from '../../../projections/unmatched/row.ts';
import { SESSIONS_TABLE } from '../../../projections/sessions/session-row.ts';
import { must } from '../../domain/values/must.ts';

/** A transfer as the inbox lists it, with facts from its session. */
export interface ListedTransfer extends Omit<InboxRow, 'mode'> {
  readonly mode: Mode;
  readonly merchantId: string | null;
  readonly orderId: string | null;
}

export interface InboxFilter {
  /** `unresolved`: waiting or in progress, oldest first; `resolved`: done, newest first. */
  readonly state: 'unresolved' | 'resolved';
  readonly mode?: Mode;
  readonly network?: Network;
  readonly coin?: Coin;
  /** Only money in blocks up to this time, Unix seconds. */
  readonly untilSec?: number;
}

export interface InboxPage {
  readonly transfers: readonly ListedTransfer[];
  /** The next page; null at the end. */
  readonly next: string | null;
}

const SCAN = 500;
/**
 * Rows examined per page. With a narrow filter, a page before the end may have fewer entries than requested, or none.
 */
const MAX_LOOKED_AT = 5_000;

/** Reads the inbox in pages by key, so that a page costs the same wherever it starts. */
export class InboxList {
  readonly #readModel: Pick<ReadModel, 'get' | 'getMany' | 'scan'>;

  constructor(readModel: Pick<ReadModel, 'get' | 'getMany' | 'scan'>) {
    this.#readModel = readModel;
  }

  /** Null if it was never in the inbox, or a refund took it. */
  async find(depositKey: string): Promise<ListedTransfer | null> {
    const place = await this.#readModel.get(INBOX_PLACES_TABLE, depositKey);
    const row = place && (await this.#readModel.get(INBOX_TABLE, place.key));
    return row ? ((await this.#withSessions([row]))[0] ?? null) : null;
  }

  async page(filter: InboxFilter, after: string | null, limit: number): Promise<InboxPage> {
    const prefix = filter.state === 'unresolved' ? UNRESOLVED : RESOLVED;
    const found: ListedTransfer[] = [];
    let afterKey = after ?? prefix;
    for (let looked = 0; looked < MAX_LOOKED_AT;) {
      const rows = await this.#readModel.scan(INBOX_TABLE, { afterKey, limit: SCAN });
      const own = rows.filter(({ key }) => key.startsWith(prefix));
      const listed = await this.#withSessions(own.map(({ row }) => row));
      for (const [index, { key }] of own.entries()) {
        const transfer = listed[index];
        if (
          transfer &&
          filter.state === 'unresolved' &&
          filter.untilSec !== undefined &&
          transfer.blockTimeSec > filter.untilSec
        )
          return { transfers: found, next: null };
        afterKey = key;
        if (transfer && meets(transfer, filter)) found.push(transfer);
        if (found.length >= limit) return { transfers: found, next: afterKey };
      }
      if (own.length < SCAN) return { transfers: found, next: null };
      looked += own.length;
    }
    return { transfers: found, next: afterKey };
  }

  /** One result per row; null if its session is not in the look-ups yet. */
  async #withSessions(rows: readonly InboxRow[]): Promise<(ListedTransfer | null)[]> {
    const ids = [...new Set(rows.flatMap(({ sessionId }) => sessionId ?? []))];
    const sessions = new Map(
      (await this.#readModel.getMany(SESSIONS_TABLE, ids)).map((row, index) => [must(ids[index]), row]),
    );
    return rows.map((row) => {
      const session = row.sessionId === null ? null : sessions.get(row.sessionId);
      const mode = row.mode ?? session?.mode;
      return mode ? { ...row, mode, merchantId: session?.merchantId ?? null, orderId: session?.orderId ?? null } : null;
    });
  }
}

function meets(transfer: ListedTransfer, { mode, network, coin, untilSec }: InboxFilter): boolean {
  return (
    (mode === undefined || transfer.mode === mode) &&
    (network === undefined || transfer.network === network) &&
    (coin === undefined || transfer.coin === coin) &&
    (untilSec === undefined || transfer.blockTimeSec <= untilSec)
  );
}
