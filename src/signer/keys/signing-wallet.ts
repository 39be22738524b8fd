import type { AddressFamily } from '../../domain/networks/networks.ts';
import type { TreasuryAddresses } from '../../ports/outgoing/signer.ts';

/** The signing key: the treasury's, or that of the collection address at this index. */
export type KeyPlace = 'treasury' | number;

/**
 * Access to keys, which the rest of the signer never sees: addresses are public, and signatures are asynchronous.
 * `Wallet` holds the keys in this process; a key management service or a hardware module can implement the same four
 * operations.
 */
export interface SigningWallet {
  /** The account that pays refunds. */
  readonly treasury: TreasuryAddresses;
  /** The collection address at this index of the wallet. */
  collectionAddress(family: AddressFamily, index: number): string;
  /** secp256k1 over 32 bytes: `r`, `s` (the lower one) and `v` (27 or 28), 65 bytes. */
  signDigest(family: 'evm' | 'tron', place: KeyPlace, digest: Uint8Array): Promise<Uint8Array>;
  /** Ed25519 over the message itself, 64 bytes. */
  signSolanaMessage(place: KeyPlace, message: Uint8Array): Promise<Uint8Array>;
}
