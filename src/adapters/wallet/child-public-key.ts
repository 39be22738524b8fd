import { createHmac, ECDH } from 'node:crypto';
import { createRequire } from 'node:module';
import { HDKey } from '@scure/bip32';
import type { ExtendedPublicKey } from './extended-public-key.ts';

/** Public child derivation (BIP-32 CKDpub): the child's public key, 65 bytes uncompressed. */
export type ChildPublicKey = (parent: ExtendedPublicKey, index: number) => Uint8Array;

/** Indexes from here on are hardened: no public derivation exists for them. */
export const HARDENED_OFFSET = 0x8000_0000;

/** The one function of libsecp256k1 that public derivation needs. */
interface NativeCurve {
  publicKeyTweakAdd(publicKey: Uint8Array, tweak: Uint8Array, compressed: boolean): Uint8Array;
}

/** libsecp256k1 through its addon, about ten times the speed; null where the addon has no binary for this machine. */
function loadNativeCurve(): NativeCurve | null {
  try {
    return createRequire(import.meta.url)('secp256k1/bindings.js') as NativeCurve;
  } catch {
    return null;
  }
}

/** CKDpub with libsecp256k1; null when the addon cannot be loaded. */
export function nativeChildPublicKey(): ChildPublicKey | null {
  const curve = loadNativeCurve();
  if (!curve) return null;
  return ({ publicKey, chainCode }, index) => {
    const data = Buffer.allocUnsafe(publicKey.length + 4);
    data.set(publicKey);
    data.writeUInt32BE(index, publicKey.length);
    const tweak = createHmac('sha512', chainCode).update(data).digest().subarray(0, 32);
    return curve.publicKeyTweakAdd(publicKey, tweak, false);
  };
}

/** CKDpub in plain JavaScript, for machines without the addon. */
export const portableChildPublicKey: ChildPublicKey = ({ publicKey, chainCode }, index) => {
  const compressed = new HDKey({ publicKey, chainCode }).deriveChild(index).publicKey!;
  return ECDH.convertKey(compressed, 'secp256k1', undefined, undefined, 'uncompressed') as Buffer;
};
