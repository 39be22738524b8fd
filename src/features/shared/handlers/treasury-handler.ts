import type { TreasuryEvent } from '../../../domain/events/treasury-events.ts';
import { CommandHandler } from '../../../runtime/commands/handler.ts';
import { MachineTable } from '../../../runtime/commands/machine-table.ts';
import { decideTreasury, type TreasuryCommand } from '../../../../state-machines/treasury/treasury.decider.ts';
import { treasuryMachine, type TreasuryValue } from '../../../../state-machines/treasury/treasury.machine.ts';
import type { TreasuryContext } from '../../../../state-machines/treasury/treasury.state.ts';

export const treasuryTable = new MachineTable<TreasuryValue, TreasuryContext, TreasuryEvent>(treasuryMachine);

export type TreasuryHandler = CommandHandler<TreasuryValue, TreasuryContext, TreasuryEvent, TreasuryCommand>;

type HandlerDeps = Omit<
  ConstructorParameters<typeof CommandHandler<TreasuryValue, TreasuryContext, TreasuryEvent, TreasuryCommand>>[0],
  'aggregate'
>;

/** The one place where treasuries are changed. */
export function createTreasuryHandler(deps: HandlerDeps): TreasuryHandler {
  return new CommandHandler<TreasuryValue, TreasuryContext, TreasuryEvent, TreasuryCommand>({
    ...deps,
    aggregate: { table: treasuryTable, decide: decideTreasury, notifies: new Set() },
  });
}
