import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { connectSigner, type RemoteSigner } from '../../../src/adapters/signer/remote.ts';
import { checkProductionConfig } from '../../../src/composition/production.ts';
import { startSignerService } from '../../../src/composition/signer-service.ts';
import { readConfig } from '../../../src/config.ts';
import { createLogger } from '../../../src/observability/logger.ts';
import { silentLog } from '../../../src/ports/log.ts';
import { jsonLine } from '../../../src/runtime/util/json-lines.ts';
import { sealKeystore } from '../../../src/signer/keys/keystore.ts';
import { SCRYPT_COST } from '../../../src/signer/keys/sealed-text.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const WORDS = 'test test test test test test test test test test test junk';
const log = createLogger('silent');
const secret = randomBytes(32).toString('hex');
let directory: string;
let settings: Record<string, string>;

beforeEach(() => {
  directory = temporaryFolder('signer-service');
  const file = (name: string, text: string, mode: number): string => {
    writeFileSync(join(directory, name), text);
    chmodSync(join(directory, name), mode);
    return join(directory, name);
  };
  mkdirSync(join(directory, 'run'), { mode: 0o750 });
  settings = {
    SIGNER_SOCKET: join(directory, 'run', 'signer.sock'),
    SIGNER_SECRET_FILE: file('secret', `${secret}\n`, 0o640),
    SIGNER_JOURNAL_DIR: join(directory, 'journal'),
    TEST_WALLET_KEYSTORE: file(
      'wallet.json',
      JSON.stringify(sealKeystore('test', WORDS, 'a passphrase', SCRYPT_COST.randomKey)),
      0o600,
    ),
    TEST_WALLET_KEYSTORE_PASSPHRASE_FILE: file('passphrase', 'a passphrase\n', 0o400),
  };
});

const settingsFile = (): string => join(directory, 'signer.env');
function write(): string {
  const text = Object.entries(settings).map(([name, value]) => `${name}='${value}'\n`);
  writeFileSync(settingsFile(), text.join(''));
  chmodSync(settingsFile(), 0o600);
  return settingsFile();
}
async function start() {
  const service = await startSignerService(write(), log);
  onTestFinished(() => service.close());
  return service;
}
async function enter(known = secret): Promise<RemoteSigner> {
  const signer = await connectSigner({ socketPath: settings.SIGNER_SOCKET!, secret: known, log: silentLog });
  onTestFinished(() => signer.close());
  return signer;
}

describe('a separate signer', () => {
  it('serves clients that know the secret, says what it can do, and listens for its user and group only', async () => {
    await start();
    const signer = await enter();
    expect([signer.modes, signer.pays]).toEqual([['test'], false]);
    expect((await signer.treasuryAddresses('test')).evm).toMatch(/^0x/);
    expect(await signer.auditIdentity()).toMatchObject({ anchors: [] });
    expect(statSync(settings.SIGNER_SOCKET!).mode & 0o777).toBe(0o660);
  });

  it('refuses what live mode must not risk, and tells the service what its operator accepted', async () => {
    settings['BSC_RPC_URLS'] = 'https://one.example,https://two.example';
    settings['PAYOUT_LIMITS'] =
      '{"USDT":{"perTransaction":"9000","perHour":"9000","perDay":"9000","approvalFrom":"9000"}}';
    await expect(start()).rejects.toThrow(/signer\.env:\n {2}PAYOUT_LIMITS: a refund of 9000\.00 USDT leaves without/);
    settings['ACCEPT_RISKS'] = 'payouts-without-approval';
    const service = await start();
    const signer = await enter();
    expect(signer.acceptedRisks()).toEqual([
      { name: 'payouts-without-approval', why: expect.stringContaining('9000.00 USDT') as string },
    ]);
    await service.close();
    delete settings['PAYOUT_LIMITS'];
    await start();
    await signer.auditIdentity();
    expect(signer.acceptedRisks()).toEqual([]);
  });

  it(
    'is left alone by a second one, which is refused, and by one that ends after it',
    { timeout: 90_000 },
    async () => {
      const first = await start();
      await enter();
      await expect(start()).rejects.toThrow(/another signer uses the journal/);
      settings['SIGNER_JOURNAL_DIR'] = join(directory, 'another-journal');
      await expect(start()).rejects.toThrow(`another signer serves ${settings['SIGNER_SOCKET']}`);
      expect((await enter()).modes).toEqual(['test']);
      await first.close();
      const second = await start();
      await first.close();
      expect((await enter()).modes).toEqual(['test']);
      await second.close();
      expect(existsSync(settings['SIGNER_SOCKET']!)).toBe(false);
    },
  );

  it('lets nobody in without it, and keeps serving', async () => {
    await start();
    await expect(enter(randomBytes(32).toString('hex'))).rejects.toThrow(/closed the connection/);
    for (const line of [
      '{}',
      '{"token":"x"}',
      jsonLine({ challenge: '0'.repeat(64), proof: '0'.repeat(64) }),
      '{"id":0,"method":"treasuryAddresses","params":{"mode":"test"}}',
    ]) {
      const socket = connect(settings.SIGNER_SOCKET!);
      socket.on('error', () => {});
      let heard = '';
      socket.on('data', (chunk: Buffer) => (heard += chunk.toString()));
      socket.write(`${line}\n`);
      await once(socket, 'close');
      expect(heard.trim().split('\n')).toHaveLength(1);
      expect(Object.keys(JSON.parse(heard) as object)).toEqual(['challenge']);
    }
    expect((await enter()).modes).toEqual(['test']);
  });

  it('accepts no proof twice', async () => {
    await start();
    let sent = '';
    const relay = createServer((near) => {
      const far = connect(settings.SIGNER_SOCKET!);
      near.on('data', (chunk: Buffer) => (sent += chunk.toString()));
      near.pipe(far).pipe(near);
      for (const socket of [near, far]) socket.on('error', () => {});
    });
    const path = join(directory, 'relay.sock');
    await new Promise<void>((done) => relay.listen(path, done));
    const through = await connectSigner({ socketPath: path, secret, log: silentLog });
    const replayed = connect(settings.SIGNER_SOCKET!);
    replayed.on('error', () => {}).resume();
    replayed.write(sent);
    await once(replayed, 'close');
    expect((await through.treasuryAddresses('test')).tron).toMatch(/^T/);
    await through.close();
    relay.close();
  });

  it('serves one service at a time, and a restarted one', async () => {
    await start();
    const first = await enter();
    const second = await enter();
    expect((await second.treasuryAddresses('test')).evm).toMatch(/^0x/);
    expect((await first.treasuryAddresses('test')).evm).toMatch(/^0x/);
  });

  it('is found again after it was started again', async () => {
    const service = await start();
    const signer = await enter();
    await service.close();
    await expect(signer.treasuryAddresses('test')).rejects.toThrow(/signer/);
    await start();
    expect((await signer.treasuryAddresses('test')).evm).toMatch(/^0x/);
  });

  it('is not believed by the service when it does not know the secret', async () => {
    const asked: string[] = [];
    const impostor = createServer((socket) => {
      socket.on('error', () => {});
      socket.write(jsonLine({ challenge: '0'.repeat(64) }));
      socket.on('data', (chunk: Buffer) => {
        asked.push(chunk.toString());
        // What it was sent is the only proof it ever saw.
        socket.write(
          jsonLine({ modes: ['live'], pays: true, proof: (JSON.parse(chunk.toString()) as { proof: string }).proof }),
        );
      });
    });
    await new Promise<void>((done) => impostor.listen(settings.SIGNER_SOCKET, done));
    await expect(enter()).rejects.toThrow(/does not know the secret/);
    expect(asked).toHaveLength(1);
    expect(asked[0]).not.toContain(secret);
    impostor.close();
  });
});

describe('a separate signer refuses to start', () => {
  it.each([
    ['settings that others may read', () => chmodSync(write(), 0o640), /^the settings: .*mode 0640.*chmod 600/],
    [
      'a wallet that others may read',
      () => chmodSync(settings.TEST_WALLET_KEYSTORE!, 0o640),
      /^TEST_WALLET_KEYSTORE: .*chmod 600/,
    ],
    [
      'a passphrase that others may read',
      () => chmodSync(settings.TEST_WALLET_KEYSTORE_PASSPHRASE_FILE!, 0o444),
      /^TEST_WALLET_KEYSTORE_PASSPHRASE_FILE: /,
    ],
    [
      'a secret that anybody may read',
      () => chmodSync(settings.SIGNER_SECRET_FILE!, 0o644),
      /^SIGNER_SECRET_FILE: .*chmod 640/,
    ],
    [
      'a secret that its group may change',
      () => chmodSync(settings.SIGNER_SECRET_FILE!, 0o660),
      /^SIGNER_SECRET_FILE: /,
    ],
    [
      'a secret that could be guessed',
      () => writeFileSync(settings.SIGNER_SECRET_FILE!, 'password'),
      /^SIGNER_SECRET_FILE must hold/,
    ],
    [
      'a directory in which others may put a socket',
      () => chmodSync(join(directory, 'run'), 0o770),
      /^SIGNER_SOCKET: .*mode 0770/,
    ],
    [
      'a journal that others may enter',
      () => mkdirSync(settings.SIGNER_JOURNAL_DIR!, { mode: 0o755 }),
      /^SIGNER_JOURNAL_DIR: .*chmod 700/,
    ],
    [
      'a setting with a slip in its name',
      () => void (settings.PAYOUT_LIMIT = '{}'),
      /PAYOUT_LIMIT is not a setting; did you mean PAYOUT_LIMITS\?/,
    ],
    ['the crash points of tests', () => void (settings.CRASH_AT = 'signer-after-journal'), /CRASH_AT is for tests/],
    ['no wallet', () => void delete settings.TEST_WALLET_KEYSTORE, /^no wallet/],
    ['no socket', () => void delete settings.SIGNER_SOCKET, /^SIGNER_SOCKET is missing/],
    ['no secret', () => void delete settings.SIGNER_SECRET_FILE, /^SIGNER_SECRET_FILE is missing/],
  ])('with %s', async (what, change, message) => {
    write();
    change();
    if (what !== 'settings that others may read') write();
    await expect(startSignerService(settingsFile(), log)).rejects.toThrow(message);
  });
});

describe('production', () => {
  const env = { MASTER_KEY: 'k', PUBLIC_URL: 'https://pay.example', RATE_PROVIDERS: 'kraken' };
  const check = (more: Record<string, string>) => () =>
    checkProductionConfig(readConfig({ ...env, ...more }), { ...env, ...more });

  it.each([
    [{ WALLET_MNEMONIC: WORDS }, /WALLET_MNEMONIC must not be set: .*quittance signer/],
    [{ WALLET_KEYSTORE: 'f', WALLET_KEYSTORE_PASSPHRASE: 'p' }, /WALLET_KEYSTORE_PASSPHRASE must not be set/],
    [
      { WALLET_KEYSTORE: 'f', WALLET_KEYSTORE_PASSPHRASE_FILE: 'p' },
      /WALLET_KEYSTORE must not be set beside the roles api and worker/,
    ],
    [{ SIGNER_SOCKET: '/run/s' }, /SIGNER_SOCKET and SIGNER_SECRET_FILE belong together/],
    [
      { SIGNER_SOCKET: '/run/s', SIGNER_SECRET_FILE: '/f', PAYOUTS_PER_HOUR: '1' },
      /PAYOUTS_PER_HOUR: with SIGNER_SOCKET/,
    ],
  ])('refuses live keys and misplaced settings of the signer: %o', (more, message) => {
    expect(check(more)).toThrow(message);
  });

  it('accepts keys of test mode, a separate signer, and a keystore in a process that is only a signer', () => {
    expect(check({ TEST_WALLET_MNEMONIC: WORDS })).not.toThrow();
    expect(check({ SIGNER_SOCKET: '/run/s', SIGNER_SECRET_FILE: '/f' })).not.toThrow();
    const shared = { EVENTSTORE_URL: 'esdb://a:1?tls=false', REDIS_URL: 'redis://b:1', ROLES: 'signer' };
    expect(check({ ...shared, WALLET_KEYSTORE: 'f', WALLET_KEYSTORE_PASSPHRASE_FILE: 'p' })).not.toThrow();
  });
});
