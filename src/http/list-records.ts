import type { Mode } from '../domain/values/ids.ts';
import type { Network, NetworkSettings } from '../domain/networks/networks.ts';
import type { Listed, Lists as HttpLists, ListedKind, ListRequest, ListPage } from './routes/lists.routes.ts';
import { createRefundPresenter } from './presenters/refund.presenter.ts';
import { createSessionPresenter, explorerUrl, type PresenterSettings } from './presenters/session.presenter.ts';
import { asked } from './schemas/expand.schema.ts';
import type { SessionView } from '../features/shared/views.ts';
import type { TransactionBody } from './schemas/list.schema.ts';
import type { Lists } from '../features/sessions/lists/lists.ts';
import type { Listing, Paging } from '../features/shared/list-page.ts';
import type { Caller, MerchantApi, Outcome } from '../features/shared/merchant-api.ts';
import { IllegalHistory } from '../runtime/commands/machine-table.ts';
import type { ServedRows } from '../runtime/projections/served-rows.ts';
import type { TransactionRow } from '../../projections/sessions/transaction-row.ts';

type Reader = Pick<Caller, 'merchantId' | 'mode'>;

export interface ListRecordsDeps {
  readonly api: MerchantApi;
  readonly lists: Lists;
  readonly presenter: PresenterSettings;
  readonly networks: (mode: Mode) => readonly NetworkSettings[];
  readonly confirmationsOf: (mode: Mode, network: Network, blockNumber: number) => number;
  readonly servedRows: ServedRows;
}

/** Lists with records in wire form: the read model selects the records, the event log supplies their content. */
export function listRecords(deps: ListRecordsDeps): HttpLists {
  return {
    list: async (kind, reader, request) => {
      await deps.servedRows();
      return listers[kind](deps, reader, request);
    },
  };
}

type Lister<Record> = (
  deps: ListRecordsDeps,
  reader: Reader,
  request: ListRequest,
) => Promise<Outcome<ListPage<Record>>>;

const listers: { readonly [Kind in ListedKind]: Lister<Listed[Kind]> } = {
  sessions: async ({ lists, api, presenter }, reader, request) => {
    const present = createSessionPresenter(presenter);
    const presentRefund = createRefundPresenter(presenter);
    const listing = await lists.listSessions({ ...reader, filters: filtersOf(request), paging: pagingOf(request) });
    return pageOf(listing, async (row) => {
      const view = await api.getSession(reader, row.sessionId);
      const refunds =
        asked(request.expand, 'refunds') && view
          ? { refunds: view.refunds.map((refund) => presentRefund(refund, reader.mode)) }
          : {};
      return view && isFoundBy(view, request) ? { ...present.session(view), ...refunds } : null;
    });
  },
  refunds: async ({ lists, api, presenter }, reader, request) => {
    const present = createRefundPresenter(presenter);
    const presentSession = createSessionPresenter(presenter);
    const listing = await lists.listRefunds({ ...reader, filters: filtersOf(request), paging: pagingOf(request) });
    return pageOf(listing, async (row) => {
      const view = await api.getRefund(reader, row.refundId);
      const session = view && asked(request.expand, 'session') ? await api.getSession(reader, view.sessionId) : null;
      return view && { ...present(view, reader.mode), ...(session && { session: presentSession.session(session) }) };
    });
  },
  transactions: async (deps, reader, request) => {
    const listing = await deps.lists.listTransactions({
      ...reader,
      filters: filtersOf(request),
      paging: pagingOf(request),
    });
    return pageOf(listing, (row) => Promise.resolve(presentTransaction(deps, row)));
  },
};

function presentTransaction(deps: ListRecordsDeps, row: TransactionRow): TransactionBody {
  const settings = deps.networks(row.mode).find(({ network }) => network === row.network);
  return {
    id: row.transactionId,
    type: row.type,
    status: row.status,
    session_id: row.sessionId,
    order_id: row.orderId,
    refund_id: row.refundId,
    network: row.network,
    coin: row.coin,
    amount: row.amount,
    from_address: row.fromAddress,
    to_address: row.toAddress,
    tx_hash: row.txHash,
    log_index: row.logIndex,
    ...(row.transfers !== undefined && { transfers: row.transfers }),
    block_number: row.blockNumber,
    block_time: row.blockTimeSec,
    confirmations:
      row.blockNumber === null || row.status === 'reverted'
        ? null
        : deps.confirmationsOf(row.mode, row.network, row.blockNumber),
    explorer_url: explorerUrl(settings, row.txHash),
    created: row.createdSec,
  };
}

async function pageOf<Row, Record>(
  listing: Outcome<Listing<Row>>,
  present: (row: Row) => Promise<Record | null>,
): Promise<Outcome<ListPage<Record>>> {
  if (!listing.ok) return listing;
  const records = await Promise.all(listing.value.rows.map((row) => present(row).catch(absentIfIllegal)));
  return {
    ok: true,
    value: { rows: records.filter((record) => record !== null), pagination: listing.value.pagination },
  };
}

/** Drops sessions forgotten since the index was queried. */
const isFoundBy = ({ personal }: SessionView, { metadata = {} }: ListRequest): boolean =>
  Object.entries(metadata).every(([key, value]) => personal?.metadata?.[key] === value);

/** A record whose stored history was tampered with must not break the rest of the page. */
function absentIfIllegal(error: unknown): null {
  if (error instanceof IllegalHistory) return null;
  throw error;
}

const pagingOf = ({ cursor, page, pageSize }: ListRequest): Paging =>
  cursor === undefined ? { page, pageSize } : { cursor, pageSize };

function filtersOf({
  metadata,
  status,
  type,
  sessionId,
  orderId,
  network,
  coin,
  createdFromSec,
  createdToSec,
}: ListRequest): object {
  return {
    ...(metadata !== undefined && { metadata }),
    ...(status !== undefined && { status }),
    ...(type !== undefined && { type }),
    ...(sessionId !== undefined && { sessionId }),
    ...(orderId !== undefined && { orderId }),
    ...(network !== undefined && { network }),
    ...(coin !== undefined && { coin }),
    ...(createdFromSec !== undefined && { createdFrom: createdFromSec }),
    ...(createdToSec !== undefined && { createdTo: createdToSec }),
  };
}
