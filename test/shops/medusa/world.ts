import assert from 'node:assert/strict';
import { eventually, signedCall, type RunningSandbox } from '../../support/running-sandbox.ts';
import type { MedusaShop } from './medusa-shop.ts';

const FINAL_MS = 60_000;
const QUITTANCE = 'pp_quittance_main';
export const OTHER = 'pp_system_default';

interface Named {
  readonly id: string;
}

interface CartShown extends Named {
  readonly total: number;
  readonly items: readonly Named[];
}

interface Completed {
  readonly type: 'cart' | 'order';
  readonly order?: OrderShown;
  readonly error?: { readonly message: string; readonly type: string };
}

export interface OrderShown extends Named {
  readonly status: string;
  readonly total: number;
  readonly payment_status: string;
  readonly payment_collections: readonly {
    readonly id: string;
    readonly payments: readonly { readonly id: string; readonly refunds?: readonly { readonly amount: number }[] }[];
  }[];
}

interface ServiceSession extends Named {
  readonly status: string;
  readonly payment_status: string;
  readonly received: string;
  readonly refunded: string;
  readonly amount_total: string;
}

export interface ToReturn {
  readonly id: string;
  readonly pays_the_order: boolean;
  readonly deposits: readonly { readonly tx_hash: string }[];
  readonly to_return: readonly { readonly amount: string; readonly coin: string }[];
}

/** A region, goods, customers, payers and an admin. */
export class World {
  readonly shop: MedusaShop;
  readonly sandbox: RunningSandbox;
  private region = '';
  private product = '';
  private readonly variants = new Map<string, string>();

  constructor(shop: MedusaShop, sandbox: RunningSandbox) {
    this.shop = shop;
    this.sandbox = sandbox;
  }

  async furnish(prices: readonly string[]): Promise<void> {
    const { region } = await this.shop.admin<{ region: Named }>('POST', '/admin/regions', {
      name: 'Europe',
      currency_code: 'eur',
      countries: ['de'],
      payment_providers: [QUITTANCE, OTHER],
    });
    this.region = region.id;
    const { product } = await this.shop.admin<{
      product: Named & { variants: readonly (Named & { title: string })[] };
    }>('POST', '/admin/products', {
      title: 'Mug',
      status: 'published',
      options: [{ title: 'price', values: prices }],
      sales_channels: [{ id: this.shop.channelId }],
      variants: prices.map((price) => ({
        title: price,
        options: { price },
        manage_inventory: false,
        prices: [{ currency_code: 'eur', amount: Number(price) }],
      })),
    });
    this.product = product.id;
    for (const { id, title } of product.variants) this.variants.set(title, id);
  }

  /** Whether goods of this price are sold out. */
  async sellOut(price: string, isOut: boolean): Promise<void> {
    const path = `/admin/products/${this.product}/variants/${this.variants.get(price)}`;
    await this.shop.admin('POST', path, { manage_inventory: isOut });
  }

  async cart(price: string): Promise<string> {
    const { cart } = await this.shop.store<{ cart: CartShown }>('POST', '/store/carts', {
      region_id: this.region,
      email: 'customer@shop.example',
      items: [{ variant_id: this.variants.get(price), quantity: 1 }],
    });
    return cart.id;
  }

  add(cart: string, price: string, expected = 200): Promise<{ message?: string }> {
    const item = { variant_id: this.variants.get(price), quantity: 1 };
    return this.shop.store('POST', `/store/carts/${cart}/line-items`, item, expected);
  }

  async total(cart: string): Promise<number> {
    return (await this.shop.store<{ cart: CartShown }>('GET', `/store/carts/${cart}`)).cart.total;
  }

  async collection(cart: string): Promise<string> {
    const made = await this.shop.store<{ payment_collection: Named }>('POST', '/store/payment-collections', {
      cart_id: cart,
    });
    return made.payment_collection.id;
  }

  /** As the storefront does each time that a checkout is opened; the id of the session at the service. */
  async open(cart: string, provider = QUITTANCE, expected = 200): Promise<string> {
    const path = `/store/payment-collections/${await this.collection(cart)}/payment-sessions`;
    const { payment_collection: collection } = await this.shop.store<{
      payment_collection?: { payment_sessions: readonly { data: { id?: string; url?: string } }[] };
    }>('POST', path, { provider_id: provider }, expected);
    return collection?.payment_sessions[0]?.data.id ?? '';
  }

  complete(cart: string, expected = 200): Promise<Completed> {
    return this.shop.store('POST', `/store/carts/${cart}/complete`, undefined, expected);
  }

  /** The order that a message made of a cart. */
  async ordered(cart: string): Promise<OrderShown> {
    return eventually(`cart ${cart} is an order`, async () => (await this.complete(cart)).order, FINAL_MS).then(
      ({ id }) => this.order(id),
    );
  }

  async order(id: string): Promise<OrderShown> {
    const fields = '*payment_collections.payments,*payment_collections.payments.refunds';
    return (
      await this.shop.admin<{ order: OrderShown }>(
        'GET',
        `/admin/orders/${id}?fields=${encodeURIComponent(`+status,${fields}`)}`,
      )
    ).order;
  }

  paymentOf({ payment_collections: collections }: OrderShown): string {
    const id = collections[0]?.payments[0]?.id;
    assert.ok(id, 'the order has a payment');
    return id;
  }

  refund(order: OrderShown, amount: number, expected = 200): Promise<{ message?: string }> {
    return this.shop.admin('POST', `/admin/payments/${this.paymentOf(order)}/refund`, { amount }, expected);
  }

  /** The service, asked past the proxy. */
  async service(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    const { facts } = this.sandbox;
    const { status, json } = await signedCall(facts.base_url, facts.merchant, method, path, body);
    assert.equal(status, 200, `${method} ${path}: ${JSON.stringify(json)}`);
    return json;
  }

  async session(id: string): Promise<ServiceSession> {
    return (await this.service('GET', `/api/v1/checkout/sessions/${id}`)) as unknown as ServiceSession;
  }

  async refundsAt(id: string): Promise<readonly { readonly amount: { readonly value: string } }[]> {
    const { data } = await this.service('GET', `/v1/refunds?session_id=${id}&page_size=100`);
    return data as readonly { readonly amount: { readonly value: string } }[];
  }

  /** Pays, and waits until it was seen. */
  async pay(id: string, payment: object = {}): Promise<void> {
    await this.service('POST', `/v1/sandbox/sessions/${id}/pay`, { network: 'tron', ...payment });
    await eventually(`${id} was seen`, async () => (await this.session(id)).status !== 'open', FINAL_MS);
  }

  /** Pays, and waits until it is final. */
  async paid(id: string, payment: object = {}): Promise<void> {
    await this.pay(id, payment);
    await this.final(id);
  }

  async final(id: string): Promise<void> {
    await eventually(`${id} is paid`, async () => (await this.session(id)).payment_status === 'paid', FINAL_MS);
  }

  async money(id: string): Promise<readonly ToReturn[]> {
    return (await this.shop.admin<{ sessions: readonly ToReturn[] }>('GET', `/admin/quittance/${id}`)).sessions;
  }
}
