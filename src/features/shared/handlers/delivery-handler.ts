import type { DeliveryEvent } from '../../../domain/events/delivery-events.ts';
import { type CommandHandler, type HandlerDeps, handlersOf } from '../../../runtime/commands/handler.ts';
import { MachineTable } from '../../../runtime/commands/machine-table.ts';
import { decideDelivery, type DeliveryCommand } from '../../../../state-machines/webhook-delivery/delivery.decider.ts';
import {
  webhookDeliveryMachine,
  type DeliveryContext,
  type DeliveryValue,
} from '../../../../state-machines/webhook-delivery/delivery.machine.ts';

export const deliveryTable = new MachineTable<DeliveryValue, DeliveryContext, DeliveryEvent>(webhookDeliveryMachine);

export type DeliveryHandler = CommandHandler<DeliveryValue, DeliveryContext, DeliveryEvent, DeliveryCommand>;

const createHandler = handlersOf(
  {
    table: deliveryTable,
    decide: decideDelivery,
    notifies: new Set(),
    isAtRest: (value) => value !== 'pending',
  },
  // Deliveries that are to be tried again.
  { capacity: 1_024 },
);

/**
 * The only handler that changes deliveries. Merchants request redeliveries on any node, so a cached state may be stale.
 */
export const createDeliveryHandler = (deps: Omit<HandlerDeps, 'soleWriter'>): DeliveryHandler =>
  createHandler({ ...deps, soleWriter: false });
