import type { Mode } from '../domain/ids.ts';
import type { Network } from '../domain/networks.ts';
import type { Sender } from '../domain/senders.ts';

/** Tells on one network whether an address is run by code instead of a key. */
export interface ContractCheck {
  readonly network: Network;
  readonly mode: Mode;
  /** Throws `ChainUnavailable` when no provider answers. */
  isContract(address: string): Promise<boolean>;
  close(): Promise<void>;
}

/** Looks at who paid. */
export interface Senders {
  /** Null when it cannot be told now. */
  of(mode: Mode, network: Network, address: string): Promise<Sender | null>;
}
