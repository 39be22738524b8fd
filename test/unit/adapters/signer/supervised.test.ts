import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { superviseSigner } from '../../../../src/adapters/signer/supervised.ts';
import { rereadableWallets, takeWalletSources } from '../../../../src/adapters/signer/wallet-sources.ts';
import type { AuditIdentity } from '../../../../src/ports/event-log/audit.ts';
import { startSignerHeartbeat } from '../../../../src/observability/signer-heartbeat.ts';
import { silentLog } from '../../../../src/ports/log.ts';
import { sealKeystore } from '../../../../src/signer/keys/keystore.ts';
import { SCRYPT_COST } from '../../../../src/signer/keys/sealed-text.ts';
import { Wallet } from '../../../../src/signer/keys/wallet.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const WORDS = 'test test test test test test test test test test test junk';

let directory: string;
let env: Record<string, string>;
const ends: (() => Promise<void>)[] = [];
beforeEach(() => {
  directory = temporaryFolder('supervised');
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text, { mode: 0o600 });
    return join(directory, name);
  };
  env = {
    TEST_WALLET_KEYSTORE: file(
      'wallet.json',
      JSON.stringify(sealKeystore('test', WORDS, 'a passphrase', SCRYPT_COST.randomKey)),
    ),
    TEST_WALLET_KEYSTORE_PASSPHRASE_FILE: file('passphrase', 'a passphrase\n'),
  };
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

describe('a signer process that is killed', () => {
  it('is started again if its keys are in files, and responds as before; it is silent in between', async () => {
    const wallets = takeWalletSources({ ...env });
    const walletsAgain = () => takeWalletSources({ ...rereadableWallets(env)! });
    const signer = await superviseSigner(
      { directory, wallets, log: silentLog },
      { walletsAgain, onGone: () => expect.unreachable() },
    );
    ends.push(() => signer.close());
    const heartbeat = startSignerHeartbeat({ signer, log: silentLog, everyMs: 20, silentAfterMs: 300 });
    ends.push(() => heartbeat.close());
    await expect.poll(() => heartbeat.health()).toEqual([{ name: 'signer', state: 'ok', detail: 'answers' }]);
    const { pid } = signer;
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => heartbeat.isAlive(), { timeout: 5_000 }).toBe(false);
    expect(heartbeat.health()[0]).toMatchObject({ name: 'signer', state: 'degraded' });
    await expect.poll(() => heartbeat.isAlive(), { timeout: 20_000 }).toBe(true);
    expect(signer.pid).not.toBe(pid);
    expect((await signer.exportWatchOnly('test', 0)).evmXpub).toBe(new Wallet(WORDS).evmXpub);
  }, 40_000);

  it('is reported where its keys were a secret that is gone, and not started', async () => {
    const gone: string[] = [];
    const signer = await superviseSigner(
      { directory, wallets: { test: { kind: 'mnemonic', mnemonic: WORDS } }, log: silentLog },
      { walletsAgain: null, onGone: (reason) => void gone.push(reason) },
    );
    ends.push(() => signer.close());
    process.kill(signer.pid, 'SIGKILL');
    await expect.poll(() => gone, { timeout: 10_000 }).toEqual(['the signer ended (SIGKILL)']);
    await expect(signer.exportWatchOnly('test', 0)).rejects.toThrow(/not reachable/);
  }, 30_000);
});

describe('wallets', () => {
  it('can be read again from files only', () => {
    expect(rereadableWallets({ ...env, PORT: '1' })).toEqual(env);
    expect(rereadableWallets({ ...env, TEST_WALLET_KEYSTORE_PASSPHRASE: 'secret' })).toBe(null);
    expect(rereadableWallets({ TEST_WALLET_MNEMONIC: WORDS })).toBe(null);
  });
});

describe('the heartbeat', () => {
  it('counts a hanging signer as silent, does not ask it twice meanwhile, and reports start and end once', async () => {
    const lines: string[] = [];
    const tell = (_: object, text: string): void => void lines.push(text);
    const log = { error: tell, info: tell };
    let nowMs = 0;
    let asked = 0;
    let answer: (identity: AuditIdentity | null) => void = () => undefined;
    const signer = {
      auditIdentity: () => ((asked += 1), new Promise<AuditIdentity | null>((resolve) => (answer = resolve))),
    };
    const heartbeat = startSignerHeartbeat({
      signer,
      log,
      monotonicMs: () => nowMs,
      everyMs: 5,
      silentAfterMs: 10_000,
    });
    ends.push(() => heartbeat.close());
    nowMs = 11_000;
    await expect.poll(() => lines).toEqual([expect.stringContaining('the signer does not respond')]);
    expect([heartbeat.isAlive(), asked]).toEqual([false, 1]);
    expect(heartbeat.backedUpAtMs()).toBeNull();
    answer({ ...{ origin: 'log', verifierKey: 'key', anchors: [], anchorFile: 'audit.json' }, backedUpAtMs: 7 });
    await expect.poll(() => lines).toEqual([expect.anything(), 'the signer responds again']);
    expect([heartbeat.isAlive(), heartbeat.backedUpAtMs()]).toEqual([true, 7]);
  });
});
