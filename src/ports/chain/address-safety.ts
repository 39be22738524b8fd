import type { Mode } from '../../domain/values/ids.ts';
import type { AddressFamily } from '../../domain/networks/networks.ts';

/** A chain's own knowledge of addresses. Throws `ChainUnavailable` when it cannot be asked. */
export interface AddressHistory {
  /** The addresses that the chain knows: they hold or held an allow-listed coin, or sent a transaction. */
  usedAmong(addresses: readonly string[]): Promise<ReadonlySet<string>>;
}

/** How far a wallet's indexes were leased, as recorded outside the event log. */
export interface AddressMark {
  /** Every index below was leased, whatever the event log says. */
  readonly next: number;
  /** Addresses below this index are assigned only after a check on their chains. */
  readonly checkBelow: number;
}

/**
 * Stores marks where no backup of the event log restores them with it, so that a restored event log is noticed. Marks
 * belong to a wallet, identified by its first address: another wallet starts over.
 */
export interface AddressMarks {
  read(mode: Mode, family: AddressFamily, firstAddress: string): Promise<AddressMark | null>;
  /** Resolves once the mark would survive a crash. */
  write(mode: Mode, family: AddressFamily, firstAddress: string, mark: AddressMark): Promise<void>;
}
