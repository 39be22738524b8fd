import type { PaymentSession, Refund } from '@quittance/client';
import { moneyToReturn } from '@quittance/client/shops';
import { paysTheOrder } from './compare.ts';
import { notAllowed, shown } from './errors.ts';
import type { QuittancePaymentProvider } from './provider.ts';
import { SENDER_ACKNOWLEDGED } from './rows.ts';
import { collectionsOf, isQuittance, providersIn, type Scope } from './scope.ts';

/* What the admin shows and does for an order, or for the payment collection of a cart that became none. */

const LIMIT_MS = 20_000;
const RETURNED = 'Returned by the shop: ';

/** One way that money can go back: a deposit, a surplus, or a refund that failed. */
interface Piece {
  readonly key: string;
  readonly amount: string;
  readonly coin: string;
  readonly request: { readonly transaction_id?: string; readonly amount?: { value: string; currency: string } };
}

export interface ShownSession {
  readonly id: string;
  readonly url: string;
  readonly status: string;
  readonly reversed: boolean;
  readonly amount: string;
  readonly currency: string;
  readonly pays_the_order: boolean;
  readonly deposits: readonly {
    readonly amount: string;
    readonly coin: string;
    readonly network: string;
    readonly tx_hash: string;
    readonly explorer_url: string | null;
    readonly status: string;
    readonly kind: string;
    readonly sender: string | null;
  }[];
  readonly refunds: readonly {
    readonly id: string;
    readonly amount: string;
    readonly coin: string;
    readonly status: string;
    readonly tx_hash: string | null;
  }[];
  readonly to_return: readonly { readonly amount: string; readonly coin: string }[];
}

interface Found {
  readonly provider: QuittancePaymentProvider;
  readonly session: PaymentSession;
  readonly refunds: readonly Refund[];
  readonly pays: boolean;
}

export async function shownMoney(scope: Scope, id: string): Promise<ShownSession[]> {
  return (await sessionsOf(scope, id)).map((found) => shownSession(found));
}

function shownSession(found: Found): ShownSession {
  const { session, refunds, pays } = found;
  return {
    id: session.id,
    url: session.url,
    status: session.status,
    reversed: session.reversed,
    amount: session.amount_total,
    currency: session.currency,
    pays_the_order: pays,
    deposits: session.deposits.map((one) => ({
      amount: one.amount,
      coin: one.coin,
      network: one.network,
      tx_hash: one.tx_hash,
      explorer_url: one.explorer_url,
      status: one.status,
      kind: one.kind,
      sender: one.sender?.kind ?? null,
    })),
    refunds: refunds.map((one) => ({
      id: one.id,
      amount: one.amount.value,
      coin: one.amount.currency,
      status: one.status,
      tx_hash: one.tx_hash,
    })),
    to_return: piecesOf(found).map(({ amount, coin }) => ({ amount, coin })),
  };
}

/** Sends back everything that pays nothing; how many refunds were asked for. */
export async function returnMoney(scope: Scope, id: string, acknowledged: boolean): Promise<number> {
  let asked = 0;
  for (const found of await sessionsOf(scope, id))
    for (const piece of piecesOf(found)) {
      await giveBack(found, piece, acknowledged);
      asked += 1;
    }
  return asked;
}

async function giveBack({ provider, session, refunds }: Found, piece: Piece, acknowledged: boolean): Promise<void> {
  const reason = `${RETURNED}${piece.key}`;
  // What failed, or came once more, is another refund; the same press repeated is the same.
  const times = refunds.filter((refund) => refund.reason === reason).length;
  try {
    await provider.quittance.refunds.create(
      {
        ...piece.request,
        session_id: session.id,
        reason,
        ...(acknowledged ? { acknowledge_sender: true } : undefined),
      },
      { idempotencyKey: `medusa-return-${piece.key}-${times}`, signal: AbortSignal.timeout(LIMIT_MS) },
    );
  } catch (error) {
    throw shown(error);
  }
}

function piecesOf({ session, refunds, pays }: Found): Piece[] {
  const free = moneyToReturn(session, { paysTheOrder: pays }).map(({ transaction_id: deposit, amount, coin }) =>
    deposit === undefined
      ? { key: `${session.id}-surplus`, amount, coin, request: { amount: { value: amount, currency: coin } } }
      : { key: deposit, amount, coin, request: { transaction_id: deposit } },
  );
  if (!pays) return free;
  const again = new Set(refunds.filter(({ status }) => status !== 'FAILED').map(({ reason }) => reason));
  const failed = refunds
    .filter(({ id, status, reason }) => {
      const isMedusas = reason?.startsWith('Medusa: ') === true;
      return status === 'FAILED' && isMedusas && !again.has(`${RETURNED}${id}`);
    })
    .map(({ id, amount }) => ({ key: id, amount: amount.value, coin: amount.currency, request: { amount } }));
  return [...free, ...failed];
}

/** The payer can receive at the address that paid: for the refunds of this order from now on. */
export async function acknowledgeSender(scope: Scope, id: string): Promise<void> {
  const payments = scope.resolve('payment');
  let count = 0;
  for (const collectionId of await collectionIds(scope, id))
    for (const { id: paymentId, provider_id: providerId, metadata } of await payments.listPayments({
      payment_collection_id: collectionId,
    })) {
      if (!isQuittance(providerId)) continue;
      await payments.updatePayment({ id: paymentId, metadata: { ...metadata, ...SENDER_ACKNOWLEDGED } });
      count += 1;
    }
  if (count === 0) throw notAllowed(`${id} has no payment in Medusa`);
}

async function collectionIds(scope: Scope, id: string): Promise<string[]> {
  return id.startsWith('order_') ? collectionsOf(scope, id) : [id];
}

async function sessionsOf(scope: Scope, id: string): Promise<Found[]> {
  const found: Found[] = [];
  try {
    for (const collectionId of await collectionIds(scope, id))
      for (const provider of await providersIn(scope)) {
        const call = { signal: AbortSignal.timeout(LIMIT_MS) };
        for (const session of await provider.sessions.all(collectionId, call)) {
          const { data: refunds } = await provider.quittance.refunds.page(
            { session_id: session.id, page_size: 100 },
            call,
          );
          found.push({ provider, session, refunds, pays: await paysTheOrder(scope, collectionId, session) });
        }
      }
  } catch (error) {
    throw shown(error);
  }
  return found;
}

/** Payments of the last month whose money pays nothing, whether or not a cart became an order. */
export async function allToReturn(
  scope: Scope,
): Promise<{ readonly place: string; readonly sessions: ShownSession[] }[]> {
  const listed: { place: string; sessions: ShownSession[] }[] = [];
  const since = Math.floor(Date.now() / 1000) - 31 * 24 * 3600;
  for (const provider of await providersIn(scope))
    for await (const session of provider.quittance.sessions.all({
      created_from: since,
      metadata: { source: 'medusa' },
    })) {
      const place = session.metadata['payment_collection'];
      if (place === undefined || session.deposits.length === 0) continue;
      const pays = await paysTheOrder(scope, place, session);
      const one = shownSession({ provider, session, refunds: [], pays });
      if (one.to_return.length > 0) listed.push({ place, sessions: [one] });
    }
  return listed;
}
