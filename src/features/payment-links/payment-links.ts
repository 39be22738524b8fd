import { base32, parsePaymentLinkId, type ApiKeyId, type PaymentLinkId, type SessionId } from '../../domain/ids.ts';
import type { PaymentLinkTerms } from '../../domain/events/payment-link-events.ts';
import { paymentLinkStream } from '../../domain/streams.ts';
import { linksOfMerchant, PAYMENT_LINKS_TABLE } from '../../../projections/payment-links/payment-links.projection.ts';
import { linkStatus, numberOf, type EndedUse, type LinkStatus } from '../../../state-machines/payment-link/payment-link.decider.ts';
import { afterUse, type PaymentLinkContext } from '../../../state-machines/payment-link/payment-link.machine.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import type { Rates } from '../../ports/rates.ts';
import type { ReadModel } from '../../ports/read-model.ts';
import { isCoin } from '../../domain/money.ts';
import type { PaymentLinkHandler } from '../shared/handlers/payment-link-handler.ts';
import type { Caller, MerchantApi, Outcome, ShopFacts } from '../shared/merchant-api.ts';
import type { Sessions } from '../sessions/sessions.ts';

type Reader = Pick<Caller, 'merchantId' | 'mode'>;

export interface PaymentLinksDeps {
  readonly handler: PaymentLinkHandler;
  readonly sessions: Pick<MerchantApi, 'createSession'> & Pick<Sessions, 'sessionOfOrder' | 'shopOf'>;
  readonly readModel: Pick<ReadModel, 'scan'>;
  /** Resolves once the rows show what was written before. */
  readonly servedRows: () => Promise<void>;
  readonly rates: Pick<Rates, 'mayQuote'>;
  readonly clock: Clock;
  readonly random: Random;
}

export type PaymentLinkInput = Pick<PaymentLinkTerms, 'amount' | 'currency' | 'description' | 'maxUses' | 'maxOpen' | 'endsAtSec'>;

/** A link as it stands at this moment, its payments looked at. */
export interface PaymentLinkView extends PaymentLinkTerms {
  readonly createdAtSec: number;
  readonly status: LinkStatus;
  readonly switchedOff: { readonly reason: string; readonly offAtSec: number } | null;
  /** Payments that visitors made. */
  readonly made: number;
  readonly paid: number;
  readonly open: number;
}

export interface LinkPayment {
  readonly number: number;
  readonly orderId: string;
  /** Null: it was never made. */
  readonly sessionId: SessionId | null;
}

/** What visitors of a link are shown and may do. */
export interface PayerLinks {
  linkFor(id: PaymentLinkId): Promise<{ readonly link: PaymentLinkView; readonly shop: ShopFacts } | null>;
  /** `press` names the page whose button was pressed. */
  pay(id: PaymentLinkId, press: string, requestId: string): Promise<Outcome<SessionId>>;
}

/** In which the payment of a number comes to be, or never does. */
const GRACE_SEC = 60;
const ID_BYTES = 13;
const ID_LENGTH = 20;
/** In a session's metadata. */
const METADATA_KEY = 'payment_link';

const orderOf = (linkId: PaymentLinkId, number: number): string => `${linkId}-${number}`;

/** The link that made the order; null for every other. */
export function linkOfOrder(orderId: string): PaymentLinkId | null {
  const [link = '', number = '', ...more] = orderId.split('-');
  return more.length === 0 && /^[1-9]\d*$/.test(number) ? parsePaymentLinkId(link) : null;
}

/** Links for many: each visitor makes a payment of their own, within the bounds that the merchant set. */
export class PaymentLinks implements PayerLinks {
  readonly #deps: PaymentLinksDeps;

  constructor(deps: PaymentLinksDeps) {
    this.#deps = deps;
  }

  async create({ merchantId, mode }: Reader, input: PaymentLinkInput, by: Acting): Promise<Outcome<PaymentLinkView>> {
    const { random, rates } = this.#deps;
    const { currency } = input;
    if (!isCoin(currency) && !rates.mayQuote(currency))
      return {
        ok: false,
        refusal: { code: 'invalid_request', message: `this installation has no exchange rate from ${currency}`, param: 'currency' },
      };
    const linkId = `pl_${base32(random.bytes(ID_BYTES)).slice(0, ID_LENGTH)}` as PaymentLinkId;
    return this.#tell(linkId, { type: 'CreatePaymentLink', terms: { ...input, linkId, merchantId, mode }, nowSec: this.#nowSec() }, by);
  }

  async switchOff(reader: Reader, id: PaymentLinkId, reason: string, by: Acting): Promise<Outcome<PaymentLinkView>> {
    if (!(await this.#own(reader, id))) return NOT_FOUND;
    return this.#tell(id, { type: 'SwitchPaymentLinkOff', reason, nowSec: this.#nowSec() }, by);
  }

  async get(reader: Reader, id: PaymentLinkId): Promise<PaymentLinkView | null> {
    const context = await this.#own(reader, id);
    return context && this.#view(context);
  }

  /** The newest first. `after`: the cursor of the page before. */
  async list({ merchantId, mode }: Reader, { after, limit }: { readonly after?: string | undefined; readonly limit: number }) {
    const { readModel, servedRows } = this.#deps;
    await servedRows();
    const prefix = linksOfMerchant(mode, merchantId);
    const rows = await readModel.scan(PAYMENT_LINKS_TABLE, { afterKey: `${prefix}${after ?? ''}`, limit: limit + 1 });
    const page = rows.filter(({ key }) => key.startsWith(prefix));
    const found = page.slice(0, limit);
    const links = await Promise.all(found.map(({ row }) => this.get({ merchantId, mode }, row.linkId)));
    const next = page.length > limit ? found.at(-1)!.key.slice(prefix.length) : null;
    return { links: links.filter((link) => link !== null), next };
  }

  /** The newest first, those with a number below `before`; null where there is no such link. */
  async payments(
    reader: Reader,
    id: PaymentLinkId,
    { before, limit }: { readonly before?: number | undefined; readonly limit: number },
  ): Promise<{ readonly payments: readonly LinkPayment[]; readonly next: number | null } | null> {
    const context = await this.#own(reader, id);
    if (!context) return null;
    const from = Math.min(before ?? Infinity, context.lastNumber + 1) - 1;
    const numbers = Array.from({ length: Math.max(0, Math.min(limit, from)) }, (_, index) => from - index);
    const payments = await Promise.all(numbers.map((number) => this.#payment(reader, id, number)));
    const last = numbers.at(-1) ?? 1;
    return { payments, next: last > 1 ? last : null };
  }

  async linkFor(id: PaymentLinkId): Promise<{ readonly link: PaymentLinkView; readonly shop: ShopFacts } | null> {
    const state = await this.#deps.handler.read(paymentLinkStream(id));
    const created = state?.context.created;
    if (!state || !created) return null;
    return { link: await this.#view(state.context), shop: this.#deps.sessions.shopOf({ merchantId: created.merchantId, domainId: null }) };
  }

  /** The number is written down before the payment is made: whoever presses the same page again is led to the same payment, after a crash, too. */
  async pay(id: PaymentLinkId, press: string, requestId: string): Promise<Outcome<SessionId>> {
    const { handler, sessions } = this.#deps;
    const before = (await handler.read(paymentLinkStream(id)))?.context;
    if (!before?.created) return NOT_FOUND;
    const ended = await this.#endedFor(before, press);
    const actor = `payment-link:${id}`;
    const command = { type: 'UsePaymentLink', press, ended, nowSec: this.#nowSec() } as const;
    const used = await handler.execute(paymentLinkStream(id), command, { correlationId: requestId, actor });
    if (!used.ok) return used;
    const { merchantId, mode, amount, currency, description } = before.created;
    const caller: Caller = { merchantId, mode, keyId: 'payment-link' as ApiKeyId, requestId, operator: actor };
    const made = await sessions.createSession(caller, {
      ...{ amount, currency, orderId: orderOf(id, numberOf(used.state.context, press)!), metadata: { [METADATA_KEY]: id } },
      ...(description !== null && { description }),
    });
    return made.ok ? { ok: true, value: made.value.sessionId } : made;
  }

  /**
   * What makes room, looked for where it matters. A page whose payment ended unpaid gets another one; one whose payment is paid leads to it, so that
   * nobody pays twice by going back.
   */
  async #endedFor(context: PaymentLinkContext, press: string): Promise<EndedUse[]> {
    const own = numberOf(context, press);
    if (own === null) return linkStatus(context, this.#nowSec()) === 'busy' ? this.#endedOf(context) : [];
    return (await this.#endedOf(context)).filter(({ number, outcome }) => number === own && outcome === 'unpaid');
  }

  #nowSec(): number {
    return toSec(this.#deps.clock.nowMs());
  }

  async #tell(id: PaymentLinkId, command: Parameters<PaymentLinkHandler['execute']>[1], by: Acting): Promise<Outcome<PaymentLinkView>> {
    const result = await this.#deps.handler.execute(paymentLinkStream(id), command, by);
    return result.ok ? { ok: true, value: await this.#view(result.state.context) } : result;
  }

  async #own({ merchantId, mode }: Reader, id: PaymentLinkId): Promise<PaymentLinkContext | null> {
    const context = (await this.#deps.handler.read(paymentLinkStream(id)))?.context;
    const created = context?.created;
    return context && created?.merchantId === merchantId && created.mode === mode ? context : null;
  }

  async #payment(reader: Reader, id: PaymentLinkId, number: number): Promise<LinkPayment> {
    const orderId = orderOf(id, number);
    const session = await this.#deps.sessions.sessionOfOrder(reader, orderId);
    return { number, orderId, sessionId: session?.sessionId ?? null };
  }

  async #view(context: PaymentLinkContext): Promise<PaymentLinkView> {
    const now = (await this.#endedOf(context)).reduce(afterUse, context);
    return {
      ...now.created!,
      status: linkStatus(now, this.#nowSec()),
      switchedOff: now.switchedOff,
      ...{ made: now.lastNumber, paid: now.paid, open: Object.keys(now.open).length },
    };
  }

  /** Which of its payments take no money any more: the payments know. */
  async #endedOf({ created, open }: PaymentLinkContext): Promise<EndedUse[]> {
    const found = await Promise.all(
      Object.entries(open).map(async ([text, { usedAtSec }]): Promise<EndedUse[]> => {
        const number = Number(text);
        const session = await this.#deps.sessions.sessionOfOrder(created!, orderOf(created!.linkId, number));
        if (session === null) return usedAtSec + GRACE_SEC < this.#nowSec() ? [{ number, outcome: 'unpaid' }] : [];
        if (session.status === 'open' || session.status === 'processing') return [];
        return [{ number, outcome: session.status === 'paid' ? 'paid' : 'unpaid' }];
      }),
    );
    return found.flat();
  }
}

/** Who does it, as its events say. */
interface Acting {
  readonly actor: string;
  readonly correlationId: string;
}

const NOT_FOUND = { ok: false, refusal: { code: 'not_found', message: 'no such payment link' } } as const;
