/** What is known about the paying address: whether a refund is sure to arrive there or may be lost. */
export interface Sender {
  /**
   * `wallet`: no reason for doubt. `contract`: code controls the address and may be unable to pass money on.
   * `exchange`: a listed wallet shared by many customers, so that the money does not find its way back to the payer.
   */
  readonly kind: 'wallet' | 'contract' | 'exchange';
  /** Name of the exchange; null for the others. */
  readonly name: string | null;
}

/** Whether the merchant must confirm that the payer can receive a refund at this address. */
export const needsAcknowledgement = (sender: Sender | null | undefined): sender is Sender =>
  sender !== null && sender !== undefined && sender.kind !== 'wallet';
