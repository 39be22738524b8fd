import { createClient, type CallOptions, type PaymentSession, type Quittance } from '@quittance/client';
import { asksFor, holdsItsMoney, isOver, isUnderWay, type Price } from '@quittance/client/shops';
import { verifyWebhook, type WebhookEvent } from '@quittance/client/webhooks';
import { amountOf } from './amounts.ts';
import { notAllowed, shown, ShopError } from './errors.ts';
import type {
  PaymentContainer,
  PaymentStatus,
  PricedInput,
  ProviderData,
  ProviderInput,
  ProviderOutput,
  RefundInput,
  SessionRow,
  StatusOutput,
  WebhookAction,
  WebhookPayload,
} from './medusa.ts';
import { checkCredentials, checkOptions, connectionOf, type QuittanceOptions } from './options.ts';
import { BuiltProviders } from './providers.ts';
import { Refunds } from './refunds.ts';
import { StoredPayments } from './rows.ts';
import { CollectionSessions, ownsSession, SOURCE, type SessionTerms } from './sessions.ts';

/** What is kept with a payment in Medusa; `url` is for the storefront. */
interface Kept {
  /** The payment session of Medusa. */
  readonly session_id: string;
  /** The payment session at the service. */
  readonly id: string;
  readonly url: string;
}

/** How long one operation may take altogether: a customer waits for it, or Medusa holds a lock. */
const CUSTOMER_MS = 10_000;
const ADMIN_MS = 20_000;
/** Medusa makes a payment session and deletes the one before it at the same time. */
const SUCCESSOR_LOOKS = 4;
const SUCCESSOR_WAIT_MS = 250;

/** Payments are captured as they are made: a payment on a blockchain cannot be authorised first and taken later. */
export class QuittancePaymentProvider {
  static readonly identifier = 'quittance';
  static readonly _isPaymentProvider = true;

  readonly quittance: Quittance;
  readonly sessions: CollectionSessions;
  readonly stored: StoredPayments;
  private readonly container: PaymentContainer;
  private readonly options: QuittanceOptions;
  private readonly refunds: Refunds;

  /** Wrong credentials stop Medusa at its start; a service that is away does not. */
  static async validateOptions(options: Partial<Record<string, unknown>>): Promise<void> {
    await checkCredentials(checkOptions(options));
  }

  constructor(container: PaymentContainer, options: QuittanceOptions) {
    this.options = options;
    this.container = container;
    this.quittance = createClient(connectionOf(options));
    this.stored = new StoredPayments(container);
    this.sessions = new CollectionSessions(this.quittance);
    this.refunds = new Refunds(this.quittance, this.stored);
    builtProviders.add(this);
  }

  getIdentifier(): string {
    return QuittancePaymentProvider.identifier;
  }

  /** Whether Medusa knows this provider by the id, such as `pp_quittance_main`. */
  isCalled(providerId: string): boolean {
    // Asking the container for what it does not have throws.
    return Object.hasOwn(this.container, providerId) && Reflect.get(this.container, providerId) === this;
  }

  /** Nothing is saved with the service; being asked makes Medusa build the provider. */
  listPaymentMethods(): Promise<[]> {
    return Promise.resolve([]);
  }

  async initiatePayment(input: PricedInput): Promise<StatusOutput & { id: string }> {
    const paymentSessionId = input.data?.['session_id'];
    if (typeof paymentSessionId !== 'string' || paymentSessionId === '')
      throw new ShopError('invalid_data', 'data.session_id is missing');
    const session = await this.begin(paymentSessionId, input);
    return { id: session.id, data: { ...keptOf(paymentSessionId, session) }, status: 'pending' };
  }

  async updatePayment(input: PricedInput): Promise<StatusOutput> {
    const { session_id: paymentSessionId } = keptIn(input.data);
    const session = await this.begin(paymentSessionId, input);
    return { data: { ...keptOf(paymentSessionId, session) }, status: statusOf(session) };
  }

  /** Captured only if what Medusa wants for the collection now is what was paid: a cart may have changed since. */
  authorizePayment({ data }: ProviderInput): Promise<StatusOutput> {
    return within(CUSTOMER_MS, async (call) => {
      const kept = keptIn(data);
      const { session, row } = await this.own(kept, call);
      const status = statusOf(session);
      if (status === 'captured') {
        const collection = await this.stored.collection(row.payment_collection_id);
        for (const stored of [row, collection])
          if (stored === undefined || !asksFor(session, priceOf(stored))) throw mismatch(session, stored);
      }
      return { data: { ...kept }, status };
    });
  }

  capturePayment({ data }: ProviderInput): Promise<ProviderOutput> {
    return within(CUSTOMER_MS, async (call) => {
      const kept = keptIn(data);
      const status = statusOf((await this.own(kept, call)).session);
      if (status !== 'captured') throw notAllowed(`payment session ${kept.id} is not paid (${status})`);
      return { data: { ...kept } };
    });
  }

  refundPayment({ amount, data, context }: RefundInput): Promise<ProviderOutput> {
    return within(ADMIN_MS, async (call) => {
      const kept = keptIn(data);
      const refundId = context?.idempotency_key;
      if (refundId === undefined || refundId === '')
        throw new ShopError('invalid_data', 'context.idempotency_key, the id of the refund, is missing');
      const session = await this.quittance.sessions.get(kept.id, call);
      await this.refunds.refund(session, amount, refundId, call);
      return { data: { ...kept } };
    });
  }

  /** Medusa cancels payments that it has not captured: money that is there or under way is never given up silently. */
  cancelPayment({ data }: ProviderInput): Promise<ProviderOutput> {
    return within(CUSTOMER_MS, async (call) => {
      const kept = keptIn(data);
      const session = await this.quittance.sessions.get(kept.id, call);
      if (isUnderWay(session)) throw hasMoney(session);
      if (!isOver(session) && isUnderWay(await this.sessions.close(session, call))) throw hasMoney(session);
      return { data: { ...kept } };
    });
  }

  /**
   * Medusa drops its payment session: the checkout was opened again, the cart changed, or it is paid another way. The
   * session at the service belongs to the collection and stays, since the payer has seen its address; the next one, or
   * the comparing job, closes it if it is not needed any more. Only money under way keeps Medusa's session, unless
   * another one took its place.
   */
  deletePayment({ data }: ProviderInput): Promise<ProviderOutput> {
    return within(CUSTOMER_MS, async (call) => {
      const kept = keptIn(data);
      const session = await this.quittance.sessions.get(kept.id, call);
      if (isUnderWay(session) && !(await this.hasSuccessor(kept, session))) throw hasMoney(session);
      return { data: { ...kept } };
    });
  }

  getPaymentStatus({ data }: ProviderInput): Promise<StatusOutput> {
    return within(CUSTOMER_MS, async (call) => {
      const kept = keptIn(data);
      return { data: { ...kept }, status: statusOf((await this.own(kept, call)).session) };
    });
  }

  retrievePayment({ data }: ProviderInput): Promise<ProviderOutput> {
    return within(CUSTOMER_MS, async (call) => {
      const kept = keptIn(data);
      return { data: { ...kept, session: await this.quittance.sessions.get(kept.id, call) } };
    });
  }

  /**
   * A genuine event is a reason to look; what Medusa is told is what the service answers. How old it is was checked
   * when it was received: it may have waited in a queue since.
   */
  getWebhookActionAndData({ rawData, headers }: WebhookPayload): Promise<WebhookAction> {
    return within(CUSTOMER_MS, async (call) => {
      const event = await this.verified(rawData, headers, { atItsOwnTime: true });
      const { session_id: told } = event.data.object as { readonly session_id?: unknown };
      const action = ACTIONS[event.type];
      if (action === undefined || typeof told !== 'string') return NOTHING;
      const session = await this.quittance.sessions.get(told, call);
      const row = await this.rowOf(session);
      if (row === undefined) return NOTHING;
      const isPaid = statusOf(session) === 'captured';
      // What was paid and went back is over.
      if (action === 'authorized' && session.payment_status === 'paid' && !isPaid) return NOTHING;
      if (action === 'authorized' && !isPaid)
        throw new ShopError('unexpected_state', `payment session ${session.id} does not show as paid`);
      // What is told last may have happened first.
      if (action !== 'authorized' && isPaid) return NOTHING;
      return { action, data: { session_id: row.id, amount: session.amount_total } };
    });
  }

  /** The event of a message; rejects when it is not genuine, or older than five minutes unless that was checked. */
  verified(
    rawData: string | Uint8Array,
    headers: Readonly<Record<string, unknown>>,
    { atItsOwnTime }: { readonly atItsOwnTime: boolean },
  ): Promise<WebhookEvent> {
    const { webhookSecret: secret, headerPrefix = 'X-Service-' } = this.options;
    const given: Record<string, string> = {};
    for (const [name, value] of Object.entries(headers))
      if (typeof value === 'string') given[name.toLowerCase()] = value;
    const writtenSec = Number(given[`${headerPrefix}Timestamp`.toLowerCase()]);
    return verifyWebhook(rawData, given, {
      secret,
      headerPrefix,
      ...(atItsOwnTime ? { nowSec: () => writtenSec } : undefined),
    });
  }

  /** The payment session of Medusa that a session of the service is paid with; none once another took its place. */
  async rowOf(session: PaymentSession): Promise<SessionRow | undefined> {
    const { source, payment_collection: collectionId } = session.metadata;
    if (source !== SOURCE || collectionId === undefined) return undefined;
    const rows = await this.stored.sessionsOf(collectionId);
    return rows.find(({ provider_id: id, data }) => this.isCalled(id) && data?.['id'] === session.id);
  }

  private begin(paymentSessionId: string, { amount, currency_code }: PricedInput): Promise<PaymentSession> {
    return within(CUSTOMER_MS, async (call) => {
      const row = await this.stored.session(paymentSessionId);
      if (row === undefined) throw new ShopError('not_found', `payment session ${paymentSessionId} is not stored`);
      const price = priceOf({ amount, currency_code });
      return this.sessions.usable(row.payment_collection_id, price, this.termsFor(paymentSessionId), call);
    });
  }

  private termsFor(paymentSessionId: string): SessionTerms {
    const { successUrl, cancelUrl, expiresIn, merchantDomainId } = this.options;
    const filled = (url: string): string =>
      url.replaceAll('{payment_session_id}', encodeURIComponent(paymentSessionId));
    return {
      ...(successUrl === undefined ? undefined : { success_url: filled(successUrl) }),
      ...(cancelUrl === undefined ? undefined : { cancel_url: filled(cancelUrl) }),
      ...(expiresIn === undefined ? undefined : { expires_in: expiresIn }),
      ...(merchantDomainId === undefined ? undefined : { merchant_domain_id: merchantDomainId }),
    };
  }

  /** The session as the service shows it, of the collection that Medusa's payment session belongs to now. */
  private async own(kept: Kept, call: CallOptions): Promise<{ session: PaymentSession; row: SessionRow }> {
    const session = await this.quittance.sessions.get(kept.id, call);
    const row = await this.stored.session(kept.session_id);
    if (row === undefined || !ownsSession(row.payment_collection_id, session))
      throw notAllowed(`payment session ${kept.id} was not made for ${kept.session_id}`);
    return { session, row };
  }

  /** Medusa's new payment session, of the same price, may be stored a moment after the old one is to be deleted. */
  private async hasSuccessor({ session_id }: Kept, session: PaymentSession): Promise<boolean> {
    const row = await this.stored.session(session_id);
    if (row === undefined) return false;
    for (let looks = 0; looks < SUCCESSOR_LOOKS; looks += 1) {
      if (looks > 0) await new Promise((wait) => setTimeout(wait, SUCCESSOR_WAIT_MS));
      const rows = await this.stored.sessionsOf(row.payment_collection_id);
      const others = rows.filter(({ id, provider_id }) => id !== session_id && this.isCalled(provider_id));
      if (others.some((other) => asksFor(session, priceOf(other)))) return true;
    }
    return false;
  }
}

const NOTHING: WebhookAction = { action: 'not_supported' };

/**
 * `authorized` makes Medusa complete the cart, whose last step asks `authorizePayment`: told `captured`, it would take
 * the money before it knows whether there are goods for it.
 */
const ACTIONS: Readonly<Partial<Record<string, WebhookAction['action']>>> = {
  'payment.completed': 'authorized',
  'payment.restored': 'authorized',
  'payment.processing': 'pending',
  'payment.partially_paid': 'pending',
  'payment.expired': 'failed',
  'payment.failed': 'failed',
  'payment.cancelled': 'canceled',
};

/** With a time limit for everything that is asked of the service, and errors that Medusa shows. */
async function within<Result>(ms: number, work: (call: CallOptions) => Promise<Result>): Promise<Result> {
  try {
    return await work({ signal: AbortSignal.timeout(ms) });
  } catch (error) {
    throw shown(error);
  }
}

/** Money that left the blockchain again pays nothing; what went back to the payer does not either. */
function statusOf(session: PaymentSession): PaymentStatus {
  if (holdsItsMoney(session)) return 'captured';
  if (session.status === 'cancelled') return 'canceled';
  return isOver(session) ? 'error' : 'pending';
}

export const priceOf = ({ amount, currency_code: currency }: Pick<PricedInput, 'amount' | 'currency_code'>): Price => ({
  amount: amountOf(amount, currency),
  currency,
});

const shownPrice = ({ amount, currency }: Price): string => `${amount} ${currency.toUpperCase()}`;

export function mismatch(session: PaymentSession, now: Pick<PricedInput, 'amount' | 'currency_code'> | undefined) {
  const paid = shownPrice({ amount: session.amount_total, currency: session.currency });
  return new ShopError(
    'payment_authorization_error',
    now === undefined
      ? `the payment collection of payment session ${session.id} is not stored any more`
      : `paid ${paid}, but the cart costs ${shownPrice(priceOf(now))} by now`,
  );
}

const hasMoney = ({ id }: PaymentSession): ShopError =>
  notAllowed(`payment session ${id} has money or is being paid, so it is neither cancelled nor replaced`);

function keptOf(paymentSessionId: string, { id, url }: PaymentSession): Kept {
  return { session_id: paymentSessionId, id, url };
}

function keptIn(data: ProviderData | undefined): Kept {
  const { session_id, id, url } = data ?? {};
  if (typeof session_id !== 'string' || typeof id !== 'string')
    throw new ShopError('invalid_data', 'the payment has no session at the service (data.id, data.session_id)');
  return { session_id, id, url: typeof url === 'string' ? url : '' };
}

export const builtProviders = new BuiltProviders<QuittancePaymentProvider>();
