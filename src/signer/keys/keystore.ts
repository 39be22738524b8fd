import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Mode } from '../../domain/values/ids.ts';
import { openText, sealedFields, sealText, type ScryptCost } from './sealed-text.ts';
import { codeOf } from '../../runtime/util/code-of.ts';

const keystoreSchema = z.strictObject({
  format: z.literal('quittance-keystore'),
  version: z.literal(1),
  mode: z.enum(['live', 'test']),
  ...sealedFields,
});
type Keystore = z.infer<typeof keystoreSchema>;

/** The file is not a keystore, belongs to another mode, or the passphrase is wrong. Never tells more. */
export class KeystoreRefused extends Error {
  override readonly name = 'KeystoreRefused';
}

/** Encrypts a mnemonic. All plaintext fields are authenticated with the ciphertext. */
export function sealKeystore(mode: Mode, mnemonic: string, passphrase: string, cost: ScryptCost): Keystore {
  return { format: 'quittance-keystore', version: 1, mode, ...sealText(headerOf(mode), mnemonic, passphrase, cost) };
}

/** Decrypts a keystore's JSON text to its mnemonic. Throws `KeystoreRefused`. */
export function openKeystore(text: string, mode: Mode, passphrase: string): string {
  const keystore = parseKeystore(text);
  if (keystore.mode !== mode) throw new KeystoreRefused(`the keystore holds ${keystore.mode} keys, not ${mode} keys`);
  const mnemonic = openText(headerOf(mode), keystore, passphrase);
  if (mnemonic === null)
    throw new KeystoreRefused('the passphrase does not open the keystore, or the file was modified');
  return mnemonic;
}

const headerOf = (mode: Mode): readonly unknown[] => ['quittance-keystore', 1, mode];

/** Throws `KeystoreRefused` when the file cannot be read. */
export function readKeystoreFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new KeystoreRefused(`the keystore file cannot be read (${codeOf(error) ?? 'unknown'})`);
  }
}

function parseKeystore(text: string): Keystore {
  try {
    return keystoreSchema.parse(JSON.parse(text));
  } catch {
    throw new KeystoreRefused('the file is not a keystore of this service');
  }
}
