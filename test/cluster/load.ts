import { randomUUID } from 'node:crypto';
import type { Network } from '../../src/domain/networks/networks.ts';
import { type ApiAnswer, signedCall } from '../support/running-sandbox.ts';
import type { Cluster } from './cluster.ts';

export interface Merchant {
  readonly id: string;
  readonly api_key: string;
  readonly api_secret: string;
  readonly webhook_secret: string;
}

/** What the merchant knows of one order: it asks until it has an answer, always with the same key. */
export interface Order {
  readonly orderId: string;
  readonly amount: string;
  readonly network: Network;
  /** Who paid; null while nobody has. */
  payer: string | null;
  sessionId: string | null;
  /** Every id that any answer ever named for this order. */
  readonly named: Set<string>;
  paidTx: string | null;
  refundId: string | null;
  readonly refundsNamed: Set<string>;
}

export interface LoadOptions {
  readonly everyMs: number;
  /** Of three paid orders, this many are refunded. */
  readonly refundsOfThree?: number;
}

/** Every order has an amount of its own, so that its refund is found on the chain by it. */
const FIRST_CENTS = 1_001;
const RETRY_MS = 300;
const GIVE_UP_MS = 240_000;

/** Every order of this process: the chains remember those of earlier loads, too. */
export const everyOrder: Order[] = [];

/** A shop under load: orders are placed, most are paid, some refunded, whatever happens to the service. */
export class Load {
  readonly orders: Order[] = [];
  readonly statuses = new Map<string, number>();
  readonly #cluster: Cluster;
  readonly #merchant: Merchant;
  readonly #options: LoadOptions;
  readonly #running = new Set<Promise<void>>();
  readonly #run = randomUUID().slice(0, 8);
  #timer: NodeJS.Timeout | null = null;
  readonly failures: string[] = [];
  /** The longest time from a question to the answer it needed, retries included. */
  longestMs = 0;

  constructor(cluster: Cluster, merchant: Merchant, options: LoadOptions) {
    this.#cluster = cluster;
    this.#merchant = merchant;
    this.#options = options;
  }

  begin(): void {
    this.#timer = setInterval(() => this.#next(), this.#options.everyMs);
  }

  /** No new orders; resolves when every order under way came to its end. */
  async end(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    await Promise.all(this.#running);
  }

  /** One more order, now. */
  place(): Order {
    const index = this.orders.length;
    const { chains } = this.#cluster.chains;
    // Shifted after every four orders: the same of them is never paid, and no network may have only those.
    const { network } = chains[(index + 3 * Math.floor(index / 4)) % chains.length]!.settings;
    const order: Order = {
      orderId: `${this.#run}-${index}`,
      amount: ((FIRST_CENTS + everyOrder.length) / 100).toFixed(2),
      network,
      sessionId: null,
      named: new Set(),
      payer: null,
      paidTx: null,
      refundId: null,
      refundsNamed: new Set(),
    };
    this.orders.push(order);
    everyOrder.push(order);
    return order;
  }

  /** From the order to its refund; rejects when the service never gives the answer it owes. */
  async carryOut(order: Order, steps: { readonly pay: boolean; readonly refund: boolean }): Promise<void> {
    const body = {
      amount: order.amount,
      currency: 'USDT',
      order_id: order.orderId,
      metadata: { note: `of ${order.orderId}` },
    };
    const created = await this.#insist(
      'POST',
      '/api/v1/checkout/sessions/create',
      body,
      `create-${order.orderId}`,
      (answer) => {
        if (typeof answer.json['id'] === 'string') order.named.add(answer.json['id']);
        return answer.status === 200;
      },
    );
    order.sessionId = created.json['id'] as string;
    if (!steps.pay) return;
    const options = created.json['payment_options'] as readonly {
      readonly network: string;
      readonly coin: string;
      readonly address: string;
    }[];
    const to = options.find(({ network, coin }) => network === order.network && coin === 'USDT')!.address;
    const paid = await this.#cluster.chains.pay(order.network, { coin: 'USDT', to, amount: order.amount });
    order.payer = paid.fromAddress;
    order.paidTx = paid.txHash;
    if (!steps.refund) return;
    const path = `/api/v1/checkout/sessions/${order.sessionId}`;
    await this.#insist('GET', path, undefined, undefined, (answer) => answer.json['payment_status'] === 'paid');
    const refund = await this.#insist(
      'POST',
      '/v1/refunds',
      { session_id: order.sessionId, reason: 'drill' },
      `refund-${order.orderId}`,
      (answer) => {
        if (typeof answer.json['id'] === 'string') order.refundsNamed.add(answer.json['id']);
        return answer.status === 200;
      },
    );
    order.refundId = refund.json['id'] as string;
  }

  /** One call, to wherever; null when nobody answered. */
  async call(
    method: string,
    path: string,
    body?: unknown,
    key?: string,
    base = this.#cluster.baseUrl,
  ): Promise<ApiAnswer | null> {
    try {
      const answer = await signedCall(
        base,
        this.#merchant,
        method,
        path,
        body,
        key === undefined ? {} : { 'Idempotency-Key': key },
      );
      this.#count(`${method} ${answer.status}`);
      return answer;
    } catch {
      this.#count(`${method} no answer`);
      return null;
    }
  }

  #next(): void {
    const index = this.orders.length;
    const steps = { pay: index % 4 !== 3, refund: index % 3 < (this.#options.refundsOfThree ?? 1) };
    const order = this.place();
    const running = this.carryOut(order, steps).catch(
      (error: unknown) => void this.failures.push(`${order.orderId}: ${(error as Error).message}`),
    );
    this.#running.add(running);
    void running.then(() => this.#running.delete(running));
  }

  async #insist(
    method: string,
    path: string,
    body: unknown,
    key: string | undefined,
    isDone: (answer: ApiAnswer) => boolean,
  ): Promise<ApiAnswer> {
    let last = '';
    const beganMs = Date.now();
    for (const untilMs = Date.now() + GIVE_UP_MS; Date.now() < untilMs;) {
      const answer = await this.call(method, path, body, key);
      if (answer && isDone(answer)) {
        if (method === 'POST') this.longestMs = Math.max(this.longestMs, Date.now() - beganMs);
        return answer;
      }
      if (answer) last = `${answer.status} ${JSON.stringify(answer.json).slice(0, 200)}`;
      await new Promise((wait) => setTimeout(wait, RETRY_MS));
    }
    throw new Error(`${method} ${path} never came to its end (last: ${last || 'no answer'})`);
  }

  #count(what: string): void {
    this.statuses.set(what, (this.statuses.get(what) ?? 0) + 1);
  }
}
