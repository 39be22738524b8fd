/** What is known about the address that paid: where a refund arrives for sure, and where it may be lost. */
export interface Sender {
  /**
   * `wallet`: nothing speaks against it. `contract`: code owns the address, and may be unable to pass money on.
   * `exchange`: a listed wallet that many customers share, so that the money does not find its way back to the payer.
   */
  readonly kind: 'wallet' | 'contract' | 'exchange';
  /** Name of the exchange; null for the others. */
  readonly name: string | null;
}

/** True when a refund to this address needs the merchant's word that the payer can receive there. */
export const needsAcknowledgement = (sender: Sender | null | undefined): sender is Sender =>
  sender !== null && sender !== undefined && sender.kind !== 'wallet';
