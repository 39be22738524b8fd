import { createHash } from 'node:crypto';
import { HDKey } from '@scure/bip32';

/** The public half of a BIP-32 node: derives every non-hardened child, but cannot sign. */
export interface ExtendedPublicKey {
  /** 33 bytes, compressed. */
  readonly publicKey: Uint8Array;
  /** 32 bytes. */
  readonly chainCode: Uint8Array;
}

/** The text is not an extended public key of the right depth. The message never repeats the text. */
export class InvalidExtendedPublicKey extends Error {
  override readonly name = 'InvalidExtendedPublicKey';
}

/** BIP-44 `m / purpose' / coin_type' / account'`: what wallets call the account key. */
const ACCOUNT_DEPTH = 3;
/** One below it, the branch of external addresses: `m / purpose' / coin_type' / account' / 0`. */
const EXTERNAL_BRANCH_DEPTH = 4;

/**
 * Reads an `xpub...` of the external branch (`m/44'/coin'/0'/0`), or of the account (`m/44'/coin'/0'`), whose external
 * branch it then derives. Throws `InvalidExtendedPublicKey` for anything else, above all for a private key.
 */
export function readExtendedPublicKey(xpub: string): ExtendedPublicKey {
  const node = parse(xpub.trim());
  if (node.privateKey !== null)
    throw new InvalidExtendedPublicKey('this is a private key: the watch-only side must hold public keys only');
  const branch = node.depth === ACCOUNT_DEPTH ? node.deriveChild(0) : node;
  if (branch.depth !== EXTERNAL_BRANCH_DEPTH || !branch.publicKey || !branch.chainCode) {
    throw new InvalidExtendedPublicKey(
      `an extended public key of m/44'/coin'/0'/0 is needed (depth 4), this one has depth ${node.depth}`,
    );
  }
  return { publicKey: branch.publicKey, chainCode: branch.chainCode };
}

/** The same for every notation of the same branch. */
export const fingerprintOf = ({ publicKey, chainCode }: ExtendedPublicKey): string =>
  createHash('sha256').update(publicKey).update(chainCode).digest('hex');

function parse(xpub: string): HDKey {
  try {
    return HDKey.fromExtendedKey(xpub);
  } catch {
    throw new InvalidExtendedPublicKey('not an extended public key (xpub...)');
  }
}
