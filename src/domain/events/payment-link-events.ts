import type { MerchantId, Mode, PaymentLinkId } from '../ids.ts';

/* The storage format of the streams `payment-link-<id>`: links of which every visitor makes a payment of their own. */

export interface PaymentLinkTerms {
  readonly linkId: PaymentLinkId;
  readonly merchantId: MerchantId;
  readonly mode: Mode;
  readonly amount: string;
  readonly currency: string;
  /** Whoever has the link reads it. */
  readonly description: string | null;
  /** Payments that may be paid by it, those under way included. */
  readonly maxUses: number;
  /** Payments that may wait for money at once. */
  readonly maxOpen: number;
  /** Payments made within 24 hours that are not paid: each of them takes addresses forever. */
  readonly maxUnpaidPerDay: number;
  /** From then on it makes no payments; null: until it is switched off. */
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
    /** Of the page that was pressed: pressed again, it leads to the same payment. */
    readonly press: string;
    /** Part of a hash of the link and the client's network. Many networks share each value, so it identifies nobody. */
    readonly visitor: string;
    readonly usedAtSec: number;
  };
}

/**
 * The payment of that number takes no money any more, or never came to be. A second one, `paid`: it was paid after all.
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

/** `not_made`: it never came to be, so it took no address. */
export type UseOutcome = 'paid' | 'unpaid' | 'not_made';

export interface PaymentLinkSwitchedOff {
  readonly type: 'PaymentLinkSwitchedOff';
  readonly data: { readonly linkId: PaymentLinkId; readonly reason: string; readonly offAtSec: number };
}

export type PaymentLinkEvent = PaymentLinkCreated | PaymentLinkUsed | PaymentLinkUseEnded | PaymentLinkSwitchedOff;
