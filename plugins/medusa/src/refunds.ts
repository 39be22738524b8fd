import type { CallOptions, PaymentSession, Quittance, Refund } from '@quittance/client';
import { difference, sumOf, textOf } from './amounts.ts';
import { isCode, leavesDoubt, notAllowed, ShopError } from './errors.ts';
import type { Amount, RefundRow } from './medusa.ts';
import { OneAtATime } from './one-at-a-time.ts';
import { isAcknowledged, keptRefund, type StoredPayments } from './rows.ts';
import { ownsSession } from './sessions.ts';

const REASON = /^Medusa: (\S+) of (\S+)/;

/** Refunds by Medusa's own id of each. */
export class Refunds {
  private readonly quittance: Quittance;
  private readonly stored: StoredPayments;
  private readonly inOrder = new OneAtATime();

  constructor(quittance: Quittance, stored: StoredPayments) {
    this.quittance = quittance;
    this.stored = stored;
  }

  /** Medusa has stored the refund before it asks, and forgets it again if this fails. */
  async refund(session: PaymentSession, amount: Amount, refundId: string, call: CallOptions): Promise<void> {
    const before = await this.stored.ofRefund(refundId);
    if (before === undefined) throw new ShopError('not_found', `refund ${refundId} is not stored`);
    const { payment } = before;
    if (!ownsSession(payment.payment_collection_id, session))
      throw notAllowed(`payment session ${session.id} was made for another order, which alone can refund it`);
    await this.inOrder.run(payment.id, async () => {
      // Read anew: a refund before this one may have failed meanwhile, or have been stored.
      const { refunds = [] } = (await this.stored.ofRefund(refundId)) ?? {};
      const row = refunds.find(({ id }) => id === refundId);
      if (row === undefined) throw new ShopError('not_found', `refund ${refundId} is not stored`);
      const made =
        (await this.forgotten(session, amount, refunds, call)) ??
        (await this.create(session, amount, row, refunds, isAcknowledged(payment.metadata), call));
      await this.stored.keepRefund(row, made.id);
    });
  }

  /** One of this amount that the service accepted, and that Medusa forgot because no answer came. */
  private async forgotten(
    session: PaymentSession,
    amount: Amount,
    refunds: readonly RefundRow[],
    call: CallOptions,
  ): Promise<Refund | undefined> {
    const known = new Set(refunds.flatMap((row) => [row.id, keptRefund(row)]));
    const { data } = await this.quittance.refunds.page({ session_id: session.id, page_size: 100 }, call);
    return data.find((made) => {
      const [, by, of] = REASON.exec(made.reason ?? '') ?? [];
      return made.status !== 'FAILED' && !known.has(made.id) && !known.has(by) && of === textOf(amount);
    });
  }

  private async create(
    session: PaymentSession,
    amount: Amount,
    row: RefundRow,
    refunds: readonly RefundRow[],
    acknowledged: boolean,
    call: CallOptions,
  ): Promise<Refund> {
    const currency = session.currency.toUpperCase();
    const others = refunds.filter(({ id }) => id !== row.id).map((one) => one.amount);
    // The whole is rounded, not each part, or the last part would be a cent more than is left.
    const value = difference(sumOf([...others, amount], currency), sumOf(others, currency));
    try {
      return await this.quittance.refunds.create(
        {
          session_id: session.id,
          amount: { value, currency },
          reason: `Medusa: ${row.id} of ${textOf(amount)} ${currency}`,
          ...(acknowledged ? { acknowledge_sender: true } : undefined),
        },
        { ...call, idempotencyKey: `medusa-${row.id}` },
      );
    } catch (error) {
      throw explained(error);
    }
  }
}

function explained(error: unknown): unknown {
  if (leavesDoubt(error))
    return new ShopError(
      'unexpected_state',
      'no answer came, so the refund may have been accepted; refund the same amount again, it is never paid twice',
      error,
    );
  if (!isCode(error, 'sender_not_acknowledged')) return error;
  return new ShopError(
    'not_allowed',
    'the payment came from a contract or an exchange, where a refund may be lost; ask the customer whether that address can receive it, press "The paying address can receive refunds" under Stablecoin payment on the order, and refund again',
    error,
  );
}
