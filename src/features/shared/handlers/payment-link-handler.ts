import type { PaymentLinkEvent } from '../../../domain/events/payment-link-events.ts';
import { type CommandHandler, type HandlerDeps, handlersOf } from '../../../runtime/commands/handler.ts';
import { MachineTable } from '../../../runtime/commands/machine-table.ts';
import {
  decidePaymentLink,
  type PaymentLinkCommand,
} from '../../../../state-machines/payment-link/payment-link.decider.ts';
import {
  paymentLinkMachine,
  type PaymentLinkContext,
  type PaymentLinkValue,
} from '../../../../state-machines/payment-link/payment-link.machine.ts';

export const paymentLinkTable = new MachineTable<PaymentLinkValue, PaymentLinkContext, PaymentLinkEvent>(
  paymentLinkMachine,
);

type Handler = CommandHandler<PaymentLinkValue, PaymentLinkContext, PaymentLinkEvent, PaymentLinkCommand>;
export type PaymentLinkHandler = Pick<Handler, 'execute' | 'read'>;

/** The only handler that decides what a payment link may do. */
export const createPaymentLinkHandler: (deps: HandlerDeps) => PaymentLinkHandler = handlersOf({
  table: paymentLinkTable,
  decide: decidePaymentLink,
  notifies: new Set(),
});
