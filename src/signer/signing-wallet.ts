import type { AddressFamily } from '../domain/networks.ts';
import type { TreasuryAddresses } from '../ports/outgoing-signer.ts';

/** Whose key signs: the treasury's, or that of the collection address at this place of the wallet. */
export type KeyPlace = 'treasury' | number;

/**
 * What the signer needs of keys, which it never sees: addresses are public, and a signature is waited for. `Wallet`
 * holds the keys in this process; a key management service or a hardware module stands behind the same four questions.
 */
export interface SigningWallet {
  /** Where refunds are paid from. */
  readonly treasury: TreasuryAddresses;
  /** The collection address that sessions show at this place of the wallet. */
  collectionAddress(family: AddressFamily, index: number): string;
  /** secp256k1 over 32 bytes: `r`, `s` (the lower one) and `v` (27 or 28), 65 bytes. */
  signDigest(family: 'evm' | 'tron', place: KeyPlace, digest: Uint8Array): Promise<Uint8Array>;
  /** Ed25519 over the message itself, 64 bytes. */
  signSolanaMessage(place: KeyPlace, message: Uint8Array): Promise<Uint8Array>;
}
