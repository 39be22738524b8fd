import type { Mode } from '../domain/ids.ts';
import type { AddressFamily } from '../domain/networks.ts';

/** What a chain itself remembers of addresses. Throws `ChainUnavailable` when it cannot be asked. */
export interface AddressHistory {
  /** Those that the chain knows: they hold or held an allow-listed coin, or sent a transaction. */
  usedAmong(addresses: readonly string[]): Promise<ReadonlySet<string>>;
}

/** How far a wallet's indexes were leased, as remembered apart from the ledger. */
export interface AddressMark {
  /** Every index below was leased, whatever the ledger says. */
  readonly next: number;
  /** Addresses below this index are given out only after the chains were asked about them. */
  readonly checkBelow: number;
}

/**
 * Remembers marks where no backup of the ledger is restored with them, so that a restored ledger is noticed. Marks
 * belong to a wallet, named by its first address: another wallet starts anew.
 */
export interface AddressMarks {
  read(mode: Mode, family: AddressFamily, firstAddress: string): Promise<AddressMark | null>;
  /** Resolves once the mark would survive a crash. */
  write(mode: Mode, family: AddressFamily, firstAddress: string, mark: AddressMark): Promise<void>;
}
