import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import type { Mode } from '../domain/ids.ts';

/**
 * Cost of the key derivation (scrypt). `passphrase` is for words that people choose (128 MiB, some tenths of a second);
 * `randomKey` for 256 random bits, which no amount of work could guess anyway.
 */
export const SCRYPT_COST = { passphrase: { N: 2 ** 17, r: 8, p: 1 }, randomKey: { N: 2 ** 10, r: 8, p: 1 } } as const;
const MAX_SCRYPT_N = 2 ** 20;
const KEY_BYTES = 32;
const SALT_BYTES = 32;
/** 96 bits, as AES-GCM wants it; fresh for every file because the key is, too (the salt is). */
const IV_BYTES = 12;
const TAG_BYTES = 16;

const bytes = (length: number) => z.string().regex(new RegExp(`^[0-9a-f]{${length * 2}}$`));
const keystoreSchema = z.strictObject({
  format: z.literal('quittance-keystore'),
  version: z.literal(1),
  mode: z.enum(['live', 'test']),
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
});
type Keystore = z.infer<typeof keystoreSchema>;

/** The file is not a keystore, belongs to another mode, or the passphrase does not open it. Never says more. */
export class KeystoreRefused extends Error {
  override readonly name = 'KeystoreRefused';
}

/** Encrypts a mnemonic. Everything readable in the file is bound to the ciphertext. */
export function sealKeystore(mode: Mode, mnemonic: string, passphrase: string, cost: { N: number; r: number; p: number }): Keystore {
  const salt = randomBytes(SALT_BYTES);
  const iv = randomBytes(IV_BYTES);
  const kdf = { name: 'scrypt', N: cost.N, r: cost.r, p: cost.p, salt: salt.toString('hex') } as const;
  const cipher = createCipheriv('aes-256-gcm', deriveKey(passphrase, kdf), iv);
  cipher.setAAD(boundHeader(mode, kdf));
  const text = Buffer.concat([cipher.update(mnemonic, 'utf8'), cipher.final()]).toString('hex');
  const tag = cipher.getAuthTag().toString('hex');
  return { format: 'quittance-keystore', version: 1, mode, kdf, cipher: { name: 'aes-256-gcm', iv: iv.toString('hex'), tag, text } };
}

/** Decrypts a keystore's JSON text to its mnemonic. Throws `KeystoreRefused`. */
export function openKeystore(text: string, mode: Mode, passphrase: string): string {
  const keystore = parseKeystore(text);
  if (keystore.mode !== mode) throw new KeystoreRefused(`the keystore holds ${keystore.mode} keys, not ${mode} keys`);
  const { iv, tag, text: sealed } = keystore.cipher;
  const decipher = createDecipheriv('aes-256-gcm', deriveKey(passphrase, keystore.kdf), Buffer.from(iv, 'hex'), { authTagLength: TAG_BYTES });
  decipher.setAAD(boundHeader(mode, keystore.kdf));
  decipher.setAuthTag(Buffer.from(tag, 'hex'));
  try {
    return Buffer.concat([decipher.update(sealed, 'hex'), decipher.final()]).toString('utf8');
  } catch {
    throw new KeystoreRefused('the passphrase does not open the keystore, or the file was changed');
  }
}

/** Writes a file that only its owner may read, whole or not at all, also over a crash. */
export function writePrivateFile(path: string, text: string): void {
  const temporary = `${path}.${process.pid}.new`;
  const file = openSync(temporary, 'wx', 0o600);
  try {
    // Unlike one write, it goes on until all is written: a disk that fills up takes the beginning and reports no fault.
    writeFileSync(file, text);
    fsyncSync(file);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}

/** Throws `KeystoreRefused` when the file cannot be read. */
export function readKeystoreFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new KeystoreRefused(`the keystore file cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
}

function parseKeystore(text: string): Keystore {
  try {
    return keystoreSchema.parse(JSON.parse(text));
  } catch {
    throw new KeystoreRefused('the file is not a keystore of this service');
  }
}

function deriveKey(passphrase: string, { N, r, p, salt }: Keystore['kdf']): Buffer {
  return scryptSync(passphrase.normalize('NFKC'), Buffer.from(salt, 'hex'), KEY_BYTES, { N, r, p, maxmem: 256 * N * r });
}

const boundHeader = (mode: Mode, kdf: Keystore['kdf']): Buffer =>
  Buffer.from(JSON.stringify(['quittance-keystore', 1, mode, kdf.N, kdf.r, kdf.p, kdf.salt]));
