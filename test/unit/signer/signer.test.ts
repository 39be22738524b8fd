import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { HDKey as Slip10 } from 'micro-key-producer/slip10.js';
import { mnemonicToSeedSync } from '@scure/bip39';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startSignerProcess, type SignerProcess } from '../../../src/adapters/signer/process.ts';
import { InvalidWalletSettings, takeWalletSources } from '../../../src/adapters/signer/wallet-sources.ts';
import { startHdDerivation } from '../../../src/adapters/wallet/hd-derivation.ts';
import { silentLog } from '../../../src/ports/log.ts';
import type { WalletSource } from '../../../src/ports/signer/protocol.ts';
import { base58 } from '../../../src/chain-formats/base58.ts';
import { KeystoreRefused, openKeystore, sealKeystore } from '../../../src/signer/keys/keystore.ts';
import { SCRYPT_COST } from '../../../src/signer/keys/sealed-text.ts';
import { SolanaKeys } from '../../../src/signer/chains/solana-keys.ts';
import { InvalidMnemonic, newMnemonic, Wallet } from '../../../src/signer/keys/wallet.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const MNEMONIC = 'test test test test test test test test test test test junk';
const FAST = SCRYPT_COST.randomKey;

let directory: string;
beforeEach(() => {
  directory = temporaryFolder('signer');
});

async function start(
  test: WalletSource,
  options: { live?: WalletSource; directory?: string; onLost?: (reason: string) => void } = {},
): Promise<SignerProcess> {
  const wallets = { test, ...(options.live ? { live: options.live } : {}) };
  const signer = await startSignerProcess({ directory: directory, wallets, log: silentLog, ...options });
  onTestFinished(() => signer.close());
  return signer;
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};
async function ended(pid: number): Promise<void> {
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 10));
}

describe('a wallet', () => {
  it('derives the published addresses of all families', async () => {
    const wallet = new Wallet(MNEMONIC);
    const hd = startHdDerivation();
    expect(await hd.deriver('test', 'evm', wallet.evmXpub).derive(0, 1)).toEqual([
      '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
    ]);
    expect(await hd.deriver('test', 'tron', wallet.tronXpub).derive(0, 1)).toEqual([
      'TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6',
    ]);
    expect(wallet.solanaPublicKeys(0, 1)).toEqual(['oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96']);
    await hd.close();
  });

  it('derives Solana keys as an independent SLIP-10 library does', () => {
    const seed = mnemonicToSeedSync(MNEMONIC);
    const ours = new SolanaKeys(seed).publicKeys(0, 12);
    const theirs = Array.from(
      { length: 12 },
      (_, i) => Slip10.fromMasterSeed(seed).derive(`m/44'/501'/${i}'/0'`).publicKeyRaw,
    );
    expect(ours.map(base58)).toEqual(theirs.map(base58));
  });

  it('accepts only a valid mnemonic, and never shows a wrong one', () => {
    for (const bad of ['', 'test', MNEMONIC.replace('junk', 'test'), `${MNEMONIC} secretword`]) {
      expect(() => new Wallet(bad)).toThrow(InvalidMnemonic);
      expect(() => new Wallet(bad)).toThrow(/^(?!.*(secretword|test))/);
    }
    expect(new Wallet(`  ${MNEMONIC.toUpperCase().replaceAll(' ', '\n')} `).evmXpub).toBe(new Wallet(MNEMONIC).evmXpub);
    expect(newMnemonic().split(' ')).toHaveLength(24);
    expect(newMnemonic()).not.toBe(newMnemonic());
  });
});

describe('a keystore', () => {
  it('opens only with its passphrase and mode', () => {
    const text = JSON.stringify(sealKeystore('live', MNEMONIC, 'correct horse', FAST));
    expect(openKeystore(text, 'live', 'correct horse')).toBe(MNEMONIC);
    expect(() => openKeystore(text, 'live', 'wrong horse')).toThrow(KeystoreRefused);
    expect(() => openKeystore(text, 'test', 'correct horse')).toThrow('live keys, not test keys');
  });

  it('holds nothing readable of what it protects, and never the same bytes twice', () => {
    const [one, two] = [1, 2].map(() => sealKeystore('live', MNEMONIC, 'p', FAST));
    expect(JSON.stringify(one)).not.toContain('test');
    expect(one!.cipher.text).not.toBe(two!.cipher.text);
    expect(one!.kdf.salt).not.toBe(two!.kdf.salt);
  });

  it('refuses every change of its bytes, its header included', () => {
    const sealed = sealKeystore('live', MNEMONIC, 'p', FAST);
    const flip = (hex: string): string => (hex[0] === '0' ? '1' : '0') + hex.slice(1);
    const changed = [
      { ...sealed, mode: 'test' },
      { ...sealed, version: 2 },
      { ...sealed, extra: 1 },
      { ...sealed, kdf: { ...sealed.kdf, N: 2 ** 30 } },
      { ...sealed, kdf: { ...sealed.kdf, salt: flip(sealed.kdf.salt) } },
      { ...sealed, kdf: { ...sealed.kdf, N: sealed.kdf.N * 2 } },
      { ...sealed, cipher: { ...sealed.cipher, iv: flip(sealed.cipher.iv) } },
      { ...sealed, cipher: { ...sealed.cipher, tag: flip(sealed.cipher.tag) } },
      { ...sealed, cipher: { ...sealed.cipher, text: flip(sealed.cipher.text) } },
      { ...sealed, cipher: { ...sealed.cipher, tag: sealed.cipher.tag.slice(0, 8) } },
    ];
    for (const keystore of changed)
      expect(() => openKeystore(JSON.stringify(keystore), 'live', 'p')).toThrow(KeystoreRefused);
    expect(() => openKeystore('not json', 'live', 'p')).toThrow(KeystoreRefused);
  });
});

describe('the signer process', () => {
  it('exports public keys and nothing else', async () => {
    const signer = await start({ kind: 'mnemonic', mnemonic: MNEMONIC });
    const exported = await signer.exportWatchOnly('test', 3);
    expect(exported.evmXpub).toBe(new Wallet(MNEMONIC).evmXpub);
    expect(exported.tronXpub).toMatch(/^xpub/);
    expect(exported.solanaPool).toHaveLength(3);
    expect(await signer.exportSolanaKeys('test', 1, 2)).toEqual(exported.solanaPool.slice(1));
    expect(JSON.stringify(exported)).not.toMatch(/xprv|junk/);
  });

  it('opens live keys only with code from the sources, whatever compiled modules a folder offers', async () => {
    const cache = join(directory, 'compiled');
    vi.stubEnv('NODE_COMPILE_CACHE', cache);
    const source = { kind: 'mnemonic', mnemonic: MNEMONIC } as const;
    const live = await startSignerProcess({ directory, wallets: { live: source }, log: silentLog });
    await live.close();
    expect(existsSync(cache)).toBe(false);
    const test = await startSignerProcess({ directory, wallets: { test: source }, log: silentLog });
    await test.close();
    expect(readdirSync(cache)).not.toEqual([]);
    vi.unstubAllEnvs();
  });

  it('has no keys of a mode it was not given', async () => {
    const signer = await start({ kind: 'mnemonic', mnemonic: MNEMONIC });
    await expect(signer.exportWatchOnly('live', 0)).rejects.toMatchObject({ code: 'no_wallet' });
  });

  it('refuses malformed parameters', async () => {
    const signer = await start({ kind: 'mnemonic', mnemonic: MNEMONIC });
    for (const [from, count] of [
      [-1, 1],
      [0, 1e9],
      [0.5, 1],
      [0x7fff_ffff, 2],
    ] as const) {
      await expect(signer.exportSolanaKeys('test', from, count)).rejects.toMatchObject({ code: 'invalid_params' });
    }
  });

  it('serves many requests at once, each with its own response', async () => {
    const signer = await start({ kind: 'mnemonic', mnemonic: MNEMONIC });
    const pool = await signer.exportSolanaKeys('test', 0, 50);
    const each = await Promise.all(pool.map((_, i) => signer.exportSolanaKeys('test', i, 1)));
    expect(each.flat()).toEqual(pool);
  });

  it('refuses to start with the same keys for live and test', async () => {
    await expect(
      start({ kind: 'mnemonic', mnemonic: MNEMONIC }, { live: { kind: 'mnemonic', mnemonic: MNEMONIC } }),
    ).rejects.toThrow('same');
  });

  it('says why it cannot start, without the secret', async () => {
    await expect(start({ kind: 'mnemonic', mnemonic: 'hush hush' })).rejects.toThrow(/BIP-39(?!.*hush)/);
    await expect(start({ kind: 'keystore', file: join(directory, 'none'), passphrase: 'x' })).rejects.toThrow('ENOENT');
  });

  it('opens an encrypted keystore file', async () => {
    const file = join(directory, 'keystore.json');
    writeFileSync(file, JSON.stringify(sealKeystore('test', MNEMONIC, 'correct horse', FAST)));
    const signer = await start({ kind: 'keystore', file, passphrase: 'correct horse' });
    expect((await signer.exportWatchOnly('test', 0)).evmXpub).toBe(new Wallet(MNEMONIC).evmXpub);
  });

  it('fails its callers when it dies, and says so once', async () => {
    const lost: string[] = [];
    const signer = await start({ kind: 'mnemonic', mnemonic: MNEMONIC }, { onLost: (reason) => lost.push(reason) });
    process.kill(signer.pid, 'SIGKILL');
    await ended(signer.pid);
    await expect(signer.exportWatchOnly('test', 0)).rejects.toMatchObject({ name: 'SignerUnavailable' });
    while (lost.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(lost).toEqual(['the signer ended (SIGKILL)']);
  });

  it('is gone, with its socket, after it was closed', async () => {
    const signer = await start({ kind: 'mnemonic', mnemonic: MNEMONIC });
    await signer.close();
    expect(isAlive(signer.pid)).toBe(false);
    expect(readdirSync(directory)).toEqual([]);
  });

  it('finds a place for its socket where the directory has a very long name', async () => {
    const signer = await start(
      { kind: 'mnemonic', mnemonic: MNEMONIC },
      { directory: join(directory, 'x'.repeat(120)) },
    );
    expect((await signer.exportWatchOnly('test', 0)).mode).toBe('test');
  });
});

describe('a sandbox wallet', () => {
  const sandbox = (name: string): WalletSource => ({ kind: 'sandbox', directory: join(directory, name) });

  it('is random per directory and the same after a restart', async () => {
    const first = await start(sandbox('a'), { directory: join(directory, 'sa') });
    const other = await start(sandbox('b'), { directory: join(directory, 'sb') });
    const exported = await first.exportWatchOnly('test', 1);
    expect((await other.exportWatchOnly('test', 1)).evmXpub).not.toBe(exported.evmXpub);
    await first.close();
    expect(await (await start(sandbox('a'), { directory: join(directory, 'sa') })).exportWatchOnly('test', 1)).toEqual(
      exported,
    );
  });

  it('is encrypted beside its key file, both private', async () => {
    await start(sandbox('a'));
    const files = readdirSync(join(directory, 'a')).sort();
    expect(files).toEqual(['test.key', 'test.keystore.json']);
    for (const file of files) expect(statSync(join(directory, 'a', file)).mode & 0o777).toBe(0o600);
    expect(statSync(join(directory, 'a')).mode & 0o777).toBe(0o700);
    const key = readFileSync(join(directory, 'a', 'test.key'), 'utf8');
    expect(
      openKeystore(readFileSync(join(directory, 'a', 'test.keystore.json'), 'utf8'), 'test', key).split(' '),
    ).toHaveLength(24);
  });

  it('is refused, not replaced, when its key file is lost', async () => {
    await (await start(sandbox('a'))).close();
    const before = readFileSync(join(directory, 'a', 'test.keystore.json'), 'utf8');
    rmSync(join(directory, 'a', 'test.key'));
    await expect(start(sandbox('a'))).rejects.toThrow('key file');
    expect(readFileSync(join(directory, 'a', 'test.keystore.json'), 'utf8')).toBe(before);
  });
});

describe('connecting to the signer', () => {
  const socket = () => connect(join(directory, 'signer.sock'));
  const answerTo = async (lines: string): Promise<string> => {
    const stranger = socket();
    let heard = '';
    stranger.on('data', (chunk) => (heard += chunk.toString()));
    stranger.on('error', () => {});
    stranger.write(lines);
    await new Promise((resolve) => stranger.once('close', resolve));
    return heard;
  };
  const request = JSON.stringify({ id: 1, method: 'exportWatchOnly', params: { mode: 'test', solanaPoolSize: 0 } });

  it('works for this user only', async () => {
    await start({ kind: 'mnemonic', mnemonic: MNEMONIC });
    expect(statSync(join(directory, 'signer.sock')).mode & 0o777).toBe(0o600);
  });

  it('is refused without a token, with a wrong one, or with a request before it', async () => {
    const signer = await start({ kind: 'mnemonic', mnemonic: MNEMONIC });
    for (const line of [
      request,
      '{"token":""}',
      `{"token":"${'0'.repeat(64)}"}`,
      'not json',
      '{"token":"x","more":1}',
      '[]',
      'null',
    ]) {
      expect(await answerTo(`${line}\n${request}\n`)).toBe('');
    }
    expect(await answerTo('x'.repeat(2 * 1024 * 1024))).toBe('');
    expect((await signer.exportWatchOnly('test', 0)).mode).toBe('test');
  });

  it('works once per token', async () => {
    const entry = new URL('../../../src/signer/main.ts', import.meta.url).pathname;
    const child = spawn(process.execPath, [entry], { stdio: ['pipe', 'pipe', 'inherit'], env: {} });
    const token = 'ab'.repeat(32);
    const wallets = { test: { kind: 'mnemonic', mnemonic: MNEMONIC } };
    child.stdin.write(
      `${JSON.stringify({ socketPath: join(directory, 'signer.sock'), door: { kind: 'parent', token }, wallets })}\n`,
    );
    await once(child.stdout, 'data');
    const first = socket();
    first.write(`${JSON.stringify({ token })}\n`);
    expect((await once(first, 'data')).toString()).toContain('admitted');
    expect(await answerTo(`${JSON.stringify({ token })}\n${request}\n`)).toBe('');
    first.destroy();
    child.stdin.end();
    await once(child, 'exit');
  });
});

describe('the secrets of the environment', () => {
  it('are taken out of it', () => {
    const env: Record<string, string | undefined> = {
      WALLET_MNEMONIC: MNEMONIC,
      TEST_WALLET_KEYSTORE: 'f',
      TEST_WALLET_KEYSTORE_PASSPHRASE: 'p',
      PATH: '/bin',
    };
    expect(takeWalletSources(env)).toEqual({
      live: { kind: 'mnemonic', mnemonic: MNEMONIC },
      test: { kind: 'keystore', file: 'f', passphrase: 'p' },
    });
    expect(env).toEqual({ TEST_WALLET_KEYSTORE: 'f', PATH: '/bin' });
  });

  it('are taken out of it even when they are refused', () => {
    const env: Record<string, string | undefined> = { WALLET_MNEMONIC: MNEMONIC, WALLET_KEYSTORE: 'f' };
    expect(() => takeWalletSources(env)).toThrow(InvalidWalletSettings);
    expect(env).toEqual({ WALLET_KEYSTORE: 'f' });
  });

  it('may come from a passphrase file', () => {
    const file = join(directory, 'passphrase');
    writeFileSync(file, 'from a file\n');
    expect(takeWalletSources({ WALLET_KEYSTORE: 'f', WALLET_KEYSTORE_PASSPHRASE_FILE: file }).live).toMatchObject({
      passphrase: 'from a file',
    });
    expect(() => takeWalletSources({ WALLET_KEYSTORE: 'f', WALLET_KEYSTORE_PASSPHRASE_FILE: `${file}.none` })).toThrow(
      InvalidWalletSettings,
    );
    expect(() => takeWalletSources({ WALLET_KEYSTORE: 'f' })).toThrow(InvalidWalletSettings);
    expect(takeWalletSources({})).toEqual({});
  });
});
