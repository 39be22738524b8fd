import { createHmac, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { parseUnits } from 'ethers';
import { ask, type Helper } from './processes.ts';
import type { Payment } from './stand-in-chain.ts';

export interface Merchant {
  readonly apiKey: string;
  readonly apiSecret: string;
}

export interface ShopChain {
  readonly network: string;
  readonly chain: Helper;
}

export interface Pace {
  readonly seconds: number;
  /** Sessions created a second at most; Infinity: as many as the service takes. */
  readonly perSecond: number;
  /** Payments under way at most, from the create to the webhook. */
  readonly window: number;
}

const DECIMALS = 6;
const CONNECTIONS = 16;
/** A look at a list for so many payments. */
const LIST_EVERY = 10;
const FLUSH_MS = 20;
const LONGEST_DRAIN_MS = 120_000;

interface CreatedSession {
  readonly id: string;
  readonly payment_options: readonly { readonly network: string; readonly address: string; readonly amount: string }[];
}

/**
 * The merchants and their payers: they create sessions by signed requests, pay them on the chains, and look at lists.
 */
export class Shop {
  /** Every session that was paid here. */
  readonly paid: string[] = [];
  readonly #pool: Pool;
  readonly #merchants: readonly Merchant[];
  readonly #chains: readonly ShopChain[];
  readonly #receiver: Helper;
  readonly #waiting: Payment[][];
  #asked = 0;

  constructor(baseUrl: string, merchants: readonly Merchant[], chains: readonly ShopChain[], receiver: Helper) {
    this.#pool = new Pool(baseUrl, { connections: CONNECTIONS });
    this.#merchants = merchants;
    this.#chains = chains;
    this.#receiver = receiver;
    this.#waiting = chains.map(() => []);
  }

  /** Pays for so long; answers how many were paid once all their webhooks came. */
  async run({ seconds, perSecond, window }: Pace): Promise<number> {
    const startedMs = performance.now();
    const endMs = startedMs + seconds * 1_000;
    const deliveredBefore = await this.delivered();
    const before = this.paid.length;
    let delivered = 0;
    const watching = setInterval(() => {
      this.#flush();
      void this.delivered().then((count) => (delivered = count - deliveredBefore));
    }, FLUSH_MS);
    let begun = 0;
    const drive = async (): Promise<void> => {
      while (performance.now() < endMs) {
        if (begun - delivered >= window || begun >= ((performance.now() - startedMs) / 1_000) * perSecond) {
          await sleep(2);
          continue;
        }
        begun += 1;
        await this.createAndPay();
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, drive));
    clearInterval(watching);
    this.#flush();
    const payments = this.paid.length - before;
    await this.drained(deliveredBefore + payments);
    return payments;
  }

  /** So many payments in one block; answers once all their webhooks came. */
  async burst(count: number): Promise<void> {
    const { chain } = this.#chains[0]!;
    const deliveredBefore = await this.delivered();
    const payments: Payment[] = [];
    const drive = async (): Promise<void> => {
      while (this.paid.length + payments.length < target) payments.push(await this.create(0));
    };
    const target = this.paid.length + count;
    await Promise.all(Array.from({ length: CONNECTIONS }, drive));
    payments.length = Math.min(payments.length, count);
    chain.child.send({ hold: true });
    chain.child.send({ pay: payments });
    // What followed the creates ends first.
    await sleep(5_000);
    chain.child.send({ hold: false });
    chain.child.send({ resetGap: true });
    this.paid.push(...payments.map(({ reference }) => reference));
    await this.drained(deliveredBefore + count);
  }

  async createAndPay(): Promise<void> {
    const at = this.#asked % this.#chains.length;
    const payment = await this.create(at);
    this.#waiting[at]!.push(payment);
    this.paid.push(payment.reference);
    if (this.paid.length % LIST_EVERY === 0) await this.listed(this.#merchants[this.#asked % this.#merchants.length]!);
  }

  /** How many paid sessions the merchant's list tells. */
  async listed(merchant: Merchant): Promise<number> {
    const page = await this.#call<{ pagination: { total: number } }>(
      merchant,
      'GET',
      '/v1/payment/sessions?status=paid',
      '',
    );
    return page.pagination.total;
  }

  async allListed(): Promise<number> {
    return (await Promise.all(this.#merchants.map((merchant) => this.listed(merchant)))).reduce(
      (sum, total) => sum + total,
      0,
    );
  }

  delivered(): Promise<number> {
    return ask<number>(this.#receiver, 'count');
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  async drained(count: number): Promise<void> {
    for (const endMs = performance.now() + LONGEST_DRAIN_MS; (await this.delivered()) < count;) {
      if (performance.now() > endMs) throw new Error(`${await this.delivered()} of ${count} webhooks came`);
      await sleep(50);
    }
  }

  /** A session of an order, and what pays it on the chain at this place. */
  async create(at: number): Promise<Payment> {
    const merchant = this.#merchants[this.#asked++ % this.#merchants.length]!;
    const order = {
      amount: '10.00',
      currency: 'USD',
      order_id: randomUUID(),
      description: 'Two blue mugs',
      tax_amount: '1.00',
      shipping_amount: '2.00',
      line_items: [
        {
          price_data: { currency: 'USD', unit_amount: '3.50', product_data: { name: 'Mug', description: 'Blue' } },
          quantity: 2,
        },
      ],
      success_url: 'https://shop.example/thanks',
      cancel_url: 'https://shop.example/cart',
      metadata: { customer: 'c-1042', channel: 'web' },
    };
    const session = await this.#call<CreatedSession>(
      merchant,
      'POST',
      '/api/v1/checkout/sessions/create',
      JSON.stringify(order),
    );
    const option = session.payment_options.find(({ network }) => network === this.#chains[at]!.network)!;
    return { reference: session.id, to: option.address, units: String(parseUnits(option.amount, DECIMALS)) };
  }

  async #call<Answer>(
    { apiKey, apiSecret }: Merchant,
    method: 'GET' | 'POST',
    path: string,
    body: string,
  ): Promise<Answer> {
    const timestamp = String(Math.floor(Date.now() / 1000));
    const nonce = randomUUID();
    const headers = {
      'content-type': 'application/json',
      authorization: `Bearer ${apiKey}`,
      'x-service-timestamp': timestamp,
      'x-service-nonce': nonce,
      'x-service-signature': createHmac('sha256', apiSecret).update(`${timestamp}.${nonce}.${body}`).digest('hex'),
    };
    const answer = await this.#pool.request({ method, path, headers, ...(body !== '' && { body }) });
    const text = await answer.body.text();
    if (answer.statusCode !== 200)
      throw new Error(`${method} ${path} answered ${answer.statusCode}: ${text.slice(0, 300)}`);
    return JSON.parse(text) as Answer;
  }

  #flush(): void {
    for (const [at, payments] of this.#waiting.entries()) {
      if (payments.length === 0) continue;
      this.#chains[at]!.chain.child.send({ pay: payments });
      this.#waiting[at] = [];
    }
  }
}
