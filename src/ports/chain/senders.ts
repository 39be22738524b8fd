import type { Mode } from '../../domain/values/ids.ts';
import type { Network } from '../../domain/networks/networks.ts';
import type { Sender } from '../../domain/networks/senders.ts';

/** Tells on one network whether code rather than a key controls an address. */
export interface ContractCheck {
  readonly network: Network;
  readonly mode: Mode;
  /** Throws `ChainUnavailable` when no provider answers. */
  isContract(address: string): Promise<boolean>;
  close(): Promise<void>;
}

/** Classifies senders. */
export interface Senders {
  /** Null if it cannot be determined now. */
  of(mode: Mode, network: Network, address: string): Promise<Sender | null>;
}
