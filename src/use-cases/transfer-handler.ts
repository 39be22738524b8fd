import type { TransferEvent } from '../domain/events/transfer-events.ts';
import { CommandHandler } from '../runtime/command-handler.ts';
import { MachineTable } from '../runtime/machine-table.ts';
import { decideTransfer, type TransferCommand } from '../../state-machines/transfer.decider.ts';
import { transferMachine, type TransferContext, type TransferValue } from '../../state-machines/transfer.machine.ts';

export const transferTable = new MachineTable<TransferValue, TransferContext, TransferEvent>(transferMachine);

export type TransferHandler = CommandHandler<TransferValue, TransferContext, TransferEvent, TransferCommand>;

type HandlerDeps = Omit<ConstructorParameters<typeof CommandHandler<TransferValue, TransferContext, TransferEvent, TransferCommand>>[0], 'aggregate'>;

/** The one place where it is decided what becomes of a stray transfer. */
export function createTransferHandler(deps: HandlerDeps): TransferHandler {
  return new CommandHandler<TransferValue, TransferContext, TransferEvent, TransferCommand>({
    ...deps,
    aggregate: { table: transferTable, decide: decideTransfer, notifies: new Set() },
  });
}
