import type { CallOptions, CreateSession, PaymentSession, Quittance } from '@quittance/client';
import { asksFor, isOver, isUnderWay, type Price } from '@quittance/client/shops';
import { isCode, notAllowed, ShopError } from './errors.ts';

export const SOURCE = 'medusa';

/** What a session is made of besides price and order. */
export type SessionTerms = Omit<CreateSession, 'amount' | 'currency' | 'order_id' | 'metadata' | 'supersedes'>;

/**
 * The sessions of a payment collection of Medusa, which a cart keeps while Medusa makes its own payment sessions anew
 * each time that a checkout is opened. A session's `order_id` is the id of the collection; after one that was paid and
 * given back, which nothing can supersede, it is that id with a number.
 */
export class CollectionSessions {
  private readonly quittance: Quittance;

  constructor(quittance: Quittance) {
    this.quittance = quittance;
  }

  /** Newest first. */
  async all(collectionId: string, call: CallOptions): Promise<PaymentSession[]> {
    const found: PaymentSession[] = [];
    for (let number = 1; ; number += 1) {
      const { data } = await this.quittance.sessions.page(
        { order_id: orderIdOf(collectionId, number), page_size: 100 },
        call,
      );
      found.unshift(...data);
      if (data.length === 0) return found.filter((session) => ownsSession(collectionId, session));
    }
  }

  /** The session to pay: the one that the payer may have seen already, unless it is over or the price has changed. */
  async usable(collectionId: string, price: Price, terms: SessionTerms, call: CallOptions): Promise<PaymentSession> {
    const sessions = await this.all(collectionId, call);
    const newest = sessions[0];
    const busy = sessions.find(isUnderWay);
    if (busy !== undefined) {
      if (asksFor(busy, price)) return busy;
      throw underWay(busy);
    }
    if (newest === undefined) return this.create(collectionId, price, terms, 1, undefined, call);
    const number = numberOf(newest);
    if (isOver(newest))
      return newest.payment_status === 'paid'
        ? this.create(collectionId, price, terms, number + 1, undefined, call)
        : this.create(collectionId, price, terms, number, newest.id, call);
    if (asksFor(newest, price)) return newest;
    if ((await this.close(newest, call)).payment_status === 'paid') throw underWay(newest);
    return this.create(collectionId, price, terms, number, newest.id, call);
  }

  /** Ends a session that nothing is on its way to, and says what became of it. */
  async close({ id }: PaymentSession, call: CallOptions): Promise<PaymentSession> {
    await this.quittance.sessions.cancel(id, call).catch((error: unknown) => {
      if (!isCode(error, 'session_expired', 'session_already_paid')) throw error;
    });
    return this.quittance.sessions.get(id, call);
  }

  private async create(
    collectionId: string,
    { amount, currency }: Price,
    terms: SessionTerms,
    number: number,
    supersedes: string | undefined,
    call: CallOptions,
  ): Promise<PaymentSession> {
    const asked: CreateSession = {
      ...terms,
      amount,
      currency: currency.toUpperCase(),
      order_id: orderIdOf(collectionId, number),
      metadata: { source: SOURCE, payment_collection: collectionId },
      ...(supersedes === undefined ? undefined : { supersedes }),
    };
    try {
      return await this.quittance.sessions.create(asked, call);
    } catch (error) {
      if (!isCode(error, 'order_id_conflict')) throw error;
      // Another request of the same checkout was faster.
      const made = (await this.all(collectionId, call))[0];
      if (made !== undefined && !isOver(made) && asksFor(made, { amount, currency })) return made;
      throw new ShopError('not_allowed', 'the payment was begun with another amount; try again', error);
    }
  }
}

export const ownsSession = (collectionId: string, { metadata }: PaymentSession): boolean =>
  metadata['source'] === SOURCE && metadata['payment_collection'] === collectionId;

const orderIdOf = (collectionId: string, number: number): string =>
  number === 1 ? collectionId : `${collectionId}-${number}`;

function numberOf({ order_id }: PaymentSession): number {
  return Number(/-(\d+)$/.exec(order_id)?.[1] ?? '1');
}

const underWay = ({ amount_total, currency }: PaymentSession): ShopError =>
  notAllowed(
    `a payment of ${amount_total} ${currency.toUpperCase()} is under way for this cart, so neither its total nor its way of paying can change`,
  );
