import { assign, setup } from 'xstate';
import type {
  PaymentLinkCreated,
  PaymentLinkEvent,
  PaymentLinkSwitchedOff,
  UseOutcome,
} from '../../src/domain/events/payment-link-events.ts';
import { dataOf, typesOf } from '../wired.ts';

/* A link with which every visitor creates a payment of their own, until it is switched off. */

export type PaymentLinkValue = 'absent' | 'on' | 'off';

/** A payment created by the link that may still be paid. */
export interface OpenUse {
  readonly press: string;
  readonly visitor: string;
  readonly usedAtSec: number;
}

/** A payment that ended without money. It may turn out later to have been paid in time. */
export interface UnpaidUse extends OpenUse {
  readonly number: number;
  readonly outcome: Exclude<UseOutcome, 'paid'>;
  readonly notedAtSec: number;
}

export interface PaidUse {
  readonly number: number;
  readonly press: string;
  readonly visitor: string;
}

/** A payment of the link that no longer takes money. */
export interface EndedUse {
  readonly number: number;
  readonly outcome: UseOutcome;
}

export const DAY_SEC = 86_400;

export interface PaymentLinkContext {
  readonly created: PaymentLinkCreated['data'] | null;
  readonly switchedOff: PaymentLinkSwitchedOff['data'] | null;
  /** The last assigned number. */
  readonly lastNumber: number;
  readonly paid: readonly PaidUse[];
  /** By number. */
  readonly open: Readonly<Record<string, OpenUse>>;
  /** Those noted within a day before the latest press. */
  readonly unpaid: readonly UnpaidUse[];
}

type Seen = { context: PaymentLinkContext; event: PaymentLinkEvent };

/** The payment, if it may end this way: an open one with any outcome, an unpaid one only by turning out to be paid. */
function useThatEnds({ open, unpaid }: PaymentLinkContext, { number, outcome }: EndedUse): OpenUse | null {
  const use = Object.hasOwn(open, String(number)) ? open[number] : undefined;
  if (use) return use;
  return outcome === 'paid' ? (unpaid.find((use) => use.number === number) ?? null) : null;
}

/** The context after the end of the payment; unchanged if it cannot end this way. */
export function afterUse(context: PaymentLinkContext, ended: EndedUse, notedAtSec: number): PaymentLinkContext {
  const use = useThatEnds(context, ended);
  if (use === null) return context;
  const { number, outcome } = ended;
  const open = Object.fromEntries(Object.entries(context.open).filter(([of]) => of !== String(number)));
  if (outcome !== 'paid')
    return { ...context, open, unpaid: [...context.unpaid, { ...use, number, outcome, notedAtSec }] };
  return {
    ...context,
    open,
    unpaid: context.unpaid.filter((known) => known.number !== number),
    paid: [...context.paid, { number, press: use.press, visitor: use.visitor }],
  };
}

export const paymentLinkMachine = setup({
  types: typesOf<PaymentLinkContext, PaymentLinkEvent>(),
  guards: {
    isNext: ({ context, event }: Seen) => dataOf(event, 'PaymentLinkUsed').number === context.lastNumber + 1,
    mayEnd: ({ context, event }: Seen) => useThatEnds(context, dataOf(event, 'PaymentLinkUseEnded')) !== null,
  },
  actions: {
    foldCreated: assign(({ event }) => ({ created: dataOf(event, 'PaymentLinkCreated') })),
    foldUsed: assign(({ context, event }) => {
      const { number, press, visitor, usedAtSec } = dataOf(event, 'PaymentLinkUsed');
      const unpaid = context.unpaid.filter(({ notedAtSec }) => notedAtSec > usedAtSec - DAY_SEC);
      return { lastNumber: number, open: { ...context.open, [number]: { press, visitor, usedAtSec } }, unpaid };
    }),
    foldUseEnded: assign(({ context, event }) => {
      const ended = dataOf(event, 'PaymentLinkUseEnded');
      return afterUse(context, ended, ended.notedAtSec);
    }),
    foldSwitchedOff: assign(({ event }) => ({ switchedOff: dataOf(event, 'PaymentLinkSwitchedOff') })),
  },
}).createMachine({
  id: 'paymentLink',
  initial: 'absent',
  context: { created: null, switchedOff: null, lastNumber: 0, paid: [], open: {}, unpaid: [] },
  states: {
    absent: { on: { PaymentLinkCreated: { target: 'on', actions: 'foldCreated' } } },
    on: {
      on: {
        PaymentLinkUsed: { guard: 'isNext', actions: 'foldUsed' },
        PaymentLinkUseEnded: { guard: 'mayEnd', actions: 'foldUseEnded' },
        PaymentLinkSwitchedOff: { target: 'off', actions: 'foldSwitchedOff' },
      },
    },
    off: {},
  },
});
