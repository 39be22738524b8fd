import { createSecretKey, type KeyObject } from 'node:crypto';
import { refundList, refundsOfSession } from '../../../../projections/sessions/refund-list.ts';
import { REFUNDS_TABLE, type RefundRow } from '../../../../projections/sessions/refund-row.ts';
import { orderKey, ORDERS_TABLE, sessionList } from '../../../../projections/sessions/session-list.ts';
import { SESSIONS_TABLE, type SessionRow } from '../../../../projections/sessions/session-row.ts';
import { transactionList, transactionsOfSession } from '../../../../projections/sessions/transaction-list.ts';
import { TRANSACTIONS_TABLE, type TransactionRow } from '../../../../projections/sessions/transaction-row.ts';
import type { SessionId } from '../../../domain/values/ids.ts';
import { StoreUnavailable } from '../../../ports/event-log/event-store.ts';
import type { ReadModel, Row, Table } from '../../../ports/read-model/read-model.ts';
import { InTurnByKey } from '../../../runtime/util/in-turn.ts';
import type { CursorScope } from '../../shared/list-cursor.ts';
import { inMemory, storedList, withOldest, type Entry, type Source } from '../../shared/list-source.ts';
import type { Outcome, Reader } from '../../shared/merchant-api.ts';
import {
  isWithin,
  meet,
  meetsFilters,
  type CreatedRange,
  type RefundFilters,
  type SessionFilters,
  type TransactionFilters,
} from './filters.ts';
import { pageOf, refused, type Listing, type ListQuery } from '../../shared/list-page.ts';
import type { MetadataIndex } from './metadata-index.ts';
import { MAX_EXAMINED, metadataSource, TooManyMatches } from './metadata-search.ts';
import { must } from '../../../domain/values/must.ts';

const MAX_PAGE_SIZE = 100;

/** Access to the records of one kind within a session. */
interface OwnRecords<ListedRow extends object> {
  readonly count: number;
  /** The first record, which is not on the list. */
  readonly first: string | null;
  readonly list: string;
  readonly table: Table<ListedRow>;
}

const transactionsIn = ({ sessionId, transactions, firstTransaction }: SessionRow): OwnRecords<TransactionRow> => ({
  count: transactions,
  first: firstTransaction,
  list: transactionsOfSession(sessionId),
  table: TRANSACTIONS_TABLE,
});

const refundsIn = ({ sessionId, refunds, firstRefund }: SessionRow): OwnRecords<RefundRow> => ({
  count: refunds,
  first: firstRefund,
  list: refundsOfSession(sessionId),
  table: REFUNDS_TABLE,
});

/** Largest number of a session's records that are filtered in memory. */
const MAX_FILTERED_IN_MEMORY = 10_000;
const LOAD_AT_ONCE = 500;
/** Order of a session's first record in its own list. */
const FIRST_ORDER = 0;
const MAX_ATTEMPTS_LISTED = 100;

/** A merchant's lists, newest first. A walk by cursor returns each record once, whatever is added meanwhile. */
export class Lists {
  readonly #readModel: ReadModel;
  readonly #cursorKey: KeyObject;
  readonly #metadataIndex: Pick<MetadataIndex, 'before' | 'caughtUp'> | null;
  /** One search at a time per merchant, because a search may cost more than any other request. */
  readonly #searches = new InTurnByKey();

  /** All nodes share `cursorKey`. Changing it invalidates existing cursors. */
  constructor(deps: {
    readonly readModel: ReadModel;
    readonly cursorKey: Uint8Array;
    /** Null if this process cannot unseal personal data. */
    readonly metadataIndex: Pick<MetadataIndex, 'before' | 'caughtUp'> | null;
  }) {
    this.#readModel = deps.readModel;
    this.#metadataIndex = deps.metadataIndex;
    // Created once: HMACs with raw key bytes cost five times as much.
    this.#cursorKey = createSecretKey(deps.cursorKey);
  }

  async listSessions(query: ListQuery<SessionFilters>): Promise<Outcome<Listing<SessionRow>>> {
    const { merchantId, mode, filters } = query;
    const { orderId, metadata } = filters;
    if (metadata !== undefined) return this.#withMetadata(query, metadata);
    if (orderId === undefined)
      return this.#answer(
        'sessions',
        query,
        this.#list(sessionList(mode, merchantId, filters), SESSIONS_TABLE, filters),
      );
    const rows = (await this.#attemptsOf(query, orderId)).filter(
      (row) => meetsFilters(row, filters) && isWithin(row.listedSec, filters),
    );
    return this.#answer('sessions', query, inMemory(rows.map((row) => ({ order: row.order, row }))));
  }

  async #withMetadata(
    query: ListQuery<SessionFilters>,
    metadata: Readonly<Record<string, string>>,
  ): Promise<Outcome<Listing<SessionRow>>> {
    const { filters } = query;
    const index = this.#metadataIndex;
    if (!index) throw new StoreUnavailable('this process has no index of metadata');
    await index.caughtUp();
    const isMore = [filters.status, filters.network, filters.coin, filters.orderId].some(
      (filter) => filter !== undefined,
    );
    const meets = isMore ? (row: SessionRow): boolean => meetsFilters(row, filters) : null;
    const { createdFrom, createdTo } = filters;
    const source = metadataSource(
      { readModel: this.#readModel, index },
      { owner: query, metadata, createdFrom, createdTo, meets },
    );
    return this.#searches
      .run(query.merchantId, () => this.#answer('sessions', query, source))
      .catch((error: unknown) => {
        if (!(error instanceof TooManyMatches)) throw error;
        const advice = 'cursor' in query.paging ? 'narrow the time range' : 'narrow the time range, or use a cursor';
        return refused('metadata', `more than ${MAX_EXAMINED} sessions have the metadata: ${advice}`);
      });
  }

  async listTransactions(query: ListQuery<TransactionFilters>): Promise<Outcome<Listing<TransactionRow>>> {
    const { merchantId, mode, filters } = query;
    const { status, type, network, coin } = filters;
    const session = await this.#sessionNamed(query);
    if (session === undefined) {
      return this.#answer(
        'transactions',
        query,
        this.#list<TransactionRow>(transactionList(mode, merchantId, filters), TRANSACTIONS_TABLE, filters),
      );
    }
    const ofSession = session && (await this.#ofSession(transactionsIn(session), (row) => row.createdSec, filters));
    const isMore = (status ?? type ?? network ?? coin) !== undefined;
    return this.#answerOfSession(
      'transactions',
      query,
      ofSession,
      isMore,
      (row) => meet(row.status, status) && meet(row.type, type) && meet(row.network, network) && meet(row.coin, coin),
    );
  }

  async listRefunds(query: ListQuery<RefundFilters>): Promise<Outcome<Listing<RefundRow>>> {
    const { merchantId, mode, filters } = query;
    const { status, network, coin } = filters;
    const session = await this.#sessionNamed(query);
    if (session === undefined)
      return this.#answer(
        'refunds',
        query,
        this.#list<RefundRow>(refundList(mode, merchantId, filters), REFUNDS_TABLE, filters),
      );
    const ofSession = session && (await this.#ofSession(refundsIn(session), (row) => row.listedSec, filters));
    const isMore = (status ?? network ?? coin) !== undefined;
    const isOn = (row: RefundRow): boolean =>
      network === undefined || row.payouts.some((payout) => payout.network === network);
    return this.#answerOfSession(
      'refunds',
      query,
      ofSession,
      isMore,
      (row) => meet(row.status, status) && meet(row.coin, coin) && isOn(row),
    );
  }

  /** The newest transactions of each session, oldest first; at most 100 per session. */
  async transactionsOf(sessions: readonly SessionRow[]): Promise<TransactionRow[][]> {
    const named = sessions.flatMap(({ firstTransaction }) => firstTransaction ?? []);
    const firsts = await this.#readModel.getMany(TRANSACTIONS_TABLE, named);
    const byId = new Map<string, TransactionRow | null>(firsts.map((row, index) => [must(named[index]), row]));
    return Promise.all(
      sessions.map(async (session) => {
        const { count, first, list, table } = transactionsIn(session);
        const further = count > 1 ? await this.#list<TransactionRow>(list, table, {}).before(null, MAX_PAGE_SIZE) : [];
        const oldest = (further.length < MAX_PAGE_SIZE && first !== null && byId.get(first)) || null;
        return [...(oldest ? [oldest] : []), ...further.map((entry) => entry.row).reverse()];
      }),
    );
  }

  /** The session's records within the range. */
  async #ofSession<ListedRow extends Row>(
    { count, first, list, table }: OwnRecords<ListedRow>,
    listedSecOf: (row: ListedRow) => number,
    range: CreatedRange,
  ): Promise<Source<ListedRow>> {
    const row = first === null ? null : await this.#readModel.get(table, first);
    const oldest = row && isWithin(listedSecOf(row), range) ? { order: FIRST_ORDER, row } : null;
    if (count <= 1) return inMemory(oldest ? [oldest] : []);
    const others = this.#list(list, table, range);
    return oldest ? withOldest(others, oldest) : others;
  }

  /** The session that the filters name; null if it is not the caller's, undefined if they name none. */
  async #sessionNamed(
    query: ListQuery<{ readonly orderId?: string; readonly sessionId?: SessionId }>,
  ): Promise<SessionRow | null | undefined> {
    const { orderId, sessionId } = query.filters;
    if (orderId === undefined && sessionId === undefined) return undefined;
    const row =
      orderId === undefined
        ? await this.#ownSession(query, must(sessionId))
        : await this.#sessionOfOrder(query, orderId);
    return row && (sessionId === undefined || row.sessionId === sessionId) ? row : null;
  }

  /** Newest first. */
  async #attemptsOf(owner: Reader, orderId: string): Promise<SessionRow[]> {
    const rows: SessionRow[] = [];
    let row = await this.#sessionOfOrder(owner, orderId);
    while (row !== null) {
      rows.push(row);
      row =
        row.supersedes === null || rows.length === MAX_ATTEMPTS_LISTED
          ? null
          : await this.#ownSession(owner, row.supersedes);
    }
    return rows;
  }

  /** The newest attempt. */
  async #sessionOfOrder(owner: Reader, orderId: string): Promise<SessionRow | null> {
    const found = await this.#readModel.get(ORDERS_TABLE, orderKey(owner.mode, owner.merchantId, orderId));
    return found && this.#ownSession(owner, found.sessionId);
  }

  async #ownSession(owner: Reader, id: SessionId): Promise<SessionRow | null> {
    const row = await this.#readModel.get(SESSIONS_TABLE, id);
    return row && row.merchantId === owner.merchantId && row.mode === owner.mode ? row : null;
  }

  #list<ListedRow extends Row>(
    list: string,
    table: Table<ListedRow>,
    { createdFrom, createdTo }: CreatedRange,
  ): Source<ListedRow> {
    return storedList(this.#readModel, table, list, createdFrom, createdTo);
  }

  /** A session has few records, so further filters are applied in memory. */
  async #answerOfSession<ListedRow>(
    list: CursorScope['list'],
    query: ListQuery<object>,
    ofSession: Source<ListedRow> | null,
    hasFurtherFilters: boolean,
    meets: (row: ListedRow) => boolean,
  ): Promise<Outcome<Listing<ListedRow>>> {
    if (!ofSession) return this.#answer(list, query, inMemory<ListedRow>([]));
    if (!hasFurtherFilters) return this.#answer(list, query, ofSession);
    const entries: Entry<ListedRow>[] = [];
    for (let last: number | null = null; ;) {
      const loaded: readonly Entry<ListedRow>[] = await ofSession.before(last, LOAD_AT_ONCE);
      entries.push(...loaded);
      if (loaded.length < LOAD_AT_ONCE) break;
      if (entries.length >= MAX_FILTERED_IN_MEMORY) {
        return refused(
          'created_from',
          `the session has more than ${MAX_FILTERED_IN_MEMORY} records: narrow the time range, or omit the other filters`,
        );
      }
      last = must(loaded.at(-1)).order;
    }
    return this.#answer(list, query, inMemory(entries.filter((entry) => meets(entry.row))));
  }

  async #answer<ListedRow>(
    list: CursorScope['list'],
    query: ListQuery<object>,
    source: Source<ListedRow>,
  ): Promise<Outcome<Listing<ListedRow>>> {
    const { merchantId, mode, paging } = query;
    const { pageSize } = paging;
    const scope: CursorScope = { list, merchantId, mode, filters: plainFilters(query.filters) };
    if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > MAX_PAGE_SIZE)
      return refused('page_size', `page_size must be a whole number from 1 to ${MAX_PAGE_SIZE}`);
    if (
      'page' in paging &&
      (!Number.isInteger(paging.page) || !Number.isSafeInteger((paging.page - 1) * pageSize) || paging.page < 1)
    )
      return refused('page', 'page must be a whole number from 1');
    return pageOf(this.#cursorKey, scope, paging, source);
  }
}

/** The filters in the canonical form that a cursor contains. */
const plainFilters = ({
  metadata,
  ...filters
}: {
  readonly metadata?: Readonly<Record<string, string>>;
}): CursorScope['filters'] => ({
  ...filters,
  ...(metadata && {
    metadata: JSON.stringify(Object.entries(metadata).sort(([one], [other]) => (one < other ? -1 : 1))),
  }),
});
