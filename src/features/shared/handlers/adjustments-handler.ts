import type { AdjustmentEvent } from '../../../domain/events/adjustment-events.ts';
import { type CommandHandler, handlersOf } from '../../../runtime/commands/handler.ts';
import { MachineTable } from '../../../runtime/commands/machine-table.ts';
import {
  decideAdjustments,
  type AdjustmentsCommand,
} from '../../../../state-machines/adjustments/adjustments.decider.ts';
import {
  adjustmentsMachine,
  type AdjustmentsContext,
  type AdjustmentsValue,
} from '../../../../state-machines/adjustments/adjustments.machine.ts';

export const adjustmentsTable = new MachineTable<AdjustmentsValue, AdjustmentsContext, AdjustmentEvent>(
  adjustmentsMachine,
);

export type AdjustmentsHandler = CommandHandler<
  AdjustmentsValue,
  AdjustmentsContext,
  AdjustmentEvent,
  AdjustmentsCommand
>;

/** The only handler that decides what people may post by hand. */
export const createAdjustmentsHandler = handlersOf({
  table: adjustmentsTable,
  decide: decideAdjustments,
  notifies: new Set(),
});
