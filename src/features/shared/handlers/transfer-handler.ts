import type { TransferEvent } from '../../../domain/events/transfer-events.ts';
import { CommandHandler } from '../../../runtime/commands/handler.ts';
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

type HandlerDeps = Omit<
  ConstructorParameters<typeof CommandHandler<TransferValue, TransferContext, TransferEvent, TransferCommand>>[0],
  'aggregate'
>;

/** The one place where it is decided what becomes of an unmatched transfer. */
export function createTransferHandler(deps: HandlerDeps): TransferHandler {
  return new CommandHandler<TransferValue, TransferContext, TransferEvent, TransferCommand>({
    ...deps,
    aggregate: { table: transferTable, decide: decideTransfer, notifies: new Set() },
  });
}
