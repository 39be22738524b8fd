import type { TransferEvent } from '../../../domain/events/transfer-events.ts';
import { type CommandHandler, handlersOf } from '../../../runtime/commands/handler.ts';
import { MachineTable } from '../../../runtime/commands/machine-table.ts';
import {
  decideTransfer,
  type TransferCommand,
} from '../../../../state-machines/unmatched-transfer/transfer.decider.ts';
import {
  transferMachine,
  type TransferContext,
  type TransferValue,
} from '../../../../state-machines/unmatched-transfer/transfer.machine.ts';

export const transferTable = new MachineTable<TransferValue, TransferContext, TransferEvent>(transferMachine);

export type TransferHandler = CommandHandler<TransferValue, TransferContext, TransferEvent, TransferCommand>;

/** The only handler that decides what becomes of an unmatched transfer. */
export const createTransferHandler = handlersOf({
  table: transferTable,
  decide: decideTransfer,
  notifies: new Set(),
});
