import { refuse } from '../../domain/values/result.ts';
import { base32, parsePaymentLinkId, type PaymentLinkId, type SessionId } from '../../domain/values/ids.ts';
import type { PaymentLinkTerms, UseOutcome } from '../../domain/events/payment-link-events.ts';
import { paymentLinkStream } from '../../domain/values/streams.ts';
import { linksOfMerchant, PAYMENT_LINKS_TABLE } from '../../../projections/payment-links/payment-links.projection.ts';
import {
  isLasting,
  isWaiting,
  linkStatus,
  numberOf,
  unpaidOfDay,
  visitorWaitsUntilSec,
  type LinkStatus,
} from '../../../state-machines/payment-link/payment-link.decider.ts';
import {
  afterUse,
  DAY_SEC,
  type EndedUse,
  type OpenUse,
  type PaymentLinkContext,
} from '../../../state-machines/payment-link/payment-link.machine.ts';
import type { SessionState } from '../../../state-machines/checkout-session/session.decider.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import type { Rates } from '../../ports/rates/rates.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import { isCoin } from '../../domain/money/money.ts';
import type { PaymentLinkHandler } from '../shared/handlers/payment-link-handler.ts';
import type { Caller, MerchantApi, Outcome, ShopFacts } from '../shared/merchant-api.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { must } from '../../domain/values/must.ts';

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

export type PaymentLinkInput = Pick<
  PaymentLinkTerms,
  'amount' | 'currency' | 'description' | 'maxUses' | 'maxOpen' | 'maxUnpaidPerDay' | 'endsAtSec'
>;

/** What a visitor sees of a link. */
export interface ShownLink extends PaymentLinkTerms {
  readonly status: LinkStatus;
}

/** A link at this moment, with its payments checked. */
export interface PaymentLinkView extends ShownLink {
  readonly createdAtSec: number;
  readonly switchedOff: { readonly reason: string; readonly offAtSec: number } | null;
  /** Number of payments that visitors created. */
  readonly made: number;
  readonly paid: number;
  readonly open: number;
  readonly unpaidOfDay: number;
}

export interface LinkPayment {
  readonly number: number;
  readonly orderId: string;
  /** Null: the payment was never created. */
  readonly sessionId: SessionId | null;
}

/** The page whose button was pressed, and the visitor's network. */
export interface Press {
  readonly press: string;
  readonly visitor: string;
}

/** What visitors of a link see and can do. `press` identifies the page whose button was pressed. */
export interface PayerLinks {
  linkFor(id: PaymentLinkId): Promise<{ readonly link: ShownLink; readonly shop: ShopFacts } | null>;
  shopFor(id: PaymentLinkId): Promise<ShopFacts | null>;
  /** The payment already assigned to the page, if it is paid or still payable; null if there is no such link. */
  paymentOf(id: PaymentLinkId, press: string): Promise<{ readonly sessionId: SessionId | null } | null>;
  /** The payment of the page, created if necessary; `rate_limited` if the visitor left too many unpaid. */
  pay(id: PaymentLinkId, by: Press, requestId: string): Promise<Outcome<SessionId>>;
  /** Seconds until the visitor may create another payment. */
  waitSec(id: PaymentLinkId, visitor: string): Promise<number>;
}

/** Time for a reserved payment to be created before it counts as failed. */
const GRACE_SEC = 60;
const ID_BYTES = 13;
const ID_LENGTH = 20;
/** Key in a session's metadata. */
const METADATA_KEY = 'payment_link';

const orderOf = (linkId: PaymentLinkId, number: number): string => `${linkId}-${number}`;

/** The link that created the order; null for other orders. */
export function linkOfOrder(orderId: string): PaymentLinkId | null {
  const [link = '', number = '', ...more] = orderId.split('-');
  return more.length === 0 && /^[1-9]\d*$/.test(number) ? parsePaymentLinkId(link) : null;
}

/** Reusable links: each visitor creates a payment of their own, within the bounds set by the merchant. */
export class PaymentLinks implements PayerLinks {
  readonly #deps: PaymentLinksDeps;

  constructor(deps: PaymentLinksDeps) {
    this.#deps = deps;
  }

  async create({ merchantId, mode }: Reader, input: PaymentLinkInput, by: Acting): Promise<Outcome<PaymentLinkView>> {
    const { random, rates } = this.#deps;
    const { currency } = input;
    if (!isCoin(currency) && !rates.mayQuote(currency))
      return refuse('invalid_request', `this installation has no exchange rate from ${currency}`, 'currency');
    const linkId = must(parsePaymentLinkId(`pl_${base32(random.bytes(ID_BYTES)).slice(0, ID_LENGTH)}`));
    return this.#tell(
      linkId,
      { type: 'CreatePaymentLink', terms: { ...input, linkId, merchantId, mode }, nowSec: this.#nowSec() },
      by,
    );
  }

  async switchOff(reader: Reader, id: PaymentLinkId, reason: string, by: Acting): Promise<Outcome<PaymentLinkView>> {
    if (!(await this.#own(reader, id))) return NOT_FOUND;
    return this.#tell(id, { type: 'SwitchPaymentLinkOff', reason, nowSec: this.#nowSec() }, by);
  }

  async get(reader: Reader, id: PaymentLinkId): Promise<PaymentLinkView | null> {
    const context = await this.#own(reader, id);
    return context && this.#view(context);
  }

  /** Newest first. `after` is the cursor of the previous page. */
  async list(
    { merchantId, mode }: Reader,
    { after, limit }: { readonly after?: string | undefined; readonly limit: number },
  ) {
    const { readModel, servedRows } = this.#deps;
    await servedRows();
    const prefix = linksOfMerchant(mode, merchantId);
    const rows = await readModel.scan(PAYMENT_LINKS_TABLE, { afterKey: `${prefix}${after ?? ''}`, limit: limit + 1 });
    const page = rows.filter(({ key }) => key.startsWith(prefix));
    const found = page.slice(0, limit);
    const links = await Promise.all(found.map(({ row }) => this.get({ merchantId, mode }, row.linkId)));
    const next = page.length > limit ? must(found.at(-1)).key.slice(prefix.length) : null;
    return { links: links.filter((link) => link !== null), next };
  }

  /** Newest first, with numbers below `before`; null if there is no such link. */
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

  async linkFor(id: PaymentLinkId): Promise<{ readonly link: ShownLink; readonly shop: ShopFacts } | null> {
    const [context, shop] = [await this.#context(id), await this.shopFor(id)];
    if (!context?.created || !shop) return null;
    const nowSec = this.#nowSec();
    const status = linkStatus(context, nowSec);
    // Ended payments free their places, and expired ones may be paid later. A link is checked more closely only where
    // that can change what its page says.
    const ended = await this.#endedOf(context, [
      ...(isWaiting(status) ? Object.keys(context.open).map(Number) : []),
      ...(isLasting(status) && mayBeFull(context) ? context.unpaid.map(({ number }) => number) : []),
    ]);
    return { link: { ...context.created, status: linkStatus(afterAll(context, ended, nowSec), nowSec) }, shop };
  }

  async shopFor(id: PaymentLinkId): Promise<ShopFacts | null> {
    const created = (await this.#context(id))?.created;
    return created ? this.#deps.sessions.shopOf({ merchantId: created.merchantId, domainId: null }) : null;
  }

  async paymentOf(id: PaymentLinkId, press: string): Promise<{ readonly sessionId: SessionId | null } | null> {
    const context = await this.#context(id);
    if (!context?.created) return null;
    const sessions = await Promise.all(numbersOf(context, press).map((number) => this.#session(context, number)));
    const found = (outcome: UseOutcome | null) =>
      sessions.find((session) => session && outcomeOf(session.status) === outcome);
    return { sessionId: (found('paid') ?? found(null))?.sessionId ?? null };
  }

  /**
   * Records the number before creating the payment, so that pressing the same page again leads to the same payment,
   * even after a crash.
   */
  async pay(id: PaymentLinkId, by: Press, requestId: string): Promise<Outcome<SessionId>> {
    const { press } = by;
    const [known, before] = [await this.paymentOf(id, press), await this.#context(id)];
    if (!known || !before?.created) return NOT_FOUND;
    if (known.sessionId !== null) return { ok: true, value: known.sessionId };
    const nowSec = this.#nowSec();
    const command = {
      type: 'UsePaymentLink',
      ...by,
      ended: await this.#endedOf(before, toLookAt(before, by, nowSec)),
      nowSec,
    } as const;
    const actor = `payment-link:${id}`;
    const used = await this.#deps.handler.execute(paymentLinkStream(id), command, { correlationId: requestId, actor });
    if (!used.ok) return used;
    const number = must(numberOf(used.state.context, press));
    // After a long delay the place may have been given to someone else; a payment that is not counted must not be
    // created.
    if (!Object.hasOwn((await this.#context(id))?.open ?? {}, String(number))) return PLACE_LOST;
    const { merchantId, mode, amount, currency, description } = before.created;
    const caller: Caller = { merchantId, mode, requestId, operator: actor };
    const made = await this.#deps.sessions.createSession(caller, {
      ...{ amount, currency, orderId: orderOf(id, number), metadata: { [METADATA_KEY]: id } },
      ...(description !== null && { description }),
    });
    return made.ok ? { ok: true, value: made.value.sessionId } : made;
  }

  async waitSec(id: PaymentLinkId, visitor: string): Promise<number> {
    const context = await this.#context(id);
    const nowSec = this.#nowSec();
    const untilSec = context?.created ? visitorWaitsUntilSec(context, visitor, nowSec) : null;
    return untilSec === null ? 0 : untilSec - nowSec;
  }

  #nowSec(): number {
    return toSec(this.#deps.clock.nowMs());
  }

  async #tell(
    id: PaymentLinkId,
    command: Parameters<PaymentLinkHandler['execute']>[1],
    by: Acting,
  ): Promise<Outcome<PaymentLinkView>> {
    const result = await this.#deps.handler.execute(paymentLinkStream(id), command, by);
    return result.ok ? { ok: true, value: await this.#view(result.state.context) } : result;
  }

  async #context(id: PaymentLinkId): Promise<PaymentLinkContext | null> {
    return (await this.#deps.handler.read(paymentLinkStream(id)))?.context ?? null;
  }

  async #own({ merchantId, mode }: Reader, id: PaymentLinkId): Promise<PaymentLinkContext | null> {
    const context = await this.#context(id);
    const created = context?.created;
    return context && created?.merchantId === merchantId && created.mode === mode ? context : null;
  }

  async #payment(reader: Reader, id: PaymentLinkId, number: number): Promise<LinkPayment> {
    const orderId = orderOf(id, number);
    const session = await this.#deps.sessions.sessionOfOrder(reader, orderId);
    return { number, orderId, sessionId: session?.sessionId ?? null };
  }

  async #view(context: PaymentLinkContext): Promise<PaymentLinkView> {
    const nowSec = this.#nowSec();
    const numbers = [...Object.keys(context.open).map(Number), ...context.unpaid.map(({ number }) => number)];
    const now = afterAll(context, await this.#endedOf(context, numbers), nowSec);
    return {
      ...must(now.created),
      status: linkStatus(now, nowSec),
      switchedOff: now.switchedOff,
      ...{ made: now.lastNumber, paid: now.paid.length, open: Object.keys(now.open).length },
      unpaidOfDay: unpaidOfDay(now, nowSec).length,
    };
  }

  #session({ created }: PaymentLinkContext, number: number): ReturnType<Sessions['sessionOfOrder']> {
    return this.#deps.sessions.sessionOfOrder(must(created), orderOf(must(created).linkId, number));
  }

  /** Which of these payments no longer take money, according to their sessions. */
  async #endedOf(context: PaymentLinkContext, numbers: readonly number[]): Promise<EndedUse[]> {
    const found = await Promise.all(
      numbers.map(async (number): Promise<EndedUse[]> => {
        const session = await this.#session(context, number);
        const outcome = session ? outcomeOf(session.status) : this.#neverMade(context.open[number]);
        return outcome ? [{ number, outcome }] : [];
      }),
    );
    return found.flat();
  }

  #neverMade(use: OpenUse | undefined): UseOutcome | null {
    return use && use.usedAtSec + GRACE_SEC < this.#nowSec() ? 'not_made' : null;
  }
}

const outcomeOf = (status: SessionState['value']): UseOutcome | null => {
  if (status === 'open' || status === 'processing') return null;
  return status === 'paid' ? 'paid' : 'unpaid';
};

const afterAll = (context: PaymentLinkContext, ended: readonly EndedUse[], nowSec: number): PaymentLinkContext =>
  ended.reduce((left, use) => afterUse(left, use, nowSec), context);

/** Includes payments noted as unpaid, because they may have been paid since. */
const numbersOf = ({ paid, open, unpaid }: PaymentLinkContext, press: string): number[] =>
  [...paid, ...Object.entries(open).map(([number, use]) => ({ number: Number(number), press: use.press })), ...unpaid]
    .filter((use) => use.press === press)
    .map(({ number }) => number);

/** Whether the link is full if every open or unpaid payment turns out to be paid. */
const mayBeFull = ({ created, open, paid, unpaid }: PaymentLinkContext): boolean =>
  paid.length + Object.keys(open).length + unpaid.length >= must(created).maxUses;

/**
 * Payments whose end matters to a press: those of the page and of its visitor; all open ones, if they take half of the
 * places; and unpaid ones that may have been paid since, if they could fill the link or are about to be forgotten.
 */
function toLookAt(context: PaymentLinkContext, { press, visitor }: Press, nowSec: number): number[] {
  const { created, open, unpaid } = context;
  const isOwn = (use: OpenUse): boolean => use.press === press || use.visitor === visitor;
  const status = linkStatus(context, nowSec);
  if (!isLasting(status)) return [];
  const numbers = Object.keys(open).map(Number);
  const isCrowded = numbers.length * 2 >= must(created).maxOpen || isWaiting(status);
  const couldFill = mayBeFull(context);
  const ended = unpaid
    .filter(({ notedAtSec }) => couldFill || notedAtSec <= nowSec - DAY_SEC)
    .map(({ number }) => number);
  return [...(isCrowded ? numbers : numbers.filter((number) => isOwn(must(open[number])))), ...ended];
}

/** The actor as recorded in events. */
interface Acting {
  readonly actor: string;
  readonly correlationId: string;
}

const PLACE_LOST = refuse('conflict', 'the reserved place of the payment was released meanwhile');
const NOT_FOUND = refuse('not_found', 'no such payment link');
