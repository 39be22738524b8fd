import { createPrivateKey, createPublicKey, hash, hkdfSync, sign, type KeyObject } from 'node:crypto';
import { verifierKeyOf, type VerifierKey } from '../../runtime/merkle/checkpoint-note.ts';

const PKCS8_OF_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');
const RAW_KEY_BYTES = 32;

/** The Ed25519 key that signs checkpoints, derived from the wallet's seed, so that the mnemonic alone restores it. */
export class AuditKey {
  readonly verifierKey: VerifierKey;
  readonly #privateKey: KeyObject;

  constructor(seed: Uint8Array) {
    const secret = Buffer.from(hkdfSync('sha256', seed, '', 'quittance/audit-checkpoints/v1', RAW_KEY_BYTES));
    this.#privateKey = createPrivateKey({
      key: Buffer.concat([PKCS8_OF_ED25519, secret]),
      format: 'der',
      type: 'pkcs8',
    });
    secret.fill(0);
    const publicKey = createPublicKey(this.#privateKey)
      .export({ format: 'der', type: 'spki' })
      .subarray(-RAW_KEY_BYTES);
    // The origin is derived from the key, so that a log and its key cannot be separated.
    this.verifierKey = verifierKeyOf(`quittance/${hash('sha256', publicKey, 'hex').slice(0, 16)}`, publicKey);
  }

  /** 64 bytes. */
  sign(text: string): Buffer {
    return sign(null, Buffer.from(text), this.#privateKey);
  }
}
