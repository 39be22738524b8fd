import { html } from '../../runtime/http/html.ts';
import {
  parseMerchantId,
  parseRefundId,
  parseSessionId,
  parseTransactionId,
  type NotificationId,
  type SessionId,
} from '../../domain/values/ids.ts';
import { parseDeliveryId } from '../../domain/notifications/delivery-ids.ts';
import type { ConsoleDeps } from '../deps.ts';
import { merchantPath } from '../layout.ts';
import { link, table } from '../parts.ts';
import type { ConsoleRoutes } from '../server.ts';
import type { Visit } from '../visit.ts';
import { must } from '../../domain/values/must.ts';
import { words, type Words } from '../words.ts';

interface Found {
  readonly what: Words;
  readonly to: string;
  readonly text: string;
  readonly merchant: string;
}

/** The search box for everything. It finds only what the person may see. */
export function searchRoutes(deps: ConsoleDeps): ConsoleRoutes {
  return {
    change: [],
    read: [
      {
        path: '/search',
        action: null,
        show: async (visit) => {
          const text = (visit.query.get('q') ?? '').trim().slice(0, 200);
          const found = text === '' ? [] : await search(deps, visit, text);
          if (found.length === 1) return { to: must(found[0]).to };
          return {
            page: {
              title: words`Search`,
              body: html`<p>${words`For ${html`<b>${text}</b>`}`}</p>
                ${table(words`Found`, COLUMNS, found, NOTHING)}`,
            },
          };
        },
      },
    ],
  };
}

const NOTHING = words`Nothing found. Try the whole order number, payment (cs_…), refund (re_…), transaction (txn_…), event (evt_…), request (req_…), hash, address or merchant.`;
const COLUMNS = [
  { name: words`What`, cell: ({ what }: Found) => what },
  { name: words`Name`, cell: ({ to, text }: Found) => link(to, text) },
  { name: words`Merchant`, cell: ({ merchant }: Found) => merchant },
];

async function search(deps: ConsoleDeps, visit: Visit, text: string): Promise<Found[]> {
  const { records } = deps;
  const own = deps.merchants().filter(({ id }) => visit.can('payments.read', id));
  const byId = new Map(own.map((merchant) => [merchant.id, merchant]));
  const payment = async (id: SessionId | null, what = words`Payment`): Promise<Found[]> => {
    const merchantId = id === null ? null : await records.merchantOfSession(id);
    const merchant = merchantId === null ? undefined : byId.get(merchantId);
    return merchant
      ? [{ what, to: `${merchantPath(merchant)}/payments/${id}`, text: must(id), merchant: merchant.name }]
      : [];
  };
  const sessionId = parseSessionId(text);
  if (sessionId !== null) return payment(sessionId);
  if (parseRefundId(text) !== null) return payment(await records.sessionOfRefund(text), words`Payment of the refund`);
  if (parseTransactionId(text) !== null)
    return payment(await records.sessionOfTransaction(text), words`Payment of the transaction`);
  const deliveryId = parseDeliveryId(text);
  if (deliveryId !== null) return eventOf(deps, visit, deliveryId);
  if (text.startsWith('req_')) return requestOf(deps, visit, text);
  const merchantId = parseMerchantId(text);
  const merchant = merchantId === null ? undefined : byId.get(merchantId);
  if (merchant)
    return [{ what: words`Merchant`, to: merchantPath(merchant), text: merchant.name, merchant: merchant.name }];
  const ofAddress = await payment(records.sessionOfAddress(text), words`Payment to the address`);
  return ofAddress.length > 0 ? ofAddress : ordersOf(deps, own, text);
}

async function ordersOf(
  { records }: ConsoleDeps,
  own: ReturnType<ConsoleDeps['merchants']>,
  orderId: string,
): Promise<Found[]> {
  const found: Found[] = [];
  for (const merchant of own) {
    const listed = await records.list(
      'sessions',
      { merchantId: merchant.id, mode: merchant.mode },
      { page: 1, pageSize: 1, orderId },
    );
    for (const row of listed.ok ? listed.value.rows : [])
      found.push({
        what: words`Order`,
        to: `${merchantPath(merchant)}/payments/${row.id}`,
        text: orderId,
        merchant: merchant.name,
      });
  }
  return found;
}

function requestOf({ requestLog, merchants }: ConsoleDeps, visit: Visit, id: string): Found[] {
  return merchants()
    .filter(
      (one) =>
        visit.can('requests.read', one.id) && requestLog.find({ merchantId: one.id, mode: one.mode }, id) !== null,
    )
    .map((merchant) => ({
      what: words`Request`,
      to: `${merchantPath(merchant)}/requests/${id}`,
      text: id,
      merchant: merchant.name,
    }));
}

async function eventOf({ webhooks, merchants }: ConsoleDeps, visit: Visit, id: NotificationId): Promise<Found[]> {
  for (const merchant of merchants().filter((one) => visit.can('webhooks.read', one.id))) {
    const view = await webhooks.get({ merchantId: merchant.id, mode: merchant.mode }, id).catch(() => null);
    if (view)
      return [
        {
          what: words`Webhook`,
          to: `${merchantPath(merchant)}/webhooks/${id}`,
          text: view.eventType,
          merchant: merchant.name,
        },
      ];
  }
  return [];
}
