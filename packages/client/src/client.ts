import type * as wire from './wire.ts';
import { createTransport, type CallSettings, type QueryValue, type Send, type TransportOptions } from './transport.ts';

export type ClientOptions = TransportOptions;
export type CallOptions = CallSettings;
export type CreateSession = wire.CreatePaymentSession;
export type PaymentSession = wire.PaymentSession;
export type CancelledPaymentSession = wire.CancelledPaymentSession;
export type Timeline = wire.Timeline;
export type CreateRefund = wire.CreateRefund;
export type Refund = wire.Refund;
export type Transaction = wire.Transaction;
export type Merchant = wire.Merchant;
export type MerchantChange = wire.ChangeMerchant;
export type PendingChange = wire.PendingChange;
export type WebhookEndpoint = wire.WebhookEndpoint;
export type NewWebhookEndpoint = wire.NewWebhookEndpoint;
export type CreateWebhookEndpoint = wire.CreateWebhookEndpoint;
export type WebhookEndpointChange = wire.ChangeWebhookEndpoint;
export type WebhookSecret = wire.WebhookSecret;
export type WebhookDelivery = wire.WebhookDelivery;
export type WebhookDeliveryDetail = wire.WebhookDeliveryDetail;
export type WebhookEvent = wire.WebhookEvent;
export type LoggedRequest = wire.LoggedRequest;
export type LedgerBalances = wire.LedgerBalances;
export type MonthStatement = wire.MonthStatement;
export type LedgerEntry = wire.LedgerEntry;
export type SettlementReport = wire.LedgerSettlementReport;
export type SettlementLine = wire.LedgerSettlementLine;

/**
 * A range of UTC days such as `2026-10-31`, both inclusive. `clock` says which time assigns an entry to a day (default
 * `recorded`).
 */
export interface LedgerRange {
  readonly from?: string;
  readonly to?: string;
  readonly clock?: 'recorded' | 'chain';
}

/** Filters that every list accepts. Times are Unix seconds, inclusive. */
export interface ListFilters {
  readonly status?: string;
  readonly order_id?: string;
  readonly network?: 'ethereum' | 'bsc' | 'tron' | 'solana';
  readonly coin?: string;
  readonly created_from?: number;
  readonly created_to?: number;
}

/** A session with the records that `expand` asked for. */
export type ExpandedPaymentSession = PaymentSession & {
  readonly refunds?: readonly Refund[];
  readonly events?: readonly WebhookEvent[];
  readonly timeline?: Timeline;
};
export type ExpandedRefund = Refund & { readonly session?: PaymentSession };

export interface SessionFilters extends ListFilters {
  readonly status?: PaymentSession['status'] | 'unpaid';
  /** Only sessions that carry all of these entries; at most 10 keys. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** `refunds` includes the refunds of each session. */
  readonly expand?: 'refunds';
}

export interface RefundFilters extends ListFilters {
  readonly status?: Refund['status'];
  readonly session_id?: string;
  /** `session` includes the session of each refund. */
  readonly expand?: 'session';
}

export interface TransactionFilters extends ListFilters {
  readonly status?: Transaction['status'];
  readonly type?: Transaction['type'];
  readonly session_id?: string;
}

export interface DeliveryFilters {
  readonly status?: WebhookDelivery['status'];
  readonly event_type?: WebhookEvent['type'];
  readonly session_id?: string;
  readonly created_from?: number;
  readonly created_to?: number;
}

export interface RequestFilters {
  /** HTTP status of the response. */
  readonly status?: number;
}

/** With filters, a page can hold fewer events than `page_size` although more follow. */
export interface FeedFilters {
  /** At most 100 (default 20). */
  readonly page_size?: number;
  /** Event types, separated by commas. */
  readonly type?: string;
  /** Unix seconds, inclusive. */
  readonly created_from?: number;
  readonly created_to?: number;
}

export interface PageRequest {
  /** Starts at 1. */
  readonly page?: number;
  /** At most 100 (default 20). */
  readonly page_size?: number;
}

export interface Page<Item> {
  readonly data: readonly Item[];
  readonly pagination: wire.Pagination;
}

/** A list, newest first. Read it page by page, or iterate over all of it. */
export interface List<Item, Filters> {
  page(request?: Filters & PageRequest, options?: CallOptions): Promise<Page<Item>>;
  /** Yields every record once and fetches pages as needed. Records added meanwhile do not shift the iteration. */
  all(filters?: Filters, options?: CallOptions): AsyncIterable<Item>;
}

export interface Quittance {
  readonly sessions: List<ExpandedPaymentSession, SessionFilters> & {
    /** Safe to repeat: the same `order_id` and body return the same session. */
    create(session: CreateSession, options?: CallOptions): Promise<PaymentSession>;
    /** `expand` names the related records to include. */
    get(
      id: string,
      options?: CallOptions & { readonly expand?: readonly ('refunds' | 'events' | 'timeline')[] },
    ): Promise<ExpandedPaymentSession>;
    cancel(id: string, options?: CallOptions): Promise<CancelledPaymentSession>;
    /** Everything that was observed and decided about the session, in order, and why it is or is not paid. */
    timeline(id: string, options?: CallOptions): Promise<Timeline>;
  };
  readonly refunds: List<ExpandedRefund, RefundFilters> & {
    create(refund: CreateRefund, options?: CallOptions): Promise<Refund>;
    /** `expand` names the related records to include. */
    get(id: string, options?: CallOptions & { readonly expand?: readonly 'session'[] }): Promise<ExpandedRefund>;
  };
  readonly transactions: List<Transaction, TransactionFilters>;
  readonly merchant: {
    get(options?: CallOptions): Promise<Merchant>;
    change(change: MerchantChange, options?: CallOptions): Promise<Merchant>;
    /** Changes that were requested and are not in force yet. */
    pendingChanges(options?: CallOptions): Promise<{ readonly data: readonly PendingChange[] }>;
    /** Withdraws a change before it takes effect. Resolves with the changes that are still pending. */
    withdrawChange(id: string, options?: CallOptions): Promise<{ readonly data: readonly PendingChange[] }>;
  };
  readonly deliveries: List<WebhookDelivery, DeliveryFilters> & {
    get(eventId: string, options?: CallOptions): Promise<WebhookDeliveryDetail>;
    redeliver(eventId: string, options?: CallOptions): Promise<WebhookDelivery>;
    replay(range: wire.ReplayDeliveries, options?: CallOptions): Promise<wire.ReplayedDeliveries>;
    /** Sends a sample event to your default endpoint, or to the given one. */
    test(
      eventType: wire.TestWebhook['event_type'],
      options?: CallOptions & { readonly endpointId?: string },
    ): Promise<WebhookDelivery>;
  };
  /** The URLs that receive your notifications, the default endpoint first. */
  readonly endpoints: {
    list(options?: CallOptions): Promise<{ readonly data: readonly WebhookEndpoint[] }>;
    get(id: string, options?: CallOptions): Promise<WebhookEndpoint>;
    /** Adds an endpoint. The response is the only one that contains its secret. */
    create(endpoint: CreateWebhookEndpoint, options?: CallOptions): Promise<NewWebhookEndpoint>;
    change(id: string, change: WebhookEndpointChange, options?: CallOptions): Promise<WebhookEndpoint>;
    /**
     * Issues a new secret, which only this response contains. It takes over after 24 hours, or when you activate it.
     */
    issueSecret(id: string, options?: CallOptions): Promise<WebhookSecret>;
    activateSecret(id: string, options?: CallOptions): Promise<WebhookEndpoint>;
    /** Resumes deliveries to a suspended endpoint, starting with the queued ones in order. */
    resume(id: string, options?: CallOptions): Promise<WebhookEndpoint>;
  };
  readonly events: {
    /** The events after `cursor`, oldest first. Pass the returned `next_cursor` to the next call. */
    after(cursor?: string, request?: FeedFilters, options?: CallOptions): Promise<wire.EventFeed>;
    get(id: string, options?: CallOptions): Promise<WebhookEvent>;
  };
  /** Your latest requests and how the service answered them. */
  readonly requests: {
    all(filters?: RequestFilters, options?: CallOptions): AsyncIterable<LoggedRequest>;
    get(id: string, options?: CallOptions): Promise<LoggedRequest>;
  };
  readonly ledger: {
    /** What you are owed now, or at the end of the day `as_of`. */
    balances(
      at?: { readonly as_of?: string; readonly clock?: 'recorded' | 'chain' },
      options?: CallOptions,
    ): Promise<LedgerBalances>;
    /** Every entry of your accounts in recording order. Fetches pages as needed. */
    entries(range?: LedgerRange, options?: CallOptions): AsyncIterable<LedgerEntry>;
    /** One page of the settlement report, with the balances before and after the range. */
    settlement(
      range?: LedgerRange & { readonly cursor?: string; readonly page_size?: number },
      options?: CallOptions,
    ): Promise<SettlementReport>;
    /** The signed statement of a closed month such as `2026-10`. Keep it as evidence. */
    statement(month: string, options?: CallOptions): Promise<MonthStatement>;
    /** The lines of a month's statement as `csv`, or the statement as a printable page (`html`). */
    statementFile(month: string, format: 'csv' | 'html', options?: CallOptions): Promise<string>;
    /** Every line of the settlement report. Fetches pages as needed. */
    settlementLines(range?: LedgerRange, options?: CallOptions): AsyncIterable<SettlementLine>;
  };
  readonly sandbox: {
    /** Pays with the sandbox's test wallet (`sk_test_` keys only). */
    pay(sessionId: string, payment: wire.SandboxPay, options?: CallOptions): Promise<wire.SandboxPayment>;
    /** Moves the session's deadline earlier by `seconds`, or to now when absent. */
    advance(sessionId: string, time?: wire.SandboxAdvance, options?: CallOptions): Promise<wire.SandboxDeadline>;
  };
}

/**
 * Creates a client of the merchant API. Its calls reject with `ApiError` (or a subclass) when the service refuses a
 * request, and with `ConnectionError` when no response arrives.
 *
 * @example
 * const quittance = createClient({ baseUrl: 'https://pay.example', apiKey, apiSecret });
 * const session = await quittance.sessions.create({ amount: '10.00', currency: 'USD', order_id: 'order-1042' });
 * response.redirect(session.url);
 */
export function createClient(options: ClientOptions): Quittance {
  const send = createTransport(options);
  const post = <Answer>(path: string, body: unknown, call?: CallOptions): Promise<Answer> =>
    send({ method: 'POST', path, ...(body === undefined ? undefined : { body }) }, call);
  const get = <Answer>(path: string, call?: CallOptions): Promise<Answer> => send({ method: 'GET', path }, call);
  const sessionPath = (id: string): string => `/api/v1/checkout/sessions/${encodeURIComponent(id)}`;
  const deliveryPath = (id: string): string => `/v1/webhooks/deliveries/${encodeURIComponent(id)}`;
  return {
    sessions: {
      ...listOf<ExpandedPaymentSession, SessionFilters>(send, '/v1/payment/sessions'),
      create: (session, call) => post('/api/v1/checkout/sessions/create', session, call),
      get: (id, call) => send({ method: 'GET', path: sessionPath(id), query: expansion(call) }, call),
      cancel: (id, call) => post(`${sessionPath(id)}/cancel`, undefined, call),
      timeline: (id, call) => get(`/v1/payment/sessions/${encodeURIComponent(id)}/timeline`, call),
    },
    refunds: {
      ...listOf<ExpandedRefund, RefundFilters>(send, '/v1/refunds'),
      create: (refund, call) => post('/v1/refunds', refund, call),
      get: (id, call) =>
        send({ method: 'GET', path: `/v1/refunds/${encodeURIComponent(id)}`, query: expansion(call) }, call),
    },
    transactions: listOf<Transaction, TransactionFilters>(send, '/v1/transactions'),
    merchant: {
      get: (call) => get('/v1/merchant', call),
      change: (change, call) => send({ method: 'PATCH', path: '/v1/merchant', body: change }, call),
      pendingChanges: (call) => get('/v1/merchant/changes', call),
      withdrawChange: (id, call) => post(`/v1/merchant/changes/${encodeURIComponent(id)}/withdraw`, undefined, call),
    },
    deliveries: {
      ...listOf<WebhookDelivery, DeliveryFilters>(send, '/v1/webhooks/deliveries'),
      get: (id, call) => get(deliveryPath(id), call),
      redeliver: (id, call) => post(`${deliveryPath(id)}/redeliver`, undefined, call),
      replay: (range, call) => post('/v1/webhooks/replay', range, call),
      test: (eventType, { endpointId, ...call } = {}) =>
        post(
          '/v1/webhooks/test',
          { event_type: eventType, ...(endpointId !== undefined && { endpoint_id: endpointId }) },
          call,
        ),
    },
    endpoints: endpointsOf(send),
    events: {
      after: (cursor, request, call) =>
        send({ method: 'GET', path: '/v1/events', query: { cursor, ...request } }, call),
      get: (id, call) => get(`/v1/events/${encodeURIComponent(id)}`, call),
    },
    requests: {
      all: (filters, call) => listOf<LoggedRequest, RequestFilters>(send, '/v1/requests').all(filters, call),
      get: (id, call) => get(`/v1/requests/${encodeURIComponent(id)}`, call),
    },
    ledger: ledgerOf(send),
    sandbox: {
      pay: (sessionId, payment, call) =>
        post(`/v1/sandbox/sessions/${encodeURIComponent(sessionId)}/pay`, payment, call),
      advance: (sessionId, time, call) =>
        post(`/v1/sandbox/sessions/${encodeURIComponent(sessionId)}/advance`, time, call),
    },
  };
}

const ENDPOINTS = '/v1/webhooks/endpoints';

function endpointsOf(send: Send): Quittance['endpoints'] {
  const pathOf = (id: string): string => `${ENDPOINTS}/${encodeURIComponent(id)}`;
  const post = <Answer>(path: string, call?: CallOptions): Promise<Answer> => send({ method: 'POST', path }, call);
  return {
    list: (call) => send({ method: 'GET', path: ENDPOINTS }, call),
    get: (id, call) => send({ method: 'GET', path: pathOf(id) }, call),
    create: (endpoint, call) => send({ method: 'POST', path: ENDPOINTS, body: endpoint }, call),
    change: (id, change, call) => send({ method: 'PATCH', path: pathOf(id), body: change }, call),
    issueSecret: (id, call) => post(`${pathOf(id)}/secret`, call),
    activateSecret: (id, call) => post(`${pathOf(id)}/secret/activate`, call),
    resume: (id, call) => post(`${pathOf(id)}/resume`, call),
  };
}

const statementPath = (month: string): string => `/v1/ledger/statements/${encodeURIComponent(month)}`;

const ledgerOf = (send: ReturnType<typeof createTransport>): Quittance['ledger'] => ({
  balances: (at, call) => send({ method: 'GET', path: '/v1/ledger/balances', query: { ...at } }, call),
  entries: (range, call) => listOf<LedgerEntry, LedgerRange>(send, '/v1/ledger/entries').all(range, call),
  settlement: (range, call) => send({ method: 'GET', path: '/v1/ledger/settlement', query: { ...range } }, call),
  statement: (month, call) => send({ method: 'GET', path: statementPath(month) }, call),
  statementFile: (month, format, call) => send({ method: 'GET', path: statementPath(month), query: { format } }, call),
  settlementLines: (range, call) => listOf<SettlementLine, LedgerRange>(send, '/v1/ledger/settlement').all(range, call),
});

const expansion = ({ expand = [] }: { readonly expand?: readonly string[] } = {}): { expand?: string } =>
  expand.length === 0 ? {} : { expand: expand.join(',') };

const LARGEST_PAGE = 100;

function listOf<Item, Filters extends object>(send: Send, path: string): List<Item, Filters> {
  const fetchPage = (query: object, call: CallOptions | undefined): Promise<Page<Item>> =>
    send({ method: 'GET', path, query: query as Record<string, QueryValue> }, call);
  return {
    page: (request, call) => fetchPage(request ?? {}, call),
    all: async function* (filters, call) {
      for (let cursor: string | null = ''; cursor !== null;) {
        const page: Page<Item> = await fetchPage({ ...filters, page_size: LARGEST_PAGE, cursor }, call);
        yield* page.data;
        cursor = page.pagination.has_more ? page.pagination.next_cursor : null;
      }
    },
  };
}
