import type { Mode } from '../domain/ids.ts';
import type { Coin } from '../domain/money.ts';
import type { AddressFamily } from '../domain/networks.ts';

export interface CollectionAddress {
  readonly family: AddressFamily;
  readonly address: string;
  readonly derivationIndex: number;
  /** Solana: the associated token account of the owner per coin, where the money lands. */
  readonly tokenAccounts?: Readonly<Partial<Record<Coin, string>>>;
}

/** Collection addresses derived ahead of demand; each is given out at most once, over restarts and nodes. */
export interface AddressPool {
  /** Null when the family has none to give now: its networks are then left out of the session, never a 5xx. */
  take(mode: Mode, family: AddressFamily): CollectionAddress | null;
  /** Takes back an address that was never shown to anyone (its session was not stored). */
  giveBack(mode: Mode, address: CollectionAddress): void;
  /** There may be addresses, but the holder of the keys has not called them its own. Absent: nobody is asked. */
  isWithheld?(mode: Mode, family: AddressFamily): boolean;
}

/** What addresses are derived from, told apart without telling it. */
export interface AddressSource {
  readonly mode: Mode;
  readonly family: AddressFamily;
  /**
   * SHA-256 (hex) of the extended public key (key and chain code), or of all keys of an exported pool in their order.
   */
  readonly fingerprint: string;
  /** Keys of an exported pool; null for an extended public key. */
  readonly keys: number | null;
}

/** Whoever holds the keys. */
export interface AddressOwner {
  /** Rejects while it cannot be asked. */
  owns(source: AddressSource): Promise<boolean>;
}

/** Turns an index into an address without any private key. */
export interface AddressDeriver {
  readonly family: AddressFamily;
  readonly mode: Mode;
  /** How many indexes exist; infinite for extended public keys, the pool's size for Solana. */
  readonly capacity: number;
  /** Absent: the holder of the keys is asked for each address. */
  readonly source?: AddressSource;
  derive(fromIndex: number, count: number): Promise<string[]>;
}
