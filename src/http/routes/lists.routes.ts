import { parseSessionId, type SessionId } from '../../domain/values/ids.ts';
import type { Network } from '../../domain/networks/networks.ts';
import type { Caller, Outcome } from '../../features/shared/merchant-api.ts';
import { answerOf } from '../answer-of.ts';
import { route, type Operation, type Route } from '../operation.ts';
import {
  DEFAULT_PAGE_SIZE,
  listOf,
  listRefundsQuery,
  listSessionsQuery,
  listTransactionsQuery,
  transaction,
  type Pagination,
  type TransactionBody,
} from '../schemas/list.schema.ts';
import { PAGINATION_EXAMPLE, TRANSACTION_EXAMPLE } from '../schemas/list.example.ts';
import { expandedRefund, expandedSession, listRefundsExpand, listSessionsExpand } from '../schemas/expand.schema.ts';
import { REFUND_EXAMPLE } from '../schemas/refund.example.ts';
import type { RefundBody } from '../schemas/refund.schema.ts';
import type { PaymentSessionBody } from '../schemas/session.schema.ts';
import { SESSION_EXAMPLE } from '../schemas/session.example.ts';

/** A validated list request. */
export interface ListRequest {
  readonly page: number;
  readonly pageSize: number;
  /** Present in cursor mode; empty for the first page. */
  readonly cursor?: string;
  readonly status?: string;
  readonly orderId?: string;
  /** Sessions only. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Related records to include, separated by commas. */
  readonly expand?: string;
  readonly network?: Network;
  /** Upper case. */
  readonly coin?: string;
  /** Refunds and transactions only. */
  readonly sessionId?: SessionId;
  /** Transactions only. */
  readonly type?: string;
  readonly createdFromSec?: number;
  readonly createdToSec?: number;
}

export interface ListPage<Row = object> {
  readonly rows: readonly Row[];
  readonly pagination: Pagination;
}

/** The records of each list. */
export interface Listed {
  readonly sessions: PaymentSessionBody;
  readonly refunds: RefundBody;
  readonly transactions: TransactionBody;
}
export type ListedKind = keyof Listed;

/** The lists of one merchant and mode, newest first, with records in wire form. */
export interface Lists {
  list<Kind extends ListedKind>(
    kind: Kind,
    caller: Pick<Caller, 'merchantId' | 'mode'>,
    request: ListRequest,
  ): Promise<Outcome<ListPage<Listed[Kind]>>>;
}

const LIST_ERRORS = ['invalid_request', 'unknown_field'] as const;

const listSessionsOperation = {
  id: 'listPaymentSessions',
  method: 'get',
  path: '/v1/payment/sessions',
  tag: 'Payment sessions',
  scope: 'payments:read',
  readsLookUps: true,
  summary: 'List payment sessions, newest first',
  description:
    'By page, with totals, or by cursor, which shows every record exactly once however many are added meanwhile. `network` is where money arrived. `metadata[customer]=c-1042` finds sessions by their metadata.',
  query: listSessionsQuery.extend({ expand: listSessionsExpand }),
  response: listOf(expandedSession),
  errors: LIST_ERRORS,
  example: { response: { data: [SESSION_EXAMPLE], pagination: PAGINATION_EXAMPLE } },
} as const satisfies Operation;

const listRefundsOperation = {
  id: 'listRefunds',
  method: 'get',
  path: '/v1/refunds',
  tag: 'Refunds',
  scope: 'payments:read',
  readsLookUps: true,
  summary: 'List refunds, newest first',
  description: 'By page or by cursor. `network` matches any payout.',
  query: listRefundsQuery.extend({ expand: listRefundsExpand }),
  response: listOf(expandedRefund),
  errors: LIST_ERRORS,
  example: { response: { data: [REFUND_EXAMPLE], pagination: PAGINATION_EXAMPLE } },
} as const satisfies Operation;

const listTransactionsOperation = {
  id: 'listTransactions',
  method: 'get',
  path: '/v1/transactions',
  tag: 'Transactions',
  scope: 'payments:read',
  readsLookUps: true,
  summary: 'List money movements, newest first',
  description: 'Every deposit, payout and network fee, by page or by cursor, each with its on-chain transaction.',
  query: listTransactionsQuery,
  response: listOf(transaction),
  errors: LIST_ERRORS,
  example: { response: { data: [TRANSACTION_EXAMPLE], pagination: PAGINATION_EXAMPLE } },
} as const satisfies Operation;

interface RawListQuery {
  readonly page?: string | undefined;
  readonly page_size?: string | undefined;
  readonly cursor?: string | undefined;
  readonly status?: string | undefined;
  readonly order_id?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly expand?: string | undefined;
  readonly network?: Network | undefined;
  readonly coin?: string | undefined;
  readonly created_from?: string | undefined;
  readonly created_to?: string | undefined;
  readonly session_id?: string | undefined;
  readonly type?: string | undefined;
}

function listRequestOf(query: RawListQuery): ListRequest {
  const sessionId = query.session_id === undefined ? null : parseSessionId(query.session_id);
  return {
    page: Number(query.page ?? 1),
    pageSize: Number(query.page_size ?? DEFAULT_PAGE_SIZE),
    ...(query.cursor === undefined ? undefined : { cursor: query.cursor }),
    ...(query.status === undefined ? undefined : { status: query.status }),
    ...(query.order_id === undefined ? undefined : { orderId: query.order_id }),
    ...(query.metadata === undefined ? undefined : { metadata: query.metadata }),
    ...(query.expand === undefined ? undefined : { expand: query.expand }),
    ...(query.network === undefined ? undefined : { network: query.network }),
    ...(query.coin === undefined ? undefined : { coin: query.coin.toUpperCase() }),
    ...(query.created_from === undefined ? undefined : { createdFromSec: Number(query.created_from) }),
    ...(sessionId === null ? undefined : { sessionId }),
    ...(query.type === undefined ? undefined : { type: query.type }),
    ...(query.created_to === undefined ? undefined : { createdToSec: Number(query.created_to) }),
  };
}

const presentPage = (page: ListPage): object => ({ data: page.rows, pagination: page.pagination });

export function listRoutes(lists: Lists): Route[] {
  return [
    route(listSessionsOperation, async ({ caller, query }) =>
      answerOf(await lists.list('sessions', caller, listRequestOf(query)), presentPage),
    ),
    route(listRefundsOperation, async ({ caller, query }) =>
      answerOf(await lists.list('refunds', caller, listRequestOf(query)), presentPage),
    ),
    route(listTransactionsOperation, async ({ caller, query }) =>
      answerOf(await lists.list('transactions', caller, listRequestOf(query)), presentPage),
    ),
  ];
}
