import type { MerchantId, NotificationId } from '../../src/domain/values/ids.ts';
import type { HttpAppOptions } from '../../src/http/app.ts';
import { RequestLog } from '../../src/features/shared/request-log.ts';

import { PAYMENT_EVENT_EXAMPLE } from '../../src/http/schemas/webhook.example.ts';
import type { EntryRow } from '../../projections/ledger/rows.ts';
import type { MerchantOverview } from '../../src/features/merchants/overview.ts';
import { settlementLinesOf } from '../../src/features/ledger/settlement.ts';
import type { DeliverySummary, DeliveryView } from '../../src/features/webhooks/views.ts';

/* Small stand-ins for the parts behind the further routes: enough to answer, nothing more. */

const SUMMARY: DeliverySummary = {
  notificationId: PAYMENT_EVENT_EXAMPLE.id as NotificationId,
  eventType: 'payment.completed',
  sessionId: 'cs_x',
  endpointId: 'end_1',
  status: 'exhausted',
  sample: false,
  attempts: 6,
  lastStatus: null,
  lastFailure: 'timeout',
  nextAttemptAtMs: 1_767_225_600_123,
  createdSec: 1_767_225_600,
};

const VIEW: DeliveryView = {
  ...SUMMARY,
  body: JSON.stringify(PAYMENT_EVENT_EXAMPLE),
  log: [
    {
      attempt: 1,
      startedAtMs: 1_767_225_600_123,
      durationMs: 30_000,
      status: null,
      failure: 'timeout',
      detail: 'ETIMEDOUT',
      address: '203.0.113.9',
      nonce: 'n',
      trigger: 'automatic',
      answer: new Uint8Array([0xff, 0x00, 0x3c, 0x73]),
    },
  ],
};

const webhooks: NonNullable<HttpAppOptions['webhooks']> = {
  list: async (_reader, request) => ({
    ok: true,
    value: {
      rows: [SUMMARY],
      pagination: {
        page: request.page,
        page_size: request.pageSize,
        total: 1,
        total_pages: 1,
        has_more: false,
        next_cursor: null,
      },
    },
  }),
  get: async (_reader, id) => (id === SUMMARY.notificationId ? VIEW : null),
  redeliver: async (_caller, id) =>
    id === SUMMARY.notificationId
      ? { ok: true, value: { ...SUMMARY, status: 'pending' } }
      : { ok: false, refusal: { code: 'not_found', message: 'no such delivery' } },
  replay: async () => ({ ok: true, value: { requested: 3 } }),
  sendSample: async (_caller, eventType) => ({
    ok: true,
    value: { ...SUMMARY, eventType, sample: true, status: 'pending' },
  }),
  event: async (_reader, id) => (id === SUMMARY.notificationId ? VIEW.body : null),
  eventsOf: async () => [VIEW.body],
  events: async () => ({ ok: true, value: { bodies: [VIEW.body], hasMore: false, nextCursor: 'next' } }),
};

const overview: MerchantOverview = {
  id: 'mer_alpha' as MerchantOverview['id'],
  name: 'Alpha',
  mode: 'test',
  change_delay_minutes: 0,
  pending_changes: [],
  keys: [],
  webhook: {
    endpoint_id: 'end_1',
    url: 'https://shop.example/hook',
    durable_redelivery: false,
    events: ['payment.completed'],
    fields: [],
    standard_webhooks: false,
    disabled: false,
    suspended: null,
    next_secret_activates_at: null,
  },
  further_webhooks: [],
  domains: [{ domain_id: 'dom_1', host: 'shop.example', name: 'Shop' }],
  policy: {
    settlementCoin: 'USDT',
    networks: ['ethereum', 'bsc'],
    offerTronUsdc: false,
    tolerance: '0.00',
    sessionTtlSec: null,
    ethereumFinalizedFrom: '10000.00',
    ethereumConfirmations: 12,
  },
  logo: null,
};

const settings: NonNullable<HttpAppOptions['settings']> = {
  getMerchant: () => overview,
  setPolicy: async () => ({ ok: true, value: overview }),
  setLogo: async (_id, image) =>
    image === null
      ? { ok: true, value: overview }
      : { ok: false, refusal: { code: 'invalid_request', message: 'logo must be', param: 'logo' } },
  setWebhook: async (_id, { url }) =>
    url?.startsWith('https://')
      ? { ok: true, value: overview }
      : { ok: false, refusal: { code: 'invalid_request', message: 'url must be https', param: 'url' } },
  addDomain: async (_id, { host }) => ({ ok: true, value: { domain_id: 'dom_1', host } }),
  removeDomain: async () => ({ ok: true, value: overview }),
};

const endpoints: NonNullable<HttpAppOptions['endpoints']> = {
  list: () => [overview.webhook!],
  get: (_reader, id) => (id === 'end_1' ? overview.webhook : null),
  add: async (_caller, { url, events }) => ({
    ok: true,
    value: {
      endpoint: { ...overview.webhook!, endpoint_id: 'end_2', url, events: events as ['payment.late'] },
      webhook_secret: 'whs_test_fake',
    },
  }),
  change: async (_caller, _id, { disabled = false }) => ({ ok: true, value: { ...overview.webhook!, disabled } }),
  issueSecret: async () => ({ ok: true, value: { webhook_secret: 'whs_test_fake', activates_at: 1_767_312_000 } }),
  activateSecret: async (_caller, id) =>
    id === 'end_1'
      ? { ok: true, value: overview.webhook! }
      : { ok: false, refusal: { code: 'not_found', message: 'no such endpoint' } },
  resume: async () => ({ ok: true, value: overview.webhook! }),
};

const sandbox: NonNullable<HttpAppOptions['sandbox']> = {
  pay: async (_caller, { network }) => ({
    ok: true,
    value: [{ network, coin: 'USDT', amount: '1.00', fromAddress: '0x1', toAddress: '0x2', txHash: '0x3' }],
  }),
  advance: async (_caller, _id, seconds) => ({ ok: true, value: 1_767_227_400 - (seconds ?? 1_800) }),
};

const timeline: NonNullable<HttpAppOptions['timeline']> = async (_reader, sessionId) => ({
  sessionId,
  mode: 'test',
  entries: [
    {
      atMs: 1_767_225_600_000,
      type: 'SessionCreated',
      message: 'Session created.',
      facts: { due: '10.01', rate: null },
    },
  ],
  coverage: [
    {
      network: 'ethereum',
      fromBlock: 1,
      toBlock: 9,
      toTimeSec: 1_767_225_600,
      providers: ['rpc.example'],
      gaps: [{ fromBlock: 3, toBlock: 4 }],
    },
  ],
  conclusion: 'Not paid yet.',
  readTo: [{ network: 'ethereum' as const, timeSec: 1_790_001_812 }],
});

const ledger: NonNullable<HttpAppOptions['ledger']> = {
  balances: async () => [
    {
      network: 'ethereum',
      coin: 'USDT',
      owed: { payable: 5n * 10n ** 18n, unapplied: -(10n ** 16n), 'refunds-reserved': 0n },
    },
  ],
  entries: async (_owner, _range, { cursor, pageSize }) =>
    cursor === 'foreign'
      ? FOREIGN_CURSOR
      : { ok: true, value: { entries: [{ place: 1, entry: BOOKED }], pagination: lastPage(pageSize) } },
  settlement: async (_owner, range, { pageSize }) => ({
    ok: true,
    value: {
      range,
      opening: [],
      closing: [],
      lines: settlementLinesOf(BOOKED, BOOKED.merchantId!),
      pagination: lastPage(pageSize),
    },
  }),
};

const FOREIGN_CURSOR = {
  ok: false,
  refusal: { code: 'invalid_request', message: 'not of this list', param: 'cursor' },
} as const;
const lastPage = (pageSize: number) => ({ page_size: pageSize, has_more: false, next_cursor: null });

const BOOKED: EntryRow = {
  number: 4,
  id: 'event-4',
  kind: 'payment',
  mode: 'test',
  merchantId: 'mer_alpha' as MerchantId,
  stream: 'session-cs_x',
  revision: 3,
  recordedAtMs: 1_767_225_723_000,
  days: { recorded: '2026-01-01', chain: '2025-12-31' },
  lines: [
    { account: 'liabilities:merchants:mer_alpha:payable', network: 'bsc', coin: 'USDT', amount: '-5', balance: '-5' },
    { account: 'liabilities:merchants:mer_alpha:unapplied', network: 'bsc', coin: 'USDT', amount: '5', balance: '0' },
  ],
  value: { currency: 'EUR', atLockedRate: '4.63', atSettlementQuote: null, difference: null },
};

export const FAKE_DESKS = {
  webhooks,
  endpoints,
  changes: {
    list: () => [],
    withdraw: async (_caller, id) =>
      id === 'chg_1'
        ? { ok: true, value: [] }
        : { ok: false, refusal: { code: 'not_found', message: 'no such pending change' } },
  },
  settings,
  sandbox,
  timeline,
  ledger,
  requestLog: new RequestLog(),
} satisfies Partial<HttpAppOptions>;
