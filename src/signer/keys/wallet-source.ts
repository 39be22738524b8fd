import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Mode } from '../../domain/values/ids.ts';
import type { WalletSource } from '../../ports/signer/protocol.ts';
import { writePrivateFile } from '../../runtime/files/private-file.ts';
import { KeystoreRefused, openKeystore, readKeystoreFile, sealKeystore } from './keystore.ts';
import { SCRYPT_COST } from './sealed-text.ts';
import { newMnemonic } from './wallet.ts';
import { makeFolder } from '../../runtime/files/make-folder.ts';

/** The mnemonic of a mode. Throws `KeystoreRefused`. */
export function readMnemonic(mode: Mode, source: WalletSource): string {
  switch (source.kind) {
    case 'mnemonic':
      return source.mnemonic;
    case 'keystore':
      return openKeystore(readKeystoreFile(source.file), mode, source.passphrase);
    case 'sandbox':
      return sandboxMnemonic(mode, source.directory);
  }
}

/**
 * Created at the first start: first a key file, then the keystore that it opens, so that a crash in between does no
 * harm.
 */
function sandboxMnemonic(mode: Mode, directory: string): string {
  if (mode === 'live') throw new KeystoreRefused('the sandbox has no live keys');
  makeFolder(directory);
  const keyFile = join(directory, `${mode}.key`);
  const keystoreFile = join(directory, `${mode}.keystore.json`);
  if (existsSync(keystoreFile)) return openKeystore(readKeystoreFile(keystoreFile), mode, readKeyFile(keyFile));
  if (!existsSync(keyFile)) writePrivateFile(keyFile, randomBytes(32).toString('hex'));
  const mnemonic = newMnemonic();
  writePrivateFile(
    keystoreFile,
    `${JSON.stringify(sealKeystore(mode, mnemonic, readKeyFile(keyFile), SCRYPT_COST.randomKey), null, 2)}\n`,
  );
  return mnemonic;
}

function readKeyFile(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    throw new KeystoreRefused(`the key file beside the sandbox keystore is missing: ${path}`);
  }
}
