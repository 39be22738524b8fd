import type { MerchantEvent } from '../../../domain/events/merchant-events.ts';
import { type CommandHandler, handlersOf } from '../../../runtime/commands/handler.ts';
import { MachineTable } from '../../../runtime/commands/machine-table.ts';
import { decideMerchant } from '../../../../state-machines/merchant/merchant.decider.ts';
import type { MerchantCommand } from '../../../../state-machines/merchant/merchant.commands.ts';
import { merchantMachine, type MerchantValue } from '../../../../state-machines/merchant/merchant.machine.ts';
import { SETTINGS_EVENTS } from '../../../../state-machines/merchant/notices.ts';
import type { MerchantContext } from '../../../../state-machines/merchant/merchant.state.ts';

export const merchantTable = new MachineTable<MerchantValue, MerchantContext, MerchantEvent>(merchantMachine);

export type MerchantHandler = CommandHandler<MerchantValue, MerchantContext, MerchantEvent, MerchantCommand>;

/** The only handler that changes merchants. */
export const createMerchantHandler = handlersOf(
  { table: merchantTable, decide: decideMerchant, notifies: SETTINGS_EVENTS },
  { capacity: 1_000 },
);
