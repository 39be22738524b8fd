import type { Mode } from '../../domain/values/ids.ts';
import type { Coin } from '../../domain/money/money.ts';
import type { Token } from '../../domain/networks/networks.ts';
import type { AddressPool } from '../../ports/chain/addresses.ts';
import { associatedTokenAccount } from '../../chain-formats/spl-token.ts';

/** Adds to each Solana owner the token accounts that receive `tokensOf(mode)`. */
export function withTokenAccounts(pool: AddressPool, tokensOf: (mode: Mode) => readonly Token[]): AddressPool {
  return {
    take(mode, family) {
      const given = pool.take(mode, family);
      if (given === null || family !== 'solana') return given;
      const tokenAccounts: Partial<Record<Coin, string>> = {};
      for (const { coin, address } of tokensOf(mode))
        tokenAccounts[coin] = associatedTokenAccount(given.address, address);
      return { ...given, tokenAccounts };
    },
    giveBack: (mode, address) => pool.giveBack(mode, address),
    isWithheld: (mode, family) => pool.isWithheld?.(mode, family) ?? false,
  };
}
