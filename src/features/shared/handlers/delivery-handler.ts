import type { DeliveryEvent } from '../../../domain/events/delivery-events.ts';
import { CommandHandler } from '../../../runtime/commands/handler.ts';
import { MachineTable } from '../../../runtime/commands/machine-table.ts';
import { decideDelivery, type DeliveryCommand } from '../../../../state-machines/webhook-delivery/delivery.decider.ts';
import {
  webhookDeliveryMachine,
  type DeliveryContext,
  type DeliveryValue,
} from '../../../../state-machines/webhook-delivery/delivery.machine.ts';

export const deliveryTable = new MachineTable<DeliveryValue, DeliveryContext, DeliveryEvent>(webhookDeliveryMachine);

export type DeliveryHandler = CommandHandler<DeliveryValue, DeliveryContext, DeliveryEvent, DeliveryCommand>;

type HandlerDeps = Omit<
  ConstructorParameters<typeof CommandHandler<DeliveryValue, DeliveryContext, DeliveryEvent, DeliveryCommand>>[0],
  'aggregate' | 'soleWriter'
>;

/** Of deliveries that are to be tried again. */
const CAPACITY = 1_024;

/**
 * The one place where deliveries are changed. Merchants ask for redeliveries on any node, so a cached state may be
 * behind.
 */
export function createDeliveryHandler(deps: HandlerDeps): DeliveryHandler {
  return new CommandHandler<DeliveryValue, DeliveryContext, DeliveryEvent, DeliveryCommand>({
    capacity: CAPACITY,
    ...deps,
    soleWriter: false,
    aggregate: {
      table: deliveryTable,
      decide: decideDelivery,
      notifies: new Set(),
      isAtRest: (value) => value !== 'pending',
    },
  });
}
