import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto';
import { z } from 'zod';

/*
 * A text encrypted under a passphrase: scrypt and AES-256-GCM. All plaintext beside it is authenticated with the
 * ciphertext.
 */

/**
 * Cost of the key derivation (scrypt). `passphrase` is for passphrases chosen by people (128 MiB, some tenths of a
 * second); `randomKey` for 256 random bits, which cannot be guessed at any cost.
 */
export const SCRYPT_COST = { passphrase: { N: 2 ** 17, r: 8, p: 1 }, randomKey: { N: 2 ** 10, r: 8, p: 1 } } as const;
export interface ScryptCost {
  readonly N: number;
  readonly r: number;
  readonly p: number;
}
const MAX_SCRYPT_N = 2 ** 20;
const KEY_BYTES = 32;
const SALT_BYTES = 32;
/** 96 bits, as AES-GCM requires; new for every file, like the key (through its salt). */
const IV_BYTES = 12;
const TAG_BYTES = 16;

const bytes = (length: number) => z.string().regex(new RegExp(`^[0-9a-f]{${length * 2}}$`));
/** The fields of a file with a sealed text. */
export const sealedFields = {
  kdf: z.strictObject({
    name: z.literal('scrypt'),
    N: z.int().min(2).max(MAX_SCRYPT_N),
    r: z.int().min(1).max(32),
    p: z.int().min(1).max(16),
    salt: bytes(SALT_BYTES),
  }),
  cipher: z.strictObject({
    name: z.literal('aes-256-gcm'),
    iv: bytes(IV_BYTES),
    tag: bytes(TAG_BYTES),
    text: z.string().regex(/^(?:[0-9a-f]{2}){1,4096}$/),
  }),
};
export type SealedText = { readonly [Field in keyof typeof sealedFields]: z.infer<(typeof sealedFields)[Field]> };

/** `header` is the plaintext of the file. */
export function sealText(header: readonly unknown[], text: string, passphrase: string, cost: ScryptCost): SealedText {
  const iv = randomBytes(IV_BYTES);
  const kdf = {
    name: 'scrypt',
    N: cost.N,
    r: cost.r,
    p: cost.p,
    salt: randomBytes(SALT_BYTES).toString('hex'),
  } as const;
  const cipher = createCipheriv('aes-256-gcm', deriveKey(passphrase, kdf), iv);
  cipher.setAAD(boundHeader(header, kdf));
  const hidden = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]).toString('hex');
  return {
    kdf,
    cipher: { name: 'aes-256-gcm', iv: iv.toString('hex'), tag: cipher.getAuthTag().toString('hex'), text: hidden },
  };
}

/** Null if the passphrase is wrong, or anything in the file was changed. */
export function openText(header: readonly unknown[], { kdf, cipher }: SealedText, passphrase: string): string | null {
  const decipher = createDecipheriv('aes-256-gcm', deriveKey(passphrase, kdf), Buffer.from(cipher.iv, 'hex'), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(boundHeader(header, kdf));
  decipher.setAuthTag(Buffer.from(cipher.tag, 'hex'));
  try {
    return Buffer.concat([decipher.update(cipher.text, 'hex'), decipher.final()]).toString('utf8');
  } catch {
    return null;
  }
}

function deriveKey(passphrase: string, { N, r, p, salt }: SealedText['kdf']): Buffer {
  return scryptSync(passphrase.normalize('NFKC'), Buffer.from(salt, 'hex'), KEY_BYTES, {
    N,
    r,
    p,
    maxmem: 256 * N * r,
  });
}

const boundHeader = (header: readonly unknown[], { N, r, p, salt }: SealedText['kdf']): Buffer =>
  Buffer.from(JSON.stringify([...header, N, r, p, salt]));
