import { accessSync, constants, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { startSignerProcess, type SignerProcess } from '../adapters/signer/process.ts';
import { takeWalletSources } from '../adapters/signer/wallet-sources.ts';
import {
  type AdminArguments,
  CommandRefused,
  optionalText,
  requiredMode,
  requiredText,
} from '../operator/server/commands.ts';
import { askNewPassphrase, askPassphrase, isThere, ownTerminal, type Terminal } from '../cli/passphrase.ts';
import type { Mode } from '../domain/values/ids.ts';
import type { Log } from '../ports/log.ts';
import type { JsonValue } from '../ports/read-model/read-model.ts';
import { MAX_SOLANA_KEYS_PER_REQUEST, type WalletSource } from '../ports/signer/protocol.ts';
import { writePrivateFile } from '../runtime/files/private-file.ts';
import { KeystoreRefused, openKeystore, sealKeystore } from '../signer/keys/keystore.ts';
import { SCRYPT_COST } from '../signer/keys/sealed-text.ts';
import { InvalidMnemonic, newMnemonic, Wallet } from '../signer/keys/wallet.ts';
import { must } from '../domain/values/must.ts';
import { codeOf } from '../runtime/util/code-of.ts';
import { LOST_WITHOUT_WORDS, showWords } from './words.ts';

type Environment = Record<string, string | undefined>;

/** Enough for several chosen words; shorter ones can be guessed despite scrypt. */
const MIN_PASSPHRASE = 12;
const DEFAULT_POOL = 10_000;
const MAX_POOL = 1_000_000;
const MAX_PASSPHRASE = 1024;

/**
 * `quittance wallet ...`: creates and checks the files of a signer and a watch-only host. Needs no service and no data
 * directory.
 */
export async function runWalletTool(
  command: string,
  args: AdminArguments,
  env: Environment,
  log: Log,
  terminal: Terminal = ownTerminal(),
): Promise<JsonValue> {
  switch (command) {
    case 'wallet.init':
      return init(args, env, log, terminal);
    case 'wallet.words':
      return words(args, env, terminal);
    case 'wallet.export-watch-only':
      return exportWatchOnly(args, env, log);
    case 'wallet.verify':
      return verify(args, env, log);
    default:
      throw new CommandRefused(`unknown command ${command}`);
  }
}

/** A new keystore file, from new or existing words. Never overwrites a file. */
async function init(args: AdminArguments, env: Environment, log: Log, terminal: Terminal): Promise<JsonValue> {
  const mode = requiredMode(args);
  const file = resolve(requiredText(args, 'keystore'));
  if (existsSync(file)) throw new CommandRefused(`${file} exists: a keystore is never replaced, move it away first`);
  const brought = optionalText(args, 'import');
  // Keys of test mode hold no money.
  const isShown = mode === 'live' && brought === undefined && args['wordsLater'] !== true;
  if (isShown && !isThere(terminal)) throw new CommandRefused(NOBODY_READS);
  assertWritable(file);
  const mnemonic = brought === undefined ? newMnemonic() : checked(readText(brought, 'import'));
  const passphrase = checkedPassphrase(givenPassphrase(mode, args, env) ?? (await askNewPassphrase('keystore')));
  // Before there is a keystore: money is never paid to keys whose words nobody has.
  if (isShown) await showWords(terminal, mnemonic);
  writeText(file, `${JSON.stringify(sealKeystore(mode, mnemonic, passphrase, SCRYPT_COST.passphrase), null, 2)}\n`);
  // The signer itself must be able to open the file.
  const treasury = await withSigner(mode, { kind: 'keystore', file, passphrase }, log, (signer) =>
    signer.treasuryAddresses(mode),
  );
  const { N, r, p } = SCRYPT_COST.passphrase;
  return {
    mode,
    keystore: file,
    encryption: `aes-256-gcm, scrypt N=${N} r=${r} p=${p}`,
    treasury: { ...treasury },
    words: brought !== undefined ? 'yours, as imported' : isShown ? 'written down and asked for' : NOT_SHOWN,
    ...(mode === 'live' && { keep: LOST_WITHOUT_WORDS }),
  };
}

const NOBODY_READS =
  'the recovery words of a new keystore are shown at a terminal, and there is none: run this at one, or add --words-later ' +
  'and run "quittance wallet words" before any money arrives; until then it depends on this file and its passphrase alone';
const NOT_SHOWN = 'not shown: "quittance wallet words" shows them at a terminal; do that before any money arrives';

/** Nobody shall write down words for a keystore that cannot be made. */
function assertWritable(file: string): void {
  try {
    accessSync(dirname(file), constants.W_OK);
  } catch (error) {
    throw new CommandRefused(`${file} cannot be written (${codeOf(error) ?? 'unknown'})`);
  }
}

/** Shows the words of a keystore to a person, never to a program. */
async function words(args: AdminArguments, env: Environment, terminal: Terminal): Promise<JsonValue> {
  const mode = requiredMode(args);
  const file = optionalText(args, 'keystore') ?? env[`${prefixOf(mode)}WALLET_KEYSTORE`];
  if (!file)
    throw new CommandRefused(`no keystore: name a file with --keystore, or set ${prefixOf(mode)}WALLET_KEYSTORE`);
  if (!isThere(terminal)) throw new CommandRefused('the words are shown at a terminal only, and there is none');
  const text = readText(file, 'keystore');
  const passphrase = givenPassphrase(mode, args, env) ?? (await askPassphrase('Passphrase of the keystore: '));
  await showWords(terminal, opened(text, mode, passphrase));
  return { mode, keystore: resolve(file), words: 'written down and asked for', keep: LOST_WITHOUT_WORDS };
}

function opened(text: string, mode: Mode, passphrase: string): string {
  try {
    return openKeystore(text, mode, passphrase);
  } catch (error) {
    throw error instanceof KeystoreRefused ? new CommandRefused(`keystore: ${error.message}`) : error;
  }
}

async function exportWatchOnly(args: AdminArguments, env: Environment, log: Log): Promise<JsonValue> {
  const mode = requiredMode(args);
  const size = poolSize(args);
  const file = optionalText(args, 'solanaPoolFile');
  if (size > 0 && file === undefined)
    throw new CommandRefused(
      'name a file for the Solana public keys with --solana-pool-file, or leave them out with --solana-pool 0',
    );
  const prefix = prefixOf(mode);
  return withSigner(mode, sourceOf(mode, args, env), log, async (signer) => {
    const { evmXpub, tronXpub } = await signer.exportWatchOnly(mode, 0);
    if (size > 0) writeText(resolve(must(file)), `${(await solanaKeys(signer, mode, size)).join('\n')}\n`);
    return {
      [`${prefix}WALLET_XPUB_EVM`]: evmXpub,
      [`${prefix}WALLET_XPUB_TRON`]: tronXpub,
      ...(size > 0 && { [`${prefix}WALLET_SOLANA_POOL`]: resolve(must(file)) }),
    };
  });
}

/** Opens the wallet like the signer would and compares it with the watch-only settings in the environment. */
async function verify(args: AdminArguments, env: Environment, log: Log): Promise<JsonValue> {
  const mode = requiredMode(args);
  const prefix = prefixOf(mode);
  return withSigner(mode, sourceOf(mode, args, env), log, async (signer) => {
    const { evmXpub, tronXpub } = await signer.exportWatchOnly(mode, 0);
    const compared = {
      [`${prefix}WALLET_XPUB_EVM`]: judged(env[`${prefix}WALLET_XPUB_EVM`], (value) => value === evmXpub),
      [`${prefix}WALLET_XPUB_TRON`]: judged(env[`${prefix}WALLET_XPUB_TRON`], (value) => value === tronXpub),
      [`${prefix}WALLET_SOLANA_POOL`]: await judgedPool(env[`${prefix}WALLET_SOLANA_POOL`], signer, mode),
    };
    const wrong = Object.entries(compared).flatMap(([name, verdict]) =>
      verdict === 'of another wallet' ? [name] : [],
    );
    if (wrong.length > 0)
      throw new CommandRefused(
        `${wrong.join(', ')}: of another wallet; money paid to its addresses could not be moved`,
      );
    return { mode, wallet: 'opens', treasury: { ...(await signer.treasuryAddresses(mode)) }, ...compared };
  });
}

type Verdict = 'of this wallet' | 'of another wallet' | 'not set';

const judged = (value: string | undefined, isOurs: (value: string) => boolean): Verdict =>
  !value ? 'not set' : isOurs(value) ? 'of this wallet' : 'of another wallet';

async function judgedPool(file: string | undefined, signer: SignerProcess, mode: Mode): Promise<Verdict> {
  if (!file) return 'not set';
  const keys = readText(file, 'WALLET_SOLANA_POOL').split(/\s+/).filter(Boolean);
  const ours = await solanaKeys(signer, mode, keys.length);
  return keys.length > 0 && keys.every((key, place) => key === ours[place]) ? 'of this wallet' : 'of another wallet';
}

async function solanaKeys(signer: SignerProcess, mode: Mode, count: number): Promise<string[]> {
  const keys: string[] = [];
  while (keys.length < count)
    keys.push(
      ...(await signer.exportSolanaKeys(mode, keys.length, Math.min(MAX_SOLANA_KEYS_PER_REQUEST, count - keys.length))),
    );
  return keys;
}

/** A separate signer reads the keys and ends with the command. */
async function withSigner<Result>(
  mode: Mode,
  source: WalletSource,
  log: Log,
  task: (signer: SignerProcess) => Promise<Result>,
): Promise<Result> {
  const directory = mkdtempSync(join(tmpdir(), 'quittance-wallet-'));
  try {
    const signer = await startSignerProcess({ directory, wallets: { [mode]: source }, log });
    try {
      return await task(signer);
    } finally {
      await signer.close();
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The keystore named on the command line, otherwise the wallet of the environment. */
function sourceOf(mode: Mode, args: AdminArguments, env: Environment): WalletSource {
  const file = optionalText(args, 'keystore');
  if (file === undefined) {
    const source = takeWalletSources(env)[mode];
    if (!source)
      throw new CommandRefused(
        `no wallet: name a file with --keystore, or set ${prefixOf(mode)}WALLET_KEYSTORE or ${prefixOf(mode)}WALLET_MNEMONIC`,
      );
    return source;
  }
  const passphrase = givenPassphrase(mode, args, env);
  if (passphrase === null) throw new CommandRefused('the passphrase is missing: name a file with --passphrase-file');
  return { kind: 'keystore', file: resolve(file), passphrase };
}

/** Null if none is given. Never from the command line, which every user of the machine can read. */
function givenPassphrase(mode: Mode, args: AdminArguments, env: Environment): string | null {
  const prefix = prefixOf(mode);
  const file = optionalText(args, 'passphraseFile') ?? env[`${prefix}WALLET_KEYSTORE_PASSPHRASE_FILE`];
  return file ? readText(file, 'passphrase-file').trim() : (env[`${prefix}WALLET_KEYSTORE_PASSPHRASE`] ?? null);
}

const prefixOf = (mode: Mode): '' | 'TEST_' => (mode === 'test' ? 'TEST_' : '');

function poolSize(args: AdminArguments): number {
  const size = Number(optionalText(args, 'solanaPool') ?? DEFAULT_POOL);
  if (!Number.isSafeInteger(size) || size < 0 || size > MAX_POOL)
    throw new CommandRefused(`solana-pool must be a number from 0 to ${MAX_POOL}`);
  return size;
}

/** A file that only its owner may read. */
export function writeText(file: string, text: string): void {
  try {
    writePrivateFile(file, text);
  } catch (error) {
    throw new CommandRefused(`${file} cannot be written (${codeOf(error) ?? 'unknown'})`);
  }
}

/** `-` is standard input. */
export function readText(file: string, name: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch {
    throw new CommandRefused(`${name}: ${file} cannot be read`);
  }
}

export function checkedPassphrase(passphrase: string): string {
  if (passphrase.length < MIN_PASSPHRASE || passphrase.length > MAX_PASSPHRASE)
    throw new CommandRefused(`the passphrase must have ${MIN_PASSPHRASE} to ${MAX_PASSPHRASE} characters`);
  return passphrase;
}

function checked(mnemonic: string): string {
  try {
    new Wallet(mnemonic);
    return mnemonic.trim();
  } catch (error) {
    if (error instanceof InvalidMnemonic) throw new CommandRefused(`import: ${error.message}`);
    throw error;
  }
}
