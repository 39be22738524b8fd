import { signedCall } from '../support/running-sandbox.ts';
import type { SoakReceiver } from './receiver.ts';

const NETWORKS = ['ethereum', 'bsc', 'tron', 'solana'] as const;

/** Every so many paid orders one is refunded, and every so many orders one is paid in part only and left to expire. */
const [REFUND_EVERY, PART_EVERY] = [8, 11];
/** Payments that wait for their notice at most: beyond that the load is held back, which is counted. */
const MAX_WAITING = 200;

export interface SoakMerchant {
  readonly api_key: string;
  readonly api_secret: string;
}

interface Waiting {
  readonly session: string;
  readonly paidAt: number;
  readonly isRefunded: boolean;
}

export interface Taken {
  readonly createMs: readonly number[];
  /** From the answer of the payer's wallet to the notice that the payment is final. */
  readonly paidMs: readonly number[];
  readonly heldBack: number;
  readonly faults: readonly string[];
}

/** A merchant under steady load: orders, payments on all networks, refunds. Shares no code with the service. */
export class SoakShop {
  readonly #baseUrl: string;
  readonly #merchant: SoakMerchant;
  readonly #receiver: SoakReceiver;
  #orders = 0;
  #createMs: number[] = [];
  #paidMs: number[] = [];
  #heldBack = 0;
  #faults: string[] = [];
  readonly #waiting = new Map<string, Waiting>();
  readonly #underWay = new Set<Promise<void>>();
  /** Sessions that were paid in full and told so. */
  completed = 0;
  refunds = 0;

  constructor(baseUrl: string, merchant: SoakMerchant, receiver: SoakReceiver) {
    this.#baseUrl = baseUrl;
    this.#merchant = merchant;
    this.#receiver = receiver;
  }

  get orders(): number {
    return this.#orders;
  }

  get waiting(): readonly string[] {
    return [...this.#waiting.keys()];
  }

  /** Begins one more order, unless too many wait already. */
  order(): void {
    if (this.#waiting.size + this.#underWay.size >= MAX_WAITING) {
      this.#heldBack += 1;
      return;
    }
    const run = this.#order().catch((error: unknown) => void this.#faults.push(String(error)));
    this.#underWay.add(run);
    void run.finally(() => this.#underWay.delete(run));
  }

  async #order(): Promise<void> {
    const number = (this.#orders += 1);
    const startedAt = performance.now();
    const { id } = await this.#call('POST', '/api/v1/checkout/sessions/create', {
      amount: '10.00',
      currency: 'USDT',
      order_id: `soak-${number}`,
    });
    this.#createMs.push(performance.now() - startedAt);
    const isPart = number % PART_EVERY === 0;
    const network = NETWORKS[number % NETWORKS.length]!;
    await this.#call('POST', `/v1/sandbox/sessions/${String(id)}/pay`, { network, case: isPart ? 'partial' : 'exact' });
    if (isPart) return;
    this.#waiting.set(String(id), {
      session: String(id),
      paidAt: performance.now(),
      isRefunded: number % REFUND_EVERY === 0,
    });
  }

  /** Looks which of the waiting payments were told of. */
  look(): void {
    for (const { session, paidAt, isRefunded } of this.#waiting.values()) {
      const toldAt = this.#receiver.completedAt(session);
      if (toldAt === null) continue;
      this.#waiting.delete(session);
      this.#paidMs.push(Math.max(0, toldAt - paidAt));
      this.completed += 1;
      if (isRefunded) void this.#refund(session);
    }
  }

  async #refund(session: string): Promise<void> {
    this.refunds += 1;
    const body = { session_id: session, amount: { value: '10.00', currency: 'USDT' } };
    await this.#call('POST', '/v1/refunds', body).catch((error: unknown) => void this.#faults.push(String(error)));
  }

  async openRefunds(): Promise<number> {
    const { data } = await this.#call('GET', '/v1/refunds?status=PROCESSING&page_size=1');
    const { data: pending } = await this.#call('GET', '/v1/refunds?status=PENDING&page_size=1');
    return [data, pending].reduce<number>((count, found) => count + (found as unknown[]).length, 0);
  }

  /** What was measured since it was asked last. */
  take(): Taken {
    const taken = { createMs: this.#createMs, paidMs: this.#paidMs, heldBack: this.#heldBack, faults: this.#faults };
    [this.#createMs, this.#paidMs, this.#heldBack, this.#faults] = [[], [], 0, []];
    return taken;
  }

  async #call(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const { status, json } = await signedCall(this.#baseUrl, this.#merchant, method, path, body);
    if (status !== 200)
      throw new Error(
        `${method} ${path.split('?')[0]!.replace(/cs_\w+/, '{id}')} was answered ${status} ${json.error?.code ?? ''}`,
      );
    return json;
  }
}
