import type { MerchantId, Mode, PaymentLinkId } from '../values/ids.ts';

/* The storage format of the streams `payment-link-<id>`: links with which each visitor makes their own payment. */

export interface PaymentLinkTerms {
  readonly linkId: PaymentLinkId;
  readonly merchantId: MerchantId;
  readonly mode: Mode;
  readonly amount: string;
  readonly currency: string;
  /** Visible to everybody who has the link. */
  readonly description: string | null;
  /** Number of payments the link allows, including those in progress. */
  readonly maxUses: number;
  /** Number of payments that may be open at once. */
  readonly maxOpen: number;
  /** Number of unpaid payments created within 24 hours: each of them uses up addresses permanently. */
  readonly maxUnpaidPerDay: number;
  /** The link creates no payments from then on; null: until it is switched off. */
  readonly endsAtSec: number | null;
}

export interface PaymentLinkCreated {
  readonly type: 'PaymentLinkCreated';
  readonly data: PaymentLinkTerms & { readonly createdAtSec: number };
}

/** A visitor pressed the button: their payment is the order `<link>-<number>`. */
export interface PaymentLinkUsed {
  readonly type: 'PaymentLinkUsed';
  readonly data: {
    readonly linkId: PaymentLinkId;
    readonly number: number;
    /** Identifies the page whose button was pressed: pressing it again leads to the same payment. */
    readonly press: string;
    /** Part of a hash of the link and the client's network. Many networks share each value, so it identifies nobody. */
    readonly visitor: string;
    readonly usedAtSec: number;
  };
}

/**
 * The payment with that number accepts no more money, or was never created. A second event, `paid`: it was paid after
 * all.
 */
export interface PaymentLinkUseEnded {
  readonly type: 'PaymentLinkUseEnded';
  readonly data: {
    readonly linkId: PaymentLinkId;
    readonly number: number;
    readonly outcome: UseOutcome;
    readonly notedAtSec: number;
  };
}

/** `not_made`: it was never created, so it used no address. */
export type UseOutcome = 'paid' | 'unpaid' | 'not_made';

export interface PaymentLinkSwitchedOff {
  readonly type: 'PaymentLinkSwitchedOff';
  readonly data: { readonly linkId: PaymentLinkId; readonly reason: string; readonly offAtSec: number };
}

export type PaymentLinkEvent = PaymentLinkCreated | PaymentLinkUsed | PaymentLinkUseEnded | PaymentLinkSwitchedOff;
