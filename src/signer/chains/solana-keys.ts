import { createHmac, createPrivateKey, createPublicKey, sign, type KeyObject } from 'node:crypto';

const HARDENED = 0x8000_0000;
/** PKCS #8 of an Ed25519 key (RFC 8410) up to its 32 secret bytes. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** A SLIP-10 node of ed25519; every step from it is hardened. */
interface Node {
  readonly key: Uint8Array;
  readonly chainCode: Uint8Array;
}

/**
 * Collection keys `m/44'/501'/i'/0'` and the treasury's `m/44'/501'/0'/1'`. Holds private keys and must never leave the
 * signer.
 */
export class SolanaKeys {
  readonly #branch: Node;

  constructor(seed: Uint8Array) {
    this.#branch = child(child(nodeOf('ed25519 seed', seed), 44), 501);
  }

  /** 32 bytes each, for `count` indexes from `fromIndex` on. */
  publicKeys(fromIndex: number, count: number): Buffer[] {
    return Array.from({ length: count }, (_, i) => publicKeyOf(child(child(this.#branch, fromIndex + i), 0)));
  }

  treasuryPublicKey(): Buffer {
    return publicKeyOf(this.#treasury());
  }

  signAsTreasury(message: Uint8Array): Buffer {
    return sign(null, message, privateKeyOf(this.#treasury()));
  }

  signAsCollection(index: number, message: Uint8Array): Buffer {
    return sign(null, message, privateKeyOf(child(child(this.#branch, index), 0)));
  }

  #treasury(): Node {
    return child(child(this.#branch, 0), 1);
  }
}

function nodeOf(chainCode: string | Uint8Array, data: Uint8Array): Node {
  const digest = createHmac('sha512', chainCode).update(data).digest();
  return { key: digest.subarray(0, 32), chainCode: digest.subarray(32) };
}

/** SLIP-10's child derivation without the parent's fingerprint, whose elliptic-curve computation is not needed here. */
function child({ key, chainCode }: Node, index: number): Node {
  const data = Buffer.alloc(37);
  data.set(key, 1);
  data.writeUInt32BE(index + HARDENED, 33);
  return nodeOf(chainCode, data);
}

const privateKeyOf = ({ key }: Node): KeyObject =>
  createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, key]), format: 'der', type: 'pkcs8' });

function publicKeyOf(node: Node): Buffer {
  return createPublicKey(privateKeyOf(node)).export({ format: 'der', type: 'spki' }).subarray(-32);
}
