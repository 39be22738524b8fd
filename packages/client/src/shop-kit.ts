import {
  COIN,
  left,
  made,
  onTime,
  sessionFields,
  shown,
  units,
  written,
  type Held,
  type Session,
} from './shop-kit-money.ts';
import type * as wire from './wire.ts';

/*
 * A model of the service for the tests of shop plugins: it answers the requests of this client and does to payments
 * what the service does. One unit of any currency is one USDT. What a payer and the network do is called by the test.
 */

type Refund = wire.Refund;

/** `away`: no answer, nothing done; `lose`: done, and no answer; both are what a shop cannot tell apart. */
export type ServiceFault = 'none' | 'away' | 'lose';

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Readonly<Record<string, unknown>>;
  readonly key: string | null;
}

class Refused extends Error {
  readonly status: number;
  readonly code: string;
  readonly param: string | undefined;

  constructor(status: number, code: string, message: string, param?: string) {
    super(message);
    this.status = status;
    this.code = code;
    this.param = param;
  }
}

export class ModelService {
  fault: ServiceFault = 'none';
  nowSec = Math.floor(Date.now() / 1000);
  /** Called for everything that the service would tell the shop. */
  onEvent: (event: { readonly type: string; readonly object: Readonly<Record<string, unknown>> }) => void = () => {};
  readonly #held = new Map<string, Held>();
  readonly #refunds = new Map<string, Refund>();
  readonly #keys = new Map<string, { readonly body: string; readonly refund: Refund }>();

  /** For `createClient`, or in the place of the global one. */
  readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
    await Promise.resolve();
    if (this.fault === 'away') throw new TypeError('fetch failed');
    const answer = this.#answered(url, init);
    if (this.fault === 'lose') throw new TypeError('fetch failed');
    return answer;
  };

  sessions(): Session[] {
    return [...this.#held.values()].map((held) => shown(held));
  }

  session(id: string): Session {
    return shown(this.#of(id));
  }

  refunds(): Refund[] {
    return [...this.#refunds.values()];
  }

  /** Money of a payer, seen and not final. `contract`: an address to which a refund may be lost. */
  pay(id: string, amount: string, sender: 'wallet' | 'contract' = 'wallet'): void {
    const held = this.#of(id);
    const isOpen = held.session.status === 'open' || held.session.status === 'processing';
    const isMore = held.session.status === 'paid';
    held.deposits.push({
      transaction_id: `tx_${id}_${held.deposits.length + 1}`,
      network: 'tron',
      coin: COIN,
      amount,
      status: 'detected',
      kind: isOpen || isMore ? 'on_time' : 'late',
      from_address: `payer-${sender}`,
      sender: { kind: sender } as wire.Sender,
      to_address: `address-${id}`,
      tx_hash: `hash-${id}-${held.deposits.length + 1}`,
      log_index: 0,
      block_number: 1,
      block_time: this.nowSec,
      explorer_url: null,
      refundable: '0.00',
    });
    if (isOpen) {
      held.session = { ...held.session, status: 'processing' };
      this.#tell('payment.processing', held);
    }
  }

  /** What is on its way becomes final. */
  confirm(id: string): void {
    const held = this.#of(id);
    const isOpen = held.session.status === 'processing' || held.session.status === 'open';
    let isNews = false;
    held.deposits = held.deposits.map((one) => {
      if (one.status !== 'detected') return one;
      isNews = true;
      // A cancel while money is on its way leaves it final, and it pays nothing.
      const kind = isOpen || held.session.status === 'paid' ? one.kind : 'late';
      return { ...one, status: 'final', kind };
    });
    if (!isNews) return;
    if (!isOpen) {
      this.#tell(held.session.status === 'paid' ? 'payment.overpaid' : 'payment.late', held);
      return;
    }
    const isEnough = onTime(held) >= units(held.session.amount_total);
    held.session = isEnough
      ? { ...held.session, status: 'paid', payment_status: 'paid', paid_at: this.nowSec }
      : { ...held.session, status: 'open' };
    this.#tell(isEnough ? 'payment.completed' : 'payment.partially_paid', held);
  }

  /** The time of a session is over. What is on its way came in time, and decides first. */
  expire(id: string): void {
    const held = this.#of(id);
    if (held.session.status !== 'open') return;
    held.session = { ...held.session, status: 'expired', expires_at: this.nowSec };
    this.#tell('payment.expired', held);
  }

  /** Final money leaves the chain again, or comes back. */
  reverse(id: string, reversed: boolean): void {
    const held = this.#of(id);
    if (held.session.payment_status !== 'paid' || held.session.reversed === reversed) return;
    held.session = { ...held.session, reversed };
    this.#tell(reversed ? 'payment.reversed' : 'payment.restored', held);
  }

  /** A refund that was accepted cannot be paid out. */
  failRefund(id: string): void {
    const refund = this.#refunds.get(id);
    if (refund === undefined) throw new Error(`no refund ${id}`);
    const held = this.#of(refund.session_id);
    held.taken.delete(id);
    this.#refunds.set(id, { ...refund, status: 'FAILED', failure_reason: 'payee_frozen', amount_returned: '0.00' });
    this.#tell('refund.failed', held, { refund_id: id });
  }

  #answered(url: string, init: RequestInit): Response {
    const { pathname: path, searchParams: query } = new URL(url);
    const body = typeof init.body === 'string' ? (JSON.parse(init.body) as Record<string, unknown>) : {};
    const key = new Headers(init.headers).get('Idempotency-Key');
    const json = (status: number, answer: unknown): Response =>
      new Response(JSON.stringify(answer), { status, headers: { 'Content-Type': 'application/json' } });
    try {
      return json(200, this.#answer({ method: init.method ?? 'GET', path, query, body, key }));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const { status, code, message, param } = error;
      return json(status, { error: { code, message, param, request_id: 'req_model', doc_url: '' } });
    }
  }

  #answer(asked: Asked): unknown {
    const { method, path, query, body } = asked;
    const list = (data: unknown[]): unknown => ({
      data,
      pagination: { page: 1, page_size: 100, total: data.length, has_more: false },
    });
    if (path === '/v1/merchant') return { id: 'mer_model' };
    if (path === '/v1/payment/sessions') return list(this.#listed(query));
    if (path === '/v1/refunds' && method === 'GET')
      return list(
        this.refunds()
          .filter((one) => one.session_id === query.get('session_id'))
          .toReversed(),
      );
    if (path === '/v1/refunds') return this.#refund(asked);
    if (path === '/api/v1/checkout/sessions/create') return this.#create(body);
    const [, id = '', action] = /\/sessions\/([^/]+)(?:\/(cancel))?$/.exec(path) ?? [];
    return action === 'cancel' ? this.#cancel(id) : this.session(id);
  }

  #listed(query: URLSearchParams): Session[] {
    const orderId = query.get('order_id');
    const status = query.get('status');
    const wanted = [...query].flatMap(([name, value]) => {
      const key = /^metadata\[(.+)\]$/.exec(name)?.[1];
      return key === undefined ? [] : [[key, value] as const];
    });
    return this.sessions()
      .filter((one) => orderId === null || one.order_id === orderId)
      .filter((one) => status === null || one.status === status)
      .filter(({ metadata }) => wanted.every(([key, value]) => metadata[key] === value))
      .toReversed();
  }

  #create(body: Readonly<Record<string, unknown>>): Session {
    const asked = body as unknown as wire.CreatePaymentSession;
    const same = [...this.#held.values()].find(
      ({ session }) => session.order_id === asked.order_id && session.supersedes === asked.supersedes,
    );
    if (same !== undefined) {
      if (['expired', 'failed', 'cancelled'].includes(same.session.status))
        throw new Refused(400, 'session_expired', 'the session of this order has ended', 'order_id');
      if (JSON.stringify(same.session) === JSON.stringify({ ...same.session, ...sessionFields(asked) }))
        return shown(same);
      throw new Refused(409, 'order_id_conflict', 'the order id was used for another request', 'order_id');
    }
    if (asked.supersedes !== undefined) this.#supersede(asked, asked.supersedes);
    const id = `cs_${this.#held.size + 1}`;
    this.#held.set(id, made(id, asked, this.nowSec));
    return this.session(id);
  }

  #supersede(asked: wire.CreatePaymentSession, id: string): void {
    const { session } = this.#of(id);
    if (session.order_id !== asked.order_id)
      throw new Refused(400, 'invalid_request', 'supersedes belongs to another order', 'supersedes');
    if (session.status === 'paid') throw new Refused(409, 'conflict', 'the session is paid', 'supersedes');
    if (session.status === 'open' || session.status === 'processing')
      throw new Refused(409, 'conflict', 'the session can still be paid', 'supersedes');
  }

  #cancel(id: string): Session {
    const held = this.#of(id);
    if (held.session.status === 'paid') throw new Refused(400, 'session_already_paid', 'the session is paid');
    if (held.session.status !== 'open' && held.session.status !== 'processing')
      throw new Refused(400, 'session_expired', 'the session has ended');
    held.session = { ...held.session, status: 'cancelled', expires_at: this.nowSec };
    this.#tell('payment.cancelled', held);
    return shown(held);
  }

  #refund({ body, key }: Asked): Refund {
    const asked = body as unknown as wire.CreateRefund;
    const text = JSON.stringify(body);
    const before = key === null ? undefined : this.#keys.get(key);
    if (before !== undefined) {
      if (before.body === text) return this.#refunds.get(before.refund.id) ?? before.refund;
      throw new Refused(409, 'idempotency_conflict', 'the key was used for another request', 'Idempotency-Key');
    }
    const held = this.#of(asked.session_id);
    const from = held.deposits
      .filter(({ transaction_id: id }) => asked.transaction_id === undefined || id === asked.transaction_id)
      .map((deposit) => ({ deposit, free: left(held, deposit) }))
      .filter(({ free }) => free > 0n)
      .toSorted((a, b) => Number(a.deposit.kind !== 'on_time') - Number(b.deposit.kind !== 'on_time'));
    const all = from.reduce((sum, { free }) => sum + free, 0n);
    const wanted = asked.amount === undefined ? all : units(asked.amount.value);
    if (wanted === 0n || wanted > all)
      throw new Refused(400, 'refund_exceeds_balance', `at most ${written(all)} can be refunded`, 'amount');
    const taken = new Map<string, bigint>();
    let missing = wanted;
    for (const { deposit, free } of from) {
      const part = free < missing ? free : missing;
      if (part === 0n) continue;
      if (deposit.sender?.kind !== 'wallet' && asked.acknowledge_sender !== true)
        throw new Refused(
          400,
          'sender_not_acknowledged',
          `${deposit.from_address} is a contract`,
          'acknowledge_sender',
        );
      taken.set(deposit.transaction_id, part);
      missing -= part;
    }
    const refund = this.#accepted(held, asked, written(wanted));
    held.taken.set(refund.id, taken);
    if (key !== null) this.#keys.set(key, { body: text, refund });
    this.#tell('refund.succeeded', held, { refund_id: refund.id });
    return refund;
  }

  #accepted({ session }: Held, asked: wire.CreateRefund, value: string): Refund {
    const refund: Refund = {
      id: `re_${this.#refunds.size + 1}`,
      session_id: session.id,
      order_id: session.order_id,
      amount: { value, currency: COIN },
      amount_returned: value,
      type: 'partial',
      status: 'COMPLETED',
      reason: asked.reason ?? null,
      network: 'tron',
      to_address: 'payer',
      tx_hash: 'hash',
      network_fee: '0.00',
      payouts: [],
      created: this.nowSec,
      updated: this.nowSec,
      failure_reason: null,
    };
    this.#refunds.set(refund.id, refund);
    return refund;
  }

  #of(id: string): Held {
    const held = this.#held.get(id);
    if (held === undefined) throw new Refused(404, 'not_found', `no session ${id}`);
    return held;
  }

  #tell(type: string, { session }: Held, more: object = {}): void {
    this.onEvent({ type, object: { session_id: session.id, order_id: session.order_id, ...more } });
  }
}
