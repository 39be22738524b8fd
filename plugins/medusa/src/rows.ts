import type { CollectionRow, PaymentContainer, PaymentRow, ProviderData, RefundRow, SessionRow } from './medusa.ts';

const ACKNOWLEDGED = 'quittance_sender_acknowledged';
const REFUND_ID = 'quittance_refund_id';

/** What is said of a payment whose payer can receive at the address that paid. */
export const SENDER_ACKNOWLEDGED: ProviderData = { [ACKNOWLEDGED]: true };
export const isAcknowledged = (metadata: ProviderData | null | undefined): boolean => metadata?.[ACKNOWLEDGED] === true;

/** What Medusa has stored at this moment. Medusa hands its providers old copies, without collection or refunds. */
export class StoredPayments {
  private readonly container: PaymentContainer;

  constructor(container: PaymentContainer) {
    this.container = container;
  }

  async session(id: string): Promise<SessionRow | undefined> {
    const [found] = await this.container.paymentSessionService.list({ id });
    return found;
  }

  sessionsOf(collectionId: string): Promise<SessionRow[]> {
    return this.container.paymentSessionService.list({ payment_collection_id: collectionId });
  }

  async collection(id: string): Promise<CollectionRow | undefined> {
    const [found] = await this.container.paymentCollectionService.list({ id });
    return found;
  }

  /** The payment of a refund and all its refunds, of which the one asked for is stored already. */
  async ofRefund(refundId: string): Promise<{ payment: PaymentRow; refunds: RefundRow[] } | undefined> {
    const [refund] = await this.container.refundService.list({ id: refundId });
    if (refund === undefined) return undefined;
    const [payment] = await this.container.paymentService.list({ id: refund.payment_id });
    if (payment === undefined) return undefined;
    return { payment, refunds: await this.container.refundService.list({ payment_id: payment.id }) };
  }

  /** Which refund of the service a refund of Medusa stands for. */
  async keepRefund(row: RefundRow, refundId: string): Promise<void> {
    await this.container.refundService.update({ id: row.id, metadata: { ...row.metadata, [REFUND_ID]: refundId } });
  }
}

export function keptRefund({ metadata }: RefundRow): string | undefined {
  const id = metadata?.[REFUND_ID];
  return typeof id === 'string' ? id : undefined;
}
