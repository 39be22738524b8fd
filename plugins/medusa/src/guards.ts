import { asksFor, compareAmounts, holdsItsMoney, isUnderWay } from '@quittance/client/shops';
import { textOf, sumOf } from './amounts.ts';
import { notAllowed, shown, ShopError } from './errors.ts';
import type { Amount } from './medusa.ts';
import { mismatch, priceOf } from './provider.ts';
import { collectionsOf, isQuittance, linked, providerIn, type HookInput, type Scope } from './scope.ts';
import { ownsSession } from './sessions.ts';

/* What Medusa does not ask a provider. Each runs in a hook of Medusa's workflows, with the cart locked. */

type Handler = (input: HookInput, context: { readonly container: Scope }) => Promise<void>;

const LIMIT_MS = 10_000;
/** Medusa gives up the lock of a cart that it changes after ten seconds. */
const CHANGE_LIMIT_MS = 6_000;
/** The statuses with which Medusa completes a cart. */
const PROCESSABLE = new Set(['pending', 'requires_more', 'authorized', 'captured', 'pending_authorization']);

const told =
  (guard: Handler): Handler =>
  async (input, context) => {
    try {
      await guard(input, context);
    } catch (error) {
      throw shown(error);
    }
  };

/** An order is placed only for what its payment holds, whatever Medusa authorised earlier: completing compares nothing. */
export const guardCompletion = told(async ({ cart }, { container }) => {
  const collectionId = cart?.payment_collection?.id;
  if (cart === undefined || collectionId === undefined) return;
  // Completed before: Medusa answers with its order.
  if ((await linked(container, 'order_cart', 'order_id', { cart_id: cart.id })) !== null) return;
  // In the order of the cart, as Medusa takes the first of them.
  const rows =
    cart.payment_collection?.payment_sessions ??
    (await container.resolve('payment').listPaymentSessions({ payment_collection_id: collectionId }));
  const row = rows.find(({ status }) => PROCESSABLE.has(status));
  const provider = row === undefined ? undefined : await providerIn(container, row.provider_id);
  if (row === undefined || provider === undefined) return;
  const id = row.data?.['id'];
  if (typeof id !== 'string') throw new ShopError('payment_authorization_error', 'the payment has not begun');
  const session = await provider.quittance.sessions.get(id, { signal: AbortSignal.timeout(LIMIT_MS) });
  if (!ownsSession(collectionId, session)) throw notAllowed(`payment session ${id} was made for another cart`);
  if (!holdsItsMoney(session))
    throw new ShopError('payment_authorization_error', `payment session ${id} is not paid (${session.status})`);
  // The service took its time: the cart is read again after its answer.
  const now = await priceNow(container, cart.id);
  if (!asksFor(session, priceOf(now))) throw mismatch(session, now);
});

async function priceNow(scope: Scope, cartId: string): Promise<{ amount: Amount; currency_code: string }> {
  const fields = ['id', 'total', 'currency_code'];
  const { data } = await scope.resolve('query').graph({ entity: 'cart', fields, filters: { id: cartId } });
  const cart = data[0];
  if (typeof cart !== 'object' || cart === null) throw notAllowed(`cart ${cartId} does not exist`);
  const { total, currency_code: currency } = cart as { total: Amount; currency_code: string };
  return { amount: total, currency_code: currency };
}

/** While money is under way a cart keeps its price: Medusa would change its collection and then fail to drop the payment. */
export const guardChange = told(async ({ cart }, { container }) => {
  const collection = cart?.payment_collection;
  if (cart === undefined || collection === undefined || collection === null) return;
  const isSame =
    compareAmounts(textOf(collection.raw_amount ?? collection.amount), textOf(cart.raw_total ?? cart.total)) === 0;
  if (isSame && collection.currency_code === cart.currency_code) return;
  const rows = await container.resolve('payment').listPaymentSessions({ payment_collection_id: collection.id });
  for (const { provider_id: providerId } of rows) {
    const provider = await providerIn(container, providerId);
    if (provider === undefined) continue;
    const sessions = await provider.sessions.all(collection.id, { signal: AbortSignal.timeout(CHANGE_LIMIT_MS) });
    if (sessions.some(isUnderWay))
      throw notAllowed(
        'a payment is under way for this cart, so its total cannot change until it has arrived or ended',
      );
  }
});

/** Medusa calls an order cancelled whether or not its refunds were accepted. */
export const guardCancellation = told(async ({ order }, { container }) => {
  if (order === undefined) return;
  for (const collectionId of await collectionsOf(container, order.id)) {
    const payments = await container
      .resolve('payment')
      .listPayments({ payment_collection_id: collectionId }, { relations: ['captures', 'refunds'] });
    for (const { provider_id: providerId, captures = [], refunds = [] } of payments) {
      const sum = (rows: readonly { readonly amount: Amount }[]): string =>
        sumOf(
          rows.map(({ amount }) => amount),
          '',
        );
      if (isQuittance(providerId) && compareAmounts(sum(captures), sum(refunds)) > 0)
        throw notAllowed(
          'the order was not cancelled, since its payment could not be refunded. Refund it first: the answer says what is in the way, such as a payer who is an exchange or a contract',
        );
    }
  }
});
