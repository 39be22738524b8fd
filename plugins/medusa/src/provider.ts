import { createClient, type CreateSession, type PaymentSession, type Quittance } from '@quittance/client';
import { ApiError } from '@quittance/client/errors';
import { verifyWebhook } from '@quittance/client/webhooks';
import { amountOf } from './amounts.ts';
import type {
  Logger,
  PaymentStatus,
  PricedInput,
  ProviderData,
  ProviderInput,
  RefundInput,
  WebhookAction,
  WebhookPayload,
} from './medusa.ts';
import { checkOptions, type QuittanceOptions } from './options.ts';

/** What is kept with a payment in Medusa; `url` is for the storefront. */
interface Kept {
  /** The payment session of Medusa; the `order_id` at the service. */
  readonly session_id: string;
  /** The payment session at the service. */
  readonly id: string;
  readonly url: string;
  readonly currency: string;
  /** Ids of the refunds that Medusa knows. */
  readonly refunds: readonly string[];
}

const OVER: ReadonlySet<PaymentSession['status']> = new Set(['expired', 'failed', 'cancelled']);

/** Payments are captured as they are made: a payment on a blockchain cannot be authorised first and taken later. */
export class QuittancePaymentProvider {
  static readonly identifier = 'quittance';
  static readonly _isPaymentProvider = true;
  static validateOptions = checkOptions;

  private readonly quittance: Quittance;
  private readonly options: QuittanceOptions;
  private readonly logger: Logger | undefined;

  constructor(container: { readonly logger?: Logger }, options: QuittanceOptions) {
    this.options = options;
    this.logger = container.logger;
    const { baseUrl, apiKey, apiSecret, headerPrefix } = options;
    this.quittance = createClient({
      baseUrl,
      apiKey,
      apiSecret,
      ...(headerPrefix === undefined ? undefined : { headerPrefix }),
    });
  }

  getIdentifier(): string {
    return QuittancePaymentProvider.identifier;
  }

  async initiatePayment({
    amount,
    currency_code,
    data,
  }: PricedInput): Promise<{ id: string; data: ProviderData; status: PaymentStatus }> {
    const paymentSessionId = data?.session_id;
    if (typeof paymentSessionId !== 'string' || paymentSessionId === '')
      throw new TypeError('quittance: data.session_id is missing');
    const session = await this.create(
      this.sessionFor(paymentSessionId, amountOf(amount, currency_code), currency_code),
    );
    return { id: session.id, data: { ...keptOf(session, []) }, status: 'pending' };
  }

  /** A session asks for one amount for good: another amount is another session, and the old one is closed first. */
  async updatePayment({
    amount,
    currency_code,
    data,
  }: PricedInput): Promise<{ data: ProviderData; status: PaymentStatus }> {
    const kept = keptIn(data);
    const session = await this.quittance.sessions.get(kept.id);
    const asked = amountOf(amount, currency_code);
    if (session.payment_status === 'paid' || hasMoney(session)) {
      if (isFor(session, asked, currency_code)) return { data: { ...kept }, status: statusOf(session) };
      throw fixedAmount(session);
    }
    const next = await this.usable(session, this.sessionFor(kept.session_id, asked, currency_code));
    return { data: { ...keptOf(next, kept.refunds) }, status: 'pending' };
  }

  async authorizePayment({ data }: ProviderInput): Promise<{ data: ProviderData; status: PaymentStatus }> {
    const kept = keptIn(data);
    return { data: { ...kept }, status: statusOf(await this.ownSession(kept)) };
  }

  async capturePayment({ data }: ProviderInput): Promise<{ data: ProviderData }> {
    const kept = keptIn(data);
    const status = statusOf(await this.ownSession(kept));
    if (status !== 'captured') throw new Error(`quittance: payment session ${kept.id} is not paid (${status})`);
    return { data: { ...kept } };
  }

  /** The key stays the same until Medusa knows the refund, so a repeated request never pays twice. */
  async refundPayment({ amount, data }: RefundInput): Promise<{ data: ProviderData }> {
    const kept = keptIn(data);
    const value = amountOf(amount, kept.currency);
    const currency = kept.currency.toUpperCase();
    const number = kept.refunds.length + 1;
    const prefix = `Medusa: refund ${number}, `;
    const reason = `${prefix}${value} ${currency}`;
    const { data: made } = await this.quittance.refunds.page({ session_id: kept.id, page_size: 100 });
    const unknown = made.find((one) => one.reason?.startsWith(prefix) && one.reason !== reason);
    if (unknown !== undefined)
      throw new Error(
        `quittance: ${unknown.reason} was accepted (${unknown.id}), though no answer came; refund that amount again first: it is never paid twice`,
      );
    const refund = await this.quittance.refunds.create(
      { session_id: kept.id, amount: { value, currency }, reason },
      { idempotencyKey: `medusa-${kept.id}-${number}-${value}` },
    );
    return { data: { ...kept, refunds: [...kept.refunds, refund.id] } };
  }

  async cancelPayment({ data }: ProviderInput): Promise<{ data: ProviderData }> {
    const kept = keptIn(data);
    await this.close(kept);
    return { data: { ...kept } };
  }

  async deletePayment(input: ProviderInput): Promise<{ data: ProviderData }> {
    return this.cancelPayment(input);
  }

  async getPaymentStatus(input: ProviderInput): Promise<{ data: ProviderData; status: PaymentStatus }> {
    return this.authorizePayment(input);
  }

  async retrievePayment({ data }: ProviderInput): Promise<{ data: ProviderData }> {
    const kept = keptIn(data);
    return { data: { ...kept, session: await this.ownSession(kept) } };
  }

  /** A genuine event says when to look; what Medusa is told is what the service answers. */
  async getWebhookActionAndData({ rawData, headers }: WebhookPayload): Promise<WebhookAction> {
    const { webhookSecret: secret, headerPrefix } = this.options;
    const given = headers as Readonly<Record<string, string | readonly string[] | undefined>>;
    const event = await verifyWebhook(rawData, given, {
      secret,
      ...(headerPrefix === undefined ? undefined : { headerPrefix }),
    });
    if (event.type === 'refund.failed')
      this.logger?.warn(`quittance: refund ${event.data.object.refund_id} failed; Medusa shows it as made`);
    if (event.type === 'payment.reversed')
      this.logger?.warn(`quittance: the payment of ${event.data.object.order_id} left the blockchain again`);
    const action = ACTIONS[event.type];
    const { session_id: told } = event.data.object as { readonly session_id?: unknown };
    if (action === undefined || typeof told !== 'string') return { action: 'not_supported' };
    const session = await this.quittance.sessions.get(told);
    if (session.metadata.source !== SOURCE || session.superseded_by !== undefined) return { action: 'not_supported' };
    if (action === 'captured' && statusOf(session) !== 'captured')
      throw new Error(`quittance: payment session ${session.id} does not show as paid yet`);
    // What is told last may have happened first.
    if (action !== 'captured' && statusOf(session) === 'captured') return { action: 'not_supported' };
    return { action, data: { session_id: session.order_id, amount: session.amount_total } };
  }

  /** A new session, or what follows from the newest one, when the answers of earlier ones got lost. */
  private async create(asked: CreateSession): Promise<PaymentSession> {
    try {
      return await this.quittance.sessions.create(asked);
    } catch (error) {
      if (!isError(error, 'session_expired', 'order_id_conflict')) throw error;
      const { data: attempts } = await this.quittance.sessions.page({ order_id: asked.order_id, page_size: 1 });
      const newest = attempts[0];
      if (newest === undefined || newest.id === asked.supersedes) throw error;
      return this.usable(newest, asked);
    }
  }

  /** The session given, or one that takes its place: because it is over, or asks for something else. */
  private async usable(session: PaymentSession, asked: CreateSession): Promise<PaymentSession> {
    if (session.payment_status === 'paid' || !OVER.has(session.status)) {
      if (isFor(session, asked.amount, asked.currency)) return session;
      if (session.payment_status === 'paid' || hasMoney(session)) throw fixedAmount(session);
      await this.cancel(session);
    }
    return this.create({ ...asked, supersedes: session.id });
  }

  /** One that ended by itself meanwhile needs no cancelling. */
  private async cancel({ id }: PaymentSession): Promise<void> {
    await this.quittance.sessions.cancel(id).catch((error: unknown) => {
      if (!isError(error, 'session_expired')) throw error;
    });
  }

  private sessionFor(paymentSessionId: string, amount: string, currency: string): CreateSession {
    const { successUrl, cancelUrl, expiresIn, merchantDomainId } = this.options;
    const filled = (url: string): string =>
      url.replaceAll('{payment_session_id}', encodeURIComponent(paymentSessionId));
    return {
      amount,
      currency: currency.toUpperCase(),
      order_id: paymentSessionId,
      metadata: { source: SOURCE },
      ...(successUrl === undefined ? undefined : { success_url: filled(successUrl) }),
      ...(cancelUrl === undefined ? undefined : { cancel_url: filled(cancelUrl) }),
      ...(expiresIn === undefined ? undefined : { expires_in: expiresIn }),
      ...(merchantDomainId === undefined ? undefined : { merchant_domain_id: merchantDomainId }),
    };
  }

  private async ownSession(kept: Kept): Promise<PaymentSession> {
    const session = await this.quittance.sessions.get(kept.id);
    if (session.order_id !== kept.session_id)
      throw new Error(`quittance: payment session ${kept.id} was not made for ${kept.session_id}`);
    return session;
  }

  private async close(kept: Kept): Promise<void> {
    const session = await this.ownSession(kept);
    if (session.payment_status === 'paid' || hasMoney(session))
      throw new Error(`quittance: payment session ${kept.id} has money, so it is refunded and not cancelled`);
    if (!OVER.has(session.status)) await this.cancel(session);
  }
}

const SOURCE = 'medusa';

const ACTIONS: Readonly<Partial<Record<string, WebhookAction['action']>>> = {
  'payment.completed': 'captured',
  'payment.processing': 'pending',
  'payment.partially_paid': 'pending',
  'payment.expired': 'failed',
  'payment.failed': 'failed',
  'payment.cancelled': 'canceled',
};

/** Money that left the blockchain again pays nothing. */
function statusOf(session: PaymentSession): PaymentStatus {
  if (session.payment_status === 'paid') return session.reversed ? 'pending' : 'captured';
  if (session.status === 'cancelled') return 'canceled';
  return OVER.has(session.status) ? 'error' : 'pending';
}

const isError = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof ApiError && codes.includes(error.code);

const fixedAmount = ({ id }: PaymentSession): Error =>
  new Error(`quittance: payment session ${id} has money already, so its amount cannot change any more`);

function hasMoney({ status, received, pending }: PaymentSession): boolean {
  return status === 'processing' || Number(received) > 0 || Number(pending) > 0;
}

function isFor(session: PaymentSession, amount: string, currency: string): boolean {
  return Number(session.amount_total) === Number(amount) && session.currency === currency.toLowerCase();
}

function keptOf(session: PaymentSession, refunds: readonly string[]): Kept {
  return { session_id: session.order_id, id: session.id, url: session.url, currency: session.currency, refunds };
}

function keptIn(data: ProviderData | undefined): Kept {
  const { session_id, id, url, currency, refunds } = data ?? {};
  if (typeof session_id !== 'string' || typeof id !== 'string' || typeof currency !== 'string')
    throw new TypeError(
      'quittance: the payment has no session at the service (data.id, data.session_id, data.currency)',
    );
  const known = Array.isArray(refunds) ? refunds.filter((one): one is string => typeof one === 'string') : [];
  return { session_id, id, url: typeof url === 'string' ? url : '', currency, refunds: known };
}

/** What `ModuleProvider(Modules.PAYMENT, ...)` makes, without a dependency on Medusa. */
// oxlint-disable-next-line import/no-default-export -- Medusa loads the default export.
export default { module: 'payment', services: [QuittancePaymentProvider] };
