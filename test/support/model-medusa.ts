import { createHmac } from 'node:crypto';
import { ModelService } from '../../packages/client/src/shop-kit.ts';
import { amountOf, sumOf } from '../../plugins/medusa/src/amounts.ts';
import onlyGenuine from '../../plugins/medusa/src/api/middlewares.ts';
import { guardCancellation, guardChange, guardCompletion } from '../../plugins/medusa/src/guards.ts';
import type { PaymentContainer, ProviderData, WebhookAction } from '../../plugins/medusa/src/medusa.ts';
import { OneAtATime } from '../../plugins/medusa/src/one-at-a-time.ts';
import { QuittancePaymentProvider } from '../../plugins/medusa/src/provider.ts';
import type { Scope } from '../../plugins/medusa/src/scope.ts';
import paymentTold from '../../plugins/medusa/src/subscribers/payment-told.ts';

/*
 * What Medusa 2.21.2 does around a payment provider, read in its workflows and seen in a real one: it changes a payment
 * collection before it asks, deletes a payment session while it makes the next, forgets a refund whose provider threw,
 * goes on cancelling an order whose refund failed, and compares no amounts when it completes a cart.
 */

export const CARD = 'pp_card';
export const COIN = 'pp_quittance_main';
export const OPTIONS = {
  baseUrl: 'https://pay.example',
  apiKey: 'sk_test_key',
  apiSecret: 'secret',
  webhookSecret: 'whs',
};
const PROCESSABLE = ['pending', 'authorized'];

interface SessionRow {
  id: string;
  provider_id: string;
  payment_collection_id: string;
  amount: string;
  currency_code: string;
  data: ProviderData;
  status: string;
}

interface PaymentRow {
  id: string;
  session_id: string;
  provider_id: string;
  payment_collection_id: string;
  amount: string;
  data: ProviderData;
  metadata: ProviderData | null;
  captured: boolean;
}

interface RefundRow {
  id: string;
  payment_id: string;
  amount: string;
  metadata: ProviderData | null;
}

export interface Cart {
  readonly id: string;
  lines: string[];
  currency_code: string;
  collectionId: string | null;
  orderId: string | null;
}

export interface Order {
  readonly id: string;
  readonly cart: Cart;
  readonly total: string;
  status: 'pending' | 'canceled';
}

interface Message {
  readonly rawData: string;
  readonly headers: Record<string, string>;
}

const matches = (row: object, filters: object): boolean =>
  Object.entries(filters).every(([name, value]) => Reflect.get(row, name) === value);

export class ModelMedusa {
  readonly service = new ModelService();
  readonly carts: Cart[] = [];
  readonly orders: Order[] = [];
  readonly sessions: SessionRow[] = [];
  readonly collections: { id: string; amount: string; currency_code: string }[] = [];
  readonly payments: PaymentRow[] = [];
  readonly refunds: RefundRow[] = [];
  readonly said: { readonly key: string; readonly text: string }[] = [];
  /** Messages that the bus holds back. */
  readonly queue: Message[] = [];
  soldOut = false;
  readonly provider: QuittancePaymentProvider;
  readonly scope: Scope;
  readonly #locks = new OneAtATime();
  #ids = 0;

  constructor(more: object = {}) {
    const container: PaymentContainer & Record<string, unknown> = {
      logger: { warn: () => {}, error: () => {} },
      paymentSessionService: this.#rows(this.sessions),
      paymentCollectionService: this.#rows(this.collections),
      paymentService: this.#rows(this.payments),
      refundService: {
        ...this.#rows(this.refunds),
        update: async (change: object) => {
          const row = this.refunds.find(({ id }) => id === Reflect.get(change, 'id'));
          if (row === undefined) throw new Error('the refund is not stored');
          await Promise.resolve(Object.assign(row, change));
        },
      },
    };
    this.provider = new QuittancePaymentProvider(container, { ...OPTIONS, ...more });
    container[COIN] = this.provider;
    this.scope = this.#scope();
    this.service.onEvent = ({ type, object }) => {
      this.queue.push(messageOf(type, object, this.service.nowSec));
    };
  }

  cart(...lines: string[]): Cart {
    const cart = { id: this.#id('cart'), lines, currency_code: 'usd', collectionId: null, orderId: null };
    this.carts.push(cart);
    return cart;
  }

  total(cart: Cart): string {
    return sumOf(cart.lines, 'usdt').replace(/0{1,4}$/, '');
  }

  order(cart: Cart): Order | undefined {
    return this.orders.find(({ id }) => id === cart.orderId);
  }

  async change(cart: Cart, ...lines: string[]): Promise<void> {
    await this.#locks.run(cart.id, async () => {
      if (cart.orderId !== null) throw new Error('the cart is completed');
      const before = cart.lines;
      cart.lines = lines;
      try {
        await this.#refresh(cart);
      } catch (error) {
        cart.lines = before;
        throw error;
      }
    });
  }

  async #refresh(cart: Cart): Promise<void> {
    const collection = this.collections.find(({ id }) => id === cart.collectionId);
    if (collection === undefined) return;
    await guardChange({ cart: this.#read(cart) }, { container: this.scope });
    if (collection.amount === this.total(cart)) return;
    const deleting = this.#deleteSessions(this.sessions.filter((row) => row.payment_collection_id === collection.id));
    collection.amount = this.total(cart);
    await deleting;
  }

  async #deleteSessions(rows: readonly SessionRow[]): Promise<void> {
    const deleted = await Promise.all(
      rows.map(async (row) => {
        try {
          if (row.provider_id === COIN) await this.provider.deletePayment({ data: row.data });
          this.sessions.splice(this.sessions.indexOf(row), 1);
          return true;
        } catch {
          return false;
        }
      }),
    );
    if (deleted.includes(false)) throw new Error('Could not delete all payment sessions');
  }

  async initiate(cart: Cart, providerId = COIN): Promise<SessionRow> {
    if (cart.orderId !== null) throw new Error('the cart is completed');
    if (cart.collectionId === null) {
      cart.collectionId = this.#id('pay_col');
      this.collections.push({ id: cart.collectionId, amount: this.total(cart), currency_code: cart.currency_code });
    }
    const collection = this.collections.find(({ id }) => id === cart.collectionId)!;
    const before = this.sessions.filter((row) => row.payment_collection_id === collection.id);
    const [made, deleted] = await Promise.allSettled([
      this.#createSession(collection, providerId),
      this.#deleteSessions(before),
    ]);
    if (made.status === 'rejected') throw made.reason;
    if (deleted.status === 'fulfilled') return made.value;
    await this.#deleteSessions([made.value]).catch(() => undefined);
    throw deleted.reason;
  }

  async #createSession(
    { id, amount, currency_code }: { id: string; amount: string; currency_code: string },
    providerId: string,
  ): Promise<SessionRow> {
    const row: SessionRow = {
      id: this.#id('payses'),
      provider_id: providerId,
      payment_collection_id: id,
      amount,
      currency_code,
      data: {},
      status: 'pending',
    };
    this.sessions.push(row);
    if (providerId !== COIN) return row;
    try {
      const { data, status } = await this.provider.initiatePayment({
        amount: { value: amount },
        currency_code,
        data: { session_id: row.id },
        context: { idempotency_key: row.id },
      });
      return Object.assign(row, { data, status });
    } catch (error) {
      this.sessions.splice(this.sessions.indexOf(row), 1);
      throw error;
    }
  }

  /** Throws what the storefront is told. */
  complete(cart: Cart): Promise<Order> {
    return this.#locks.run(cart.id, async () => {
      const before = this.order(cart);
      if (before !== undefined) return before;
      const row = this.sessions.find(
        ({ payment_collection_id: id, status }) => id === cart.collectionId && PROCESSABLE.includes(status),
      );
      if (row === undefined) throw new Error('Payment sessions are required to complete cart');
      try {
        await guardCompletion({ cart: this.#read(cart) }, { container: this.scope });
        if (this.soldOut) throw new Error('sold out');
        const order: Order = { id: this.#id('order'), cart, total: this.total(cart), status: 'pending' };
        await this.authorize(row);
        cart.orderId = order.id;
        this.orders.push(order);
        return order;
      } catch (error) {
        await this.#compensate(row);
        throw error;
      }
    });
  }

  /** Idempotent: a payment that was authorised once is not asked for again. */
  async authorize(row: SessionRow): Promise<void> {
    if (this.payments.some(({ session_id: id }) => id === row.id)) return;
    const input = { data: row.data, context: { idempotency_key: row.id } };
    const { data, status } =
      row.provider_id === COIN
        ? await this.provider.authorizePayment(input)
        : { data: {}, status: 'captured' as const };
    row.status = status === 'captured' ? 'authorized' : status;
    if (status !== 'captured') throw new Error(`Session: ${row.id} was not authorized with the provider.`);
    this.payments.push({
      id: this.#id('pay'),
      session_id: row.id,
      provider_id: row.provider_id,
      payment_collection_id: row.payment_collection_id,
      amount: row.amount,
      data,
      metadata: null,
      captured: true,
    });
  }

  /** Medusa refunds what it captured for a cart that it could not complete. */
  async #compensate(row: SessionRow): Promise<void> {
    const payment = this.payments.find(({ session_id: id }) => id === row.id);
    if (payment !== undefined) await this.refundPayment(payment, payment.amount).catch(() => undefined);
  }

  refund(order: Order, amount: string): Promise<void> {
    const payment = this.payments.find(({ payment_collection_id: id }) => id === order.cart.collectionId);
    if (payment === undefined) throw new Error('the order has no payment');
    return this.refundPayment(payment, amount);
  }

  async refundPayment(payment: PaymentRow, amount: string): Promise<void> {
    const others = this.refunds.filter(({ payment_id: id }) => id === payment.id);
    const all = sumOf([...others.map((one) => one.amount), amount], 'usdt');
    if (Number(all) > Number(payment.amount) + 0.005) throw new Error('You cannot refund more than what is captured');
    const row: RefundRow = { id: this.#id('ref'), payment_id: payment.id, amount, metadata: null };
    this.refunds.push(row);
    if (payment.provider_id !== COIN) return;
    try {
      const { data } = await this.provider.refundPayment({
        amount: { value: amount },
        data: payment.data,
        context: { idempotency_key: row.id },
      });
      payment.data = data;
    } catch (error) {
      this.refunds.splice(this.refunds.indexOf(row), 1);
      throw error;
    }
  }

  async cancel(order: Order): Promise<void> {
    for (const payment of this.payments.filter(({ payment_collection_id: id }) => id === order.cart.collectionId)) {
      const refunded = this.refunds.filter(({ payment_id: id }) => id === payment.id).map(({ amount }) => amount);
      const left = Number(payment.amount) - Number(sumOf(refunded, 'usdt'));
      if (left > 0) await this.refundPayment(payment, left.toFixed(6)).catch(() => undefined);
    }
    await guardCancellation({ order }, { container: this.scope });
    order.status = 'canceled';
  }

  /** How a message is answered when it arrives. */
  async receive({ rawData, headers }: Message): Promise<number> {
    let status = 200;
    const route = onlyGenuine.routes[0]!;
    const response = { status: (code: number) => ((status = code), { json: () => undefined }) };
    const request = { params: { provider: 'quittance_main' }, headers, rawBody: rawData, scope: this.scope };
    await route.middlewares[0]!(request, response, () => undefined);
    return status;
  }

  /** What Medusa's subscribers of a received message do, whenever the bus gives it to them. */
  async process(message: Message): Promise<WebhookAction> {
    const payload = { data: {}, ...message };
    const told = await this.provider.getWebhookActionAndData(payload);
    if (told.action === 'authorized' && told.data !== undefined) await this.processPayment(told.data.session_id);
    await paymentTold({ event: { data: { provider: 'quittance_main', payload } }, container: this.scope });
    return told;
  }

  /** `process-payment-workflow` for what is authorised: a cart that cannot be completed is no failure of it. */
  async processPayment(rowId: string): Promise<void> {
    const row = this.sessions.find(({ id }) => id === rowId);
    const cart = this.carts.find(({ collectionId }) => collectionId === row?.payment_collection_id);
    if (row === undefined) throw new Error('the payment session is not stored');
    if (cart === undefined) await this.authorize(row);
    else if (cart.orderId === null) await this.complete(cart).catch(() => undefined);
  }

  #rows<Row extends object>(rows: Row[]) {
    return {
      list: async (filters: object): Promise<Row[]> => {
        await Promise.resolve();
        return rows.filter((row) => matches(row, filters)).map((row) => ({ ...row }));
      },
    };
  }

  #read(cart: Cart) {
    const collection = this.collections.find(({ id }) => id === cart.collectionId) ?? null;
    const total = this.total(cart);
    return {
      id: cart.id,
      currency_code: cart.currency_code,
      total,
      payment_collection: collection && { ...collection },
    };
  }

  #scope(): Scope {
    const known = {
      query: { graph: (asked: { entity: string; filters: object }) => Promise.resolve({ data: this.#graph(asked) }) },
      payment: {
        listPaymentProviders: () => Promise.resolve([{ id: COIN }, { id: CARD }]),
        listPaymentMethods: () => Promise.resolve([]),
        listPaymentSessions: this.#rows(this.sessions).list,
        listPayments: async (filters: object) =>
          (await this.#rows(this.payments).list(filters)).map((payment) => ({
            ...payment,
            captures: payment.captured ? [{ amount: payment.amount }] : [],
            refunds: this.refunds.filter(({ payment_id: id }) => id === payment.id),
          })),
        updatePayment: ({ id, metadata }: { id: string; metadata: ProviderData }) =>
          Promise.resolve(
            Object.assign(
              this.payments.find((payment) => payment.id === id)!,
              { metadata },
            ),
          ),
      },
      notification: {
        listNotifications: ({ idempotency_key: key }: { idempotency_key?: string }) =>
          Promise.resolve(this.said.filter((word) => word.key === key)),
        createNotifications: (word: { idempotency_key?: string; data?: { description: string } }) =>
          Promise.resolve(this.said.push({ key: word.idempotency_key ?? '', text: word.data?.description ?? '' })),
      },
      workflows: {
        run: (_: string, { input }: { input: object }) =>
          this.processPayment(String(Reflect.get(Reflect.get(input, 'data') as object, 'session_id'))),
      },
      logger: { warn: () => {}, error: () => {} },
    };
    return { resolve: (name) => known[name] as never };
  }

  #graph({ entity, filters }: { entity: string; filters: object }): object[] {
    const links = this.carts.map(({ id, collectionId, orderId }) => ({
      cart_id: id,
      order_id: orderId,
      payment_collection_id: collectionId,
    }));
    if (entity === 'cart') return this.carts.filter((cart) => matches(cart, filters)).map((cart) => this.#read(cart));
    const ofOrder = entity !== 'cart_payment_collection';
    return links.filter((link) => matches(link, filters) && (!ofOrder || link.order_id !== null));
  }

  #id(kind: string): string {
    this.#ids += 1;
    return `${kind}_${String(this.#ids).padStart(5, '0')}`;
  }
}

/** A message as the service signs it. */
export function messageOf(type: string, object: object, nowSec: number, secret = OPTIONS.webhookSecret): Message {
  const rawData = JSON.stringify({ id: 'evt_1', type, created_at: nowSec, data: { object } });
  const signature = createHmac('sha256', secret).update(`${nowSec}.n.${rawData}`).digest('hex');
  return {
    rawData,
    headers: { 'x-service-timestamp': String(nowSec), 'x-service-nonce': 'n', 'x-service-signature': signature },
  };
}

export const cents = (amount: string): string => amountOf(amount, 'usd');
