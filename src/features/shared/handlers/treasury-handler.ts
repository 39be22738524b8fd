import type { TreasuryEvent } from '../../../domain/events/treasury-events.ts';
import { type CommandHandler, handlersOf } from '../../../runtime/commands/handler.ts';
import { MachineTable } from '../../../runtime/commands/machine-table.ts';
import { decideTreasury, type TreasuryCommand } from '../../../../state-machines/treasury/treasury.decider.ts';
import { treasuryMachine, type TreasuryValue } from '../../../../state-machines/treasury/treasury.machine.ts';
import type { TreasuryContext } from '../../../../state-machines/treasury/treasury.state.ts';

export const treasuryTable = new MachineTable<TreasuryValue, TreasuryContext, TreasuryEvent>(treasuryMachine);

export type TreasuryHandler = CommandHandler<TreasuryValue, TreasuryContext, TreasuryEvent, TreasuryCommand>;

/** The only handler that changes treasuries. */
export const createTreasuryHandler = handlersOf({
  table: treasuryTable,
  decide: decideTreasury,
  notifies: new Set(),
});
