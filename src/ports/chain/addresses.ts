import type { Mode } from '../../domain/values/ids.ts';
import type { Coin } from '../../domain/money/money.ts';
import type { AddressFamily } from '../../domain/networks/networks.ts';

export interface CollectionAddress {
  readonly family: AddressFamily;
  readonly address: string;
  readonly derivationIndex: number;
  /** Solana: the owner's associated token account per coin, which receives the money. */
  readonly tokenAccounts?: Readonly<Partial<Record<Coin, string>>>;
}

/** Collection addresses derived ahead of demand. Each is assigned at most once, across restarts and nodes. */
export interface AddressPool {
  /** Null if the family has none to assign now. Its networks are then left out of the session, without an error. */
  take(mode: Mode, family: AddressFamily): CollectionAddress | null;
  /** Takes back an address that was never shown to anyone (its session was not stored). */
  giveBack(mode: Mode, address: CollectionAddress): void;
  /**
   * Whether there may be addresses that the holder of the keys has not confirmed as its own. Absent: nobody is asked.
   */
  isWithheld?(mode: Mode, family: AddressFamily): boolean;
}

/** Identifies the source of addresses without revealing it. */
export interface AddressSource {
  readonly mode: Mode;
  readonly family: AddressFamily;
  /** SHA-256 (hex) of the extended public key (key and chain code), or of all keys of an exported pool in order. */
  readonly fingerprint: string;
  /** Number of keys of an exported pool; null for an extended public key. */
  readonly keys: number | null;
}

/** The holder of the keys. */
export interface AddressOwner {
  /** Rejects while the holder cannot be asked. */
  owns(source: AddressSource): Promise<boolean>;
}

/** Derives addresses by index without any private key. */
export interface AddressDeriver {
  readonly family: AddressFamily;
  readonly mode: Mode;
  /** Number of indexes: infinite for extended public keys, the pool's size for Solana. */
  readonly capacity: number;
  /** Absent: the holder of the keys derives each address. */
  readonly source?: AddressSource;
  derive(fromIndex: number, count: number): Promise<string[]>;
}
