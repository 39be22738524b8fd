import type { CallOptions, PaymentSession, Refund } from '@quittance/client';
import { holdsItsMoney, isOver, isUnderWay, moneyToReturn, type Returnable } from '@quittance/client/shops';
import type { QuittancePaymentProvider } from './provider.ts';
import { orderOf, type Scope } from './scope.ts';
import { SOURCE } from './sessions.ts';

/* Payments as the service shows them, compared with what Medusa made of them: what can be mended is, the rest is said. */

/**
 * Medusa stores which session it got a moment after the service has made it, and completes the cart itself a moment
 * after it was told of the payment.
 */
const SETTLED_SEC = 60;
const WATCHED_SEC = 2 * 24 * 3600;
const LIMIT_MS = 30_000;

/** Said to the people of the shop, once for each key. */
interface Word {
  readonly key: string;
  readonly title: string;
  readonly text: string;
}

export async function comparePayments(scope: Scope, provider: QuittancePaymentProvider): Promise<void> {
  const metadata = { source: SOURCE };
  const since = Math.floor(Date.now() / 1000) - WATCHED_SEC;
  const seen = new Set<string>();
  for (const filter of [{ status: 'open' }, { status: 'processing' }, { created_from: since }] as const)
    for await (const session of provider.quittance.sessions.all({ ...filter, metadata })) {
      if (seen.has(session.id)) continue;
      seen.add(session.id);
      try {
        await compareSession(scope, provider, session);
      } catch (error) {
        scope.resolve('logger').error(`quittance: payment session ${session.id} was not compared: ${String(error)}`);
      }
    }
}

export async function compareSession(
  scope: Scope,
  provider: QuittancePaymentProvider,
  session: PaymentSession,
): Promise<void> {
  const { source, payment_collection: collectionId } = session.metadata;
  if (source !== SOURCE || collectionId === undefined) return;
  const call = { signal: AbortSignal.timeout(LIMIT_MS) };
  const row = await provider.rowOf(session);
  const isSettled = (session.paid_at ?? session.created) < Date.now() / 1000 - SETTLED_SEC;
  const isLeft = holdsItsMoney(session) && row !== undefined && !(await paysTheOrder(scope, collectionId, session));
  if (isLeft && !isSettled) return;
  if (isLeft) await takePayment(scope, row.id, session);
  const orderId = await orderOf(scope, collectionId);
  const isNeeded = row !== undefined && orderId === null;
  const now =
    !isNeeded && isSettled && !isOver(session) && !isUnderWay(session)
      ? await provider.sessions.close(session, call)
      : session;
  const pays = await paysTheOrder(scope, collectionId, now);
  const place = orderId === null ? `payment collection ${collectionId}, which has no order` : `order ${orderId}`;
  for (const word of await wordsOn(provider, now, pays, place, call)) await say(scope, word);
}

/** What Medusa does when it is told of a payment. What it refuses stays money to return. */
async function takePayment(scope: Scope, rowId: string, { id, amount_total: amount }: PaymentSession): Promise<void> {
  try {
    const input = { action: 'authorized', data: { session_id: rowId, amount } };
    await scope.resolve('workflows').run('process-payment-workflow', { input });
  } catch (error) {
    scope.resolve('logger').warn(`quittance: Medusa did not take payment session ${id}: ${String(error)}`);
  }
}

/** Whether Medusa has an order for which it took the money of this session. */
export async function paysTheOrder(scope: Scope, collectionId: string, session: PaymentSession): Promise<boolean> {
  if ((await orderOf(scope, collectionId)) === null) return false;
  const payments = await scope.resolve('payment').listPayments({ payment_collection_id: collectionId });
  return payments.some(({ data }) => data?.['id'] === session.id);
}

async function wordsOn(
  provider: QuittancePaymentProvider,
  session: PaymentSession,
  pays: boolean,
  place: string,
  call: CallOptions,
): Promise<Word[]> {
  const words = moneyToReturn(session, { paysTheOrder: pays }).map((piece) => wordOn(piece, session, place));
  if (session.reversed)
    words.push({
      key: `reversed:${session.id}`,
      title: 'A payment left the blockchain again',
      text: `Do not deliver ${place}: its payment of ${session.amount_total} ${session.currency.toUpperCase()} is not there any more.`,
    });
  const { data: refunds } = await provider.quittance.refunds.page({ session_id: session.id, page_size: 100 }, call);
  return [...words, ...refunds.flatMap((refund) => wordOnRefund(refund, place))];
}

function wordOn(piece: Returnable, session: PaymentSession, place: string): Word {
  const transfer = session.deposits.find(({ transaction_id: id }) => id === piece.transaction_id);
  const from = transfer === undefined ? 'beyond what was due' : `${transfer.network}, ${transfer.tx_hash}`;
  return {
    key: `return:${piece.transaction_id ?? `${session.id}:surplus`}:${piece.amount}`,
    title: 'Money to return',
    text: `${piece.amount} ${piece.coin} (${from}) came for ${place} and pays nothing. Return it under Stablecoin payments.`,
  };
}

function wordOnRefund({ id, status, reason, amount, failure_reason: why }: Refund, place: string): Word[] {
  const what = `${amount.value} ${amount.currency} for ${place}`;
  if (status === 'FAILED')
    return [
      {
        key: `failed:${id}`,
        title: 'A refund failed',
        text: `Refund ${id} of ${what} failed (${why ?? 'no reason given'}): the shop still holds the money, though Medusa shows it as refunded. Return it under Stablecoin payments.`,
      },
    ];
  return reason?.startsWith('Medusa: ') === true
    ? []
    : [
        {
          key: `foreign:${id}`,
          title: 'A refund was made outside Medusa',
          text: `Refund ${id} of ${what} was made at the payment service, so Medusa does not show it.`,
        },
      ];
}

async function say(scope: Scope, { key, title, text }: Word): Promise<void> {
  const notifications = scope.resolve('notification');
  const idempotencyKey = `quittance:${key}`;
  if ((await notifications.listNotifications({ idempotency_key: idempotencyKey })).length > 0) return;
  scope.resolve('logger').warn(`quittance: ${text}`);
  await notifications.createNotifications({
    to: 'admin',
    channel: 'feed',
    template: 'admin-ui',
    data: { title, description: text },
    idempotency_key: idempotencyKey,
  });
}
