import { readFileSync } from 'node:fs';
import type { WalletSource } from '../../ports/signer/protocol.ts';
import type { Mode } from '../../domain/values/ids.ts';

/** Environment variables with secrets; `takeWalletSources` removes them from the given environment. */
const SECRET_VARIABLES = [
  'WALLET_MNEMONIC',
  'TEST_WALLET_MNEMONIC',
  'WALLET_KEYSTORE_PASSPHRASE',
  'TEST_WALLET_KEYSTORE_PASSPHRASE',
] as const;

const FILE_VARIABLES = [
  'WALLET_KEYSTORE',
  'WALLET_KEYSTORE_PASSPHRASE_FILE',
  'TEST_WALLET_KEYSTORE',
  'TEST_WALLET_KEYSTORE_PASSPHRASE_FILE',
] as const;

export class InvalidWalletSettings extends Error {
  override readonly name = 'InvalidWalletSettings';
}

/**
 * Takes the wallet settings out of an environment: `WALLET_MNEMONIC`, or `WALLET_KEYSTORE` (a file) with
 * `WALLET_KEYSTORE_PASSPHRASE` or `WALLET_KEYSTORE_PASSPHRASE_FILE`; prefixed with `TEST_` for test mode. Call it with
 * `process.env` before anything else starts: it deletes the secrets, so that no later child, crash report or library
 * can read them. What the system keeps in `/proc/<pid>/environ` cannot be deleted (see `docs/wallet.md`). Throws
 * `InvalidWalletSettings`.
 */
export function takeWalletSources(env: Record<string, string | undefined>): { readonly [mode in Mode]?: WalletSource } {
  const sources: { [mode in Mode]?: WalletSource } = {};
  try {
    for (const mode of ['live', 'test'] as const) {
      const source = sourceOf(env, mode === 'test' ? 'TEST_' : '');
      if (source) sources[mode] = source;
    }
    return sources;
  } finally {
    for (const name of SECRET_VARIABLES) delete env[name];
  }
}

/**
 * The part of an environment from which wallets can be reread: files, without secrets. Null if a secret is needed,
 * which is gone after the first time.
 */
export function rereadableWallets(env: Readonly<Record<string, string | undefined>>): Record<string, string> | null {
  if (SECRET_VARIABLES.some((name) => env[name])) return null;
  return Object.fromEntries(FILE_VARIABLES.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
}

function sourceOf(env: Readonly<Record<string, string | undefined>>, prefix: '' | 'TEST_'): WalletSource | null {
  const mnemonic = env[`${prefix}WALLET_MNEMONIC`];
  const file = env[`${prefix}WALLET_KEYSTORE`];
  if (mnemonic && file)
    throw new InvalidWalletSettings(`set ${prefix}WALLET_MNEMONIC or ${prefix}WALLET_KEYSTORE, not both`);
  if (mnemonic) return { kind: 'mnemonic', mnemonic };
  if (!file) return null;
  const passphrase =
    env[`${prefix}WALLET_KEYSTORE_PASSPHRASE`] ?? passphraseFrom(env[`${prefix}WALLET_KEYSTORE_PASSPHRASE_FILE`]);
  if (!passphrase)
    throw new InvalidWalletSettings(`${prefix}WALLET_KEYSTORE needs ${prefix}WALLET_KEYSTORE_PASSPHRASE or ..._FILE`);
  return { kind: 'keystore', file, passphrase };
}

function passphraseFrom(file: string | undefined): string | null {
  if (!file) return null;
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    throw new InvalidWalletSettings(`the passphrase file cannot be read: ${file}`);
  }
}
