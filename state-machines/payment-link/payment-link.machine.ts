import { assign, setup } from 'xstate';
import type { PaymentLinkCreated, PaymentLinkEvent, PaymentLinkSwitchedOff, UseOutcome } from '../../src/domain/events/payment-link-events.ts';

/* A link of which every visitor makes a payment of their own, until it is switched off. */

export type PaymentLinkValue = 'absent' | 'on' | 'off';

/** A payment that was made by the link and may still be paid. */
export interface OpenUse {
  readonly press: string;
  readonly usedAtSec: number;
}

export interface PaymentLinkContext {
  readonly created: PaymentLinkCreated['data'] | null;
  readonly switchedOff: PaymentLinkSwitchedOff['data'] | null;
  /** The number that was given last. */
  readonly lastNumber: number;
  readonly paid: number;
  /** By number. */
  readonly open: Readonly<Record<string, OpenUse>>;
}

type Data<Type extends PaymentLinkEvent['type']> = Extract<PaymentLinkEvent, { type: Type }>['data'];
type Seen = { context: PaymentLinkContext; event: PaymentLinkEvent };

/** What is left once the payment of the number ended. */
export const afterUse = (
  context: PaymentLinkContext,
  { number, outcome }: { readonly number: number; readonly outcome: UseOutcome },
): PaymentLinkContext => ({
  ...context,
  paid: context.paid + (outcome === 'paid' ? 1 : 0),
  open: Object.fromEntries(Object.entries(context.open).filter(([of]) => of !== String(number))),
});

export const paymentLinkMachine = setup({
  types: { context: {} as PaymentLinkContext, events: {} as PaymentLinkEvent },
  guards: {
    isNext: ({ context, event }: Seen) => (event.data as Data<'PaymentLinkUsed'>).number === context.lastNumber + 1,
    isOpen: ({ context, event }: Seen) => Object.hasOwn(context.open, String((event.data as Data<'PaymentLinkUseEnded'>).number)),
  },
  actions: {
    foldCreated: assign(({ event }) => ({ created: event.data as Data<'PaymentLinkCreated'> })),
    foldUsed: assign(({ context, event }) => {
      const { number, press, usedAtSec } = event.data as Data<'PaymentLinkUsed'>;
      return { lastNumber: number, open: { ...context.open, [number]: { press, usedAtSec } } };
    }),
    foldUseEnded: assign(({ context, event }) => afterUse(context, event.data as Data<'PaymentLinkUseEnded'>)),
    foldSwitchedOff: assign(({ event }) => ({ switchedOff: event.data as Data<'PaymentLinkSwitchedOff'> })),
  },
}).createMachine({
  id: 'paymentLink',
  initial: 'absent',
  context: { created: null, switchedOff: null, lastNumber: 0, paid: 0, open: {} },
  states: {
    absent: { on: { PaymentLinkCreated: { target: 'on', actions: 'foldCreated' } } },
    on: {
      on: {
        PaymentLinkUsed: { guard: 'isNext', actions: 'foldUsed' },
        PaymentLinkUseEnded: { guard: 'isOpen', actions: 'foldUseEnded' },
        PaymentLinkSwitchedOff: { target: 'off', actions: 'foldSwitchedOff' },
      },
    },
    off: {},
  },
});
