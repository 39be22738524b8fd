import { createHmac, createSecretKey, ECDH } from 'node:crypto';
import { createRequire } from 'node:module';
import { HDKey } from '@scure/bip32';
import type { ExtendedPublicKey } from './extended-public-key.ts';
import { must } from '../../domain/values/must.ts';

/** Public child derivation (BIP-32 CKDpub) of one parent: the child's public key, 65 bytes uncompressed. */
export type ChildPublicKeys = (index: number) => Uint8Array;

/** Prepares the derivation of a parent's children. */
export type ChildDerivation = (parent: ExtendedPublicKey) => ChildPublicKeys;

/** Indexes from here on are hardened and have no public derivation. */
export const HARDENED_OFFSET = 0x8000_0000;

const COMPRESSED_BYTES = 33;
const UNCOMPRESSED_BYTES = 65;
const TWEAK_BYTES = 32;

/** The two functions of libsecp256k1 that public derivation needs. */
interface NativeCurve {
  publicKeyConvert(publicKey: Uint8Array, compressed: boolean): Uint8Array;
  publicKeyTweakAdd(publicKey: Uint8Array, tweak: Uint8Array, compressed: boolean, output: Uint8Array): Uint8Array;
}

/** libsecp256k1 through its addon, about ten times as fast; null if the addon has no binary for this machine. */
function loadNativeCurve(): NativeCurve | null {
  try {
    return createRequire(import.meta.url)('secp256k1/bindings.js') as NativeCurve;
  } catch {
    return null;
  }
}

/** CKDpub with libsecp256k1; null when the addon cannot be loaded. */
export function nativeChildDerivation(): ChildDerivation | null {
  const curve = loadNativeCurve();
  if (!curve) return null;
  return ({ publicKey, chainCode }) => {
    // A key object saves the key set-up of each HMAC, the uncompressed form a square root per addition.
    const hmacKey = createSecretKey(chainCode);
    const parent = curve.publicKeyConvert(publicKey, false);
    const data = Buffer.alloc(COMPRESSED_BYTES + 4);
    data.set(publicKey);
    return (index) => {
      data.writeUInt32BE(index, COMPRESSED_BYTES);
      const tweak = createHmac('sha512', hmacKey).update(data).digest().subarray(0, TWEAK_BYTES);
      return curve.publicKeyTweakAdd(parent, tweak, false, Buffer.allocUnsafe(UNCOMPRESSED_BYTES));
    };
  };
}

/** CKDpub in plain JavaScript, for machines without the addon and to verify the addon. */
export const portableChildDerivation: ChildDerivation = (parent) => {
  const node = new HDKey(parent);
  return (index) =>
    ECDH.convertKey(
      must(node.deriveChild(index).publicKey),
      'secp256k1',
      undefined,
      undefined,
      'uncompressed',
    ) as Buffer;
};
