import {
  type AdminArguments,
  type AdminCommands,
  CommandRefused,
  json,
  requiredMode,
  requiredText,
} from '../server/commands.ts';
import { ADDRESS_FAMILIES, type AddressFamily } from '../../domain/networks/networks.ts';
import type { RunningAddressPool } from '../../features/addresses/pool.ts';
import { MAX_INDEX, requiredWhole } from '../server/whole-number.ts';

/** BIP-32 indexes end below 2^31. */

/**
 * `quittance addresses stock | skip`: after a restore, addresses that may have been assigned since the backup must not
 * be assigned again.
 */
export function addressCommands(addresses: Pick<RunningAddressPool, 'stocks' | 'skipTo'>): AdminCommands {
  return {
    'addresses.stock': async () => json(addresses.stocks()),
    'addresses.skip': async (args) => {
      const mode = requiredMode(args);
      const family = familyOf(args);
      const index = requiredWhole(args, 'to', { max: MAX_INDEX });
      if (!addresses.stocks().some((stock) => stock.mode === mode && stock.family === family))
        throw new CommandRefused(`this service assigns no ${family} addresses in ${mode} mode`);
      await addresses.skipTo(mode, family, index);
      return { mode, family, next_index_at_least: index };
    },
  };
}

function familyOf(args: AdminArguments): AddressFamily {
  const text = requiredText(args, 'family');
  const family = ADDRESS_FAMILIES.find((name) => name === text);
  if (!family) throw new CommandRefused('family must be evm, tron or solana');
  return family;
}
