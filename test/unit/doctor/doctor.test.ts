import { hash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { diagnose, quickFindings } from '../../../src/doctor/doctor.ts';
import { nodeRandom } from '../../../src/adapters/node/random.ts';
import { openSqliteEventStore } from '../../../src/adapters/sqlite/event-log/event-store.ts';
import { acquireWriterLock } from '../../../src/adapters/sqlite/writer-lock.ts';
import { sharedSecrets } from '../../../src/features/shared/shared-secrets.ts';
import { systemClock } from '../../../src/ports/clock.ts';
import { createSealer, parseMasterKeys } from '../../../src/runtime/cryptography/sealing.ts';
import { readConfig } from '../../../src/config.ts';
import type { Finding } from '../../../src/doctor/finding.ts';
import { sealKeystore } from '../../../src/signer/keys/keystore.ts';
import { SCRYPT_COST } from '../../../src/signer/keys/sealed-text.ts';
import { newMnemonic, Wallet } from '../../../src/signer/keys/wallet.ts';
import { FaultProxy } from '../../support/fault-proxy.ts';
import { krakenJson, startPriceFeed, type PriceFeed } from '../../support/price-feed.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/* One installation in order, and one change at a time that is not. */

const WORDS = 'test test test test test test test test test test test junk';
const USDT = '0x55d398326f99059ff775485246999027b3197955';
const HEAD = 200_000;
const word = (value: number): string => `0x${value.toString(16).padStart(64, '0')}`;

let directory: string;
let provider: FaultProxy;
let behind: FaultProxy;
let forgetful: FaultProxy;
let otherChain: FaultProxy;
let market: PriceFeed;
let deadMarket: PriceFeed;
let wrongMarket: PriceFeed;
let base: Record<string, string>;

/** A provider of the BSC testnet with one token. */
const evmProvider = async (chainId: number, head: number, hasHistory = true): Promise<FaultProxy> =>
  (await FaultProxy.before('http://127.0.0.1:1')).play(({ method, params }) => {
    const block = {
      number: `0x${head.toString(16)}`,
      hash: word(1),
      parentHash: word(2),
      timestamp: `0x${Math.floor(Date.now() / 1000).toString(16)}`,
    };
    const from = (params[0] as { fromBlock?: string } | undefined)?.fromBlock;
    if (method === 'eth_getLogs' && !hasHistory && Number(from) < head - 100)
      return { error: { code: -32000, message: 'missing trie node' } };
    const answers: Record<string, unknown> = {
      ...{ eth_chainId: `0x${chainId.toString(16)}`, eth_blockNumber: block.number, eth_getBlockByNumber: block },
      ...{ eth_call: word(18), eth_getTransactionReceipt: null, eth_getLogs: [] },
    };
    return { result: answers[method] };
  });

/** What the first start leaves in its event log. */
async function leaveSecrets(dataDir: string, masterKey: string): Promise<void> {
  mkdirSync(dataDir, { mode: 0o700 });
  const store = await openSqliteEventStore({ dataDir });
  const seal = createSealer(parseMasterKeys(masterKey));
  await sharedSecrets('session-id', {
    store,
    seal: {
      seal: (plain, context) => seal.seal('api-secrets', plain, context),
      open: (sealed, context) => seal.open('api-secrets', sealed, context),
    },
    random: nodeRandom,
    clock: systemClock,
  });
  await store.close();
}

beforeAll(async () => {
  directory = temporaryFolder('doctor');
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text, { mode: 0o600 });
    return join(directory, name);
  };
  for (const name of ['data', 'journal']) mkdirSync(join(directory, name), { mode: 0o700 });
  mkdirSync(join(directory, 'open'), { mode: 0o755 });
  mkdirSync(join(directory, 'moved'), { mode: 0o700 });
  mkdirSync(join(directory, 'restored'), { mode: 0o700 });
  file('moved/moved.json', '{}');
  file('restored/backup.json', '{}');
  file('wrong-passphrase', 'another passphrase\n');
  file('short-secret', 'guess\n');
  file('not-json', 'nothing');
  file('pool-of-another', `${new Wallet(newMnemonic()).solanaPublicKeys(0, 3).join('\n')}\n`);
  [provider, behind, forgetful, otherChain, market, deadMarket, wrongMarket] = await Promise.all([
    evmProvider(97, HEAD),
    evmProvider(97, HEAD - 5_000),
    evmProvider(97, HEAD, false),
    evmProvider(56, HEAD),
    startPriceFeed(),
    startPriceFeed(),
    startPriceFeed(),
  ]);
  for (const feed of [market, wrongMarket])
    feed.answerJson(krakenJson({ USDTUSD: '1.0', USDCUSD: '1.0', USDTEUR: '0.92', USDCEUR: '0.92', USDCUSDT: '1.0' }));
  wrongMarket.setClock(7_200_000);
  await leaveSecrets(join(directory, 'used'), hash('sha256', 'of this test'));
  const approver = (name: string) => ({ name, kind: 'ed25519', publicKey: 'A'.repeat(43) });
  base = {
    DATA_DIR: join(directory, 'data'),
    SIGNER_JOURNAL_DIR: join(directory, 'journal'),
    MASTER_KEY: hash('sha256', 'of this test'),
    PUBLIC_URL: 'https://pay.example',
    TRUSTED_PROXIES: '1',
    MAX_CONNECTIONS: '100',
    ...{ PORT: '0', OPS_PORT: '0' },
    RATE_PROVIDERS: 'kraken',
    RATE_KRAKEN_URL: market.url,
    TEST_BSC_RPC_URLS: provider.url,
    TEST_NETWORKS: JSON.stringify({ bsc: { chain_id: '97', tokens: [{ coin: 'USDT', address: USDT, decimals: 18 }] } }),
    TEST_WALLET_KEYSTORE: file(
      'wallet.json',
      JSON.stringify(sealKeystore('test', WORDS, 'a passphrase', SCRYPT_COST.randomKey)),
    ),
    TEST_WALLET_KEYSTORE_PASSPHRASE_FILE: file('passphrase', 'a passphrase\n'),
    TEST_WALLET_XPUB_EVM: new Wallet(WORDS).evmXpub,
    PAYOUT_LIMITS: JSON.stringify({ USDT: { perTransaction: '10', perHour: '20', perDay: '30', approvalFrom: '5' } }),
    PAYOUT_APPROVERS: JSON.stringify([approver('ada'), approver('ben')]),
  };
});
afterAll(async () => {
  await Promise.all(
    [provider, behind, forgetful, otherChain, market, deadMarket, wrongMarket].map((each) => each?.close()),
  );
});

const KEYS = ['TEST_WALLET_KEYSTORE', 'TEST_WALLET_KEYSTORE_PASSPHRASE_FILE'];
const worse = (findings: readonly Finding[]): Finding[] =>
  findings.filter(({ state }) => state === 'fault' || state === 'warning');
const found = (findings: readonly Finding[]): string[] =>
  worse(findings).map(({ state, check, why }) => `${state} ${check}: ${why}`);

const isReadable = (env: Readonly<Record<string, string | undefined>>): boolean => {
  try {
    return readConfig(env) !== null;
  } catch {
    return false;
  }
};

describe('the doctor', () => {
  it('finds an installation in order', async () => {
    const findings = await diagnose(base);
    // A disk of the machine that runs this may be slow or full.
    expect(found(findings).filter((line) => !/ disk-|memory/.test(line))).toEqual([]);
    const checked = [
      'settings',
      'unknown-settings',
      'sealing-keys',
      'data-dir',
      'journal',
      'descriptors',
      'keys:test',
      'rates',
      'payouts',
    ];
    expect(findings.map(({ check }) => check)).toEqual(expect.arrayContaining(checked));
    expect(findings.find(({ check }) => check.startsWith('provider:'))?.why).toMatch(/serves chain 97 .* head 200000/);
  });

  /** What is changed, and the line that must appear. Null: the variable is taken away. */
  const planted: readonly (readonly [name: string, change: () => Record<string, string | null>, line: RegExp])[] = [
    ['a port that is no number', () => ({ PORT: 'eighty' }), /^fault settings: PORT/],
    ['no master key', () => ({ MASTER_KEY: null }), /^fault settings: MASTER_KEY is missing/],
    ['a master key that is too short', () => ({ MASTER_KEY: 'abcd' }), /^fault sealing-keys/],
    [
      'a public address without TLS',
      () => ({ PUBLIC_URL: 'http://pay.example' }),
      /^fault settings: PUBLIC_URL must be https/,
    ],
    ['rates of the sandbox', () => ({ RATE_PROVIDERS: 'static' }), /^fault settings: RATE_PROVIDERS/],
    ['insecure webhooks', () => ({ WEBHOOK_ALLOW_INSECURE: 'true' }), /^fault settings: WEBHOOK_ALLOW_INSECURE/],
    [
      'a setting with a slip',
      () => ({ ETHERUM_RPC_URLS: 'https://eth.example' }),
      /^warning unknown-settings: ETHERUM_RPC_URLS/,
    ],
    [
      'a second source that nobody gives',
      () => ({ SECOND_SOURCE_FROM: '5', BSC_RPC_URLS: otherChain.url }),
      /^fault settings: SECOND_SOURCE_FROM/,
    ],
    [
      'live money believed from one provider',
      () => ({ BSC_RPC_URLS: otherChain.url }),
      /^fault settings: BSC_RPC_URLS has one provider/,
    ],
    [
      'the same, accepted knowingly',
      () => ({ BSC_RPC_URLS: otherChain.url, ACCEPT_RISKS: 'single-provider' }),
      /^warning accepted-risk:single-provider: BSC_RPC_URLS has one provider/,
    ],
    [
      'a risk that is accepted and not taken',
      () => ({ ACCEPT_RISKS: 'wide-tolerance' }),
      /^warning accepted-risks: ACCEPT_RISKS names wide-tolerance/,
    ],
    ['a risk that does not exist', () => ({ ACCEPT_RISKS: 'all' }), /^fault settings: ACCEPT_RISKS/],
    [
      'a provider without encryption',
      () => ({ TEST_BSC_RPC_URLS: 'http://192.0.2.1:1' }),
      /^warning providers:test:bsc: .*without encryption/,
    ],
    ['no provider at all', () => ({ TEST_BSC_RPC_URLS: null }), /^fault providers: no network/],
    [
      'a provider that is down',
      () => ({ TEST_BSC_RPC_URLS: 'http://127.0.0.1:9' }),
      /^fault provider:test:bsc:127\.0\.0\.1:9/,
    ],
    [
      'a provider of another chain',
      () => ({ TEST_BSC_RPC_URLS: otherChain.url }),
      /^fault provider:.*serves chain 56 instead of 97/,
    ],
    [
      'a token with other decimals',
      () => ({ TEST_NETWORKS: base['TEST_NETWORKS']!.replace('"decimals":18', '"decimals":6') }),
      /^fault provider:.*has 18 decimals instead of 6/,
    ],
    [
      'a provider that lags',
      () => ({ TEST_BSC_RPC_URLS: `${provider.url},${behind.url}` }),
      /^warning provider:.*5000 blocks behind/,
    ],
    [
      'a provider without history',
      () => ({ TEST_BSC_RPC_URLS: forgetful.url }),
      /^warning provider:test:bsc:\S+: has no logs/,
    ],
    ['markets that do not answer', () => ({ RATE_KRAKEN_URL: deadMarket.url }), /^fault rates: no rate source answers/],
    ['a clock that is wrong', () => ({ RATE_KRAKEN_URL: wrongMarket.url }), /^fault clock: 7(?:19|20)\d\.\d s behind/],
    [
      'an exported key of another wallet',
      () => ({ TEST_WALLET_XPUB_EVM: new Wallet(newMnemonic()).evmXpub }),
      /^fault keys:test: TEST_WALLET_XPUB_EVM/,
    ],
    [
      'an exported pool of another wallet',
      () => ({ TEST_WALLET_SOLANA_POOL: join(directory, 'pool-of-another') }),
      /^fault keys:test: .*SOLANA_POOL/,
    ],
    [
      'an export that is no key',
      () => ({ TEST_WALLET_XPUB_EVM: 'xpub-nonsense' }),
      /^fault wallet:test:evm: TEST_WALLET_XPUB_EVM/,
    ],
    [
      'a passphrase that does not open the keystore',
      () => ({ TEST_WALLET_KEYSTORE_PASSPHRASE_FILE: join(directory, 'wrong-passphrase') }),
      /^fault keys:test/,
    ],
    [
      'live keys beside the network',
      () => ({ WALLET_MNEMONIC: WORDS }),
      /^fault settings: WALLET_MNEMONIC must not be set/,
    ],
    [
      'one wallet for both modes',
      () => ({ WALLET_XPUB_EVM: base['TEST_WALLET_XPUB_EVM']! }),
      /^fault settings: live and test mode/,
    ],
    ['no wallet for a network', () => ({ BSC_RPC_URLS: otherChain.url }), /^fault wallet:live:evm/],
    [
      'a signer that does not run',
      () => ({ SIGNER_SOCKET: join(directory, 'nobody.sock'), SIGNER_SECRET_FILE: join(directory, 'passphrase') }),
      /^fault signer: /,
    ],
    [
      'a secret that can be guessed',
      () => ({ SIGNER_SOCKET: join(directory, 'nobody.sock'), SIGNER_SECRET_FILE: join(directory, 'short-secret') }),
      /^fault signer-secret/,
    ],
    ['refunds that nobody pays', () => ({ PAYOUT_LIMITS: null }), /^warning payouts: PAYOUT_LIMITS/],
    ['approvals that nobody can give', () => ({ PAYOUT_APPROVERS: null }), /^warning payouts: 0 approvers/],
    ['a proxy that is not counted', () => ({ TRUSTED_PROXIES: null }), /^warning proxy/],
    ['a proxy for the way out', () => ({ HTTPS_PROXY: 'http://proxy.example:3128' }), /^warning egress/],
    ['two ports that are one', () => ({ PORT: '18080', ADMIN_PORT: '18080' }), /^fault ports: PORT and ADMIN_PORT/],
    ['a data directory that cannot be', () => ({ DATA_DIR: join(directory, 'not-json') }), /^fault data-dir/],
    [
      'a data directory open to others',
      () => ({ DATA_DIR: join(directory, 'open') }),
      /^warning data-dir: other users/,
    ],
    [
      'an event log that was moved',
      () => ({ DATA_DIR: join(directory, 'moved') }),
      /^fault data-dir: its event log was moved/,
    ],
    ['a restored copy', () => ({ DATA_DIR: join(directory, 'restored') }), /^warning data-dir: it is a restored copy/],
    [
      'a journal inside of the data',
      () => ({ SIGNER_JOURNAL_DIR: join(directory, 'data', 'journal') }),
      /^fault journal/,
    ],
    ['more connections than descriptors', () => ({ MAX_CONNECTIONS: '99999999' }), /^warning descriptors/],
    [
      'a list of exchanges that is none',
      () => ({ EXCHANGE_WALLETS_FILE: join(directory, 'not-json') }),
      /^fault exchange-wallets/,
    ],
    [
      'a log that is shipped into its own folder',
      () => ({ LOG_SHIPPING_TO: join(directory, 'data', 'copy') }),
      /^fault settings: LOG_SHIPPING_TO/,
    ],
    [
      'a folder for the log that is not there',
      () => ({ LOG_SHIPPING_TO: join(directory, 'unmounted') }),
      /^fault log-shipping: .*unmounted is not a folder/,
    ],
    [
      'a log that is shipped to its own disk',
      () => ({ LOG_SHIPPING_TO: join(directory, 'open') }),
      /^warning log-shipping: .* is on the disk of DATA_DIR/,
    ],
    [
      'a bucket that does not answer',
      () => ({
        ...{ LOG_SHIPPING_TO: 's3://ledger/shop', LOG_SHIPPING_S3_ENDPOINT: 'http://127.0.0.1:9' },
        ...{ LOG_SHIPPING_S3_ACCESS_KEY_ID: 'AKID', LOG_SHIPPING_S3_SECRET_ACCESS_KEY: 'secret' },
      }),
      /^fault log-shipping: 127\.0\.0\.1:9 did not answer/,
    ],
    [
      'the master key of another installation',
      () => ({ DATA_DIR: join(directory, 'used'), MASTER_KEY: hash('sha256', 'of another installation') }),
      /^fault sealing-keys: the event log holds secrets sealed under [0-9a-f]{8}, which these keys do not open/,
    ],
    [
      'stores that do not answer',
      () => ({ EVENTSTORE_URL: 'esdb://127.0.0.1:9?tls=false', REDIS_URL: 'redis://127.0.0.1:9', NODE_NUMBER: '1' }),
      /^fault redis/,
    ],
  ];

  it.each(planted)(
    'finds %s, and says what to do',
    async (_, change, line) => {
      const env: Record<string, string | undefined> = { ...base };
      for (const [name, value] of Object.entries(change())) env[name] = value ?? undefined;
      // Opening a wallet starts a signer.
      if (!/keys:|payouts/.test(line.source)) for (const name of KEYS) env[name] = undefined;
      // What the quick form finds, which a start runs as well, needs no network and no signer.
      const quick = isReadable(env) ? quickFindings(readConfig(env), env) : [];
      const findings = found(quick).some((each) => line.test(each)) ? quick : await diagnose(env);
      expect(found(findings)).toContainEqual(expect.stringMatching(line));
      for (const { action } of worse(findings)) expect(action).not.toBe('');
      expect(JSON.stringify(findings)).not.toContain('report it to the developers');
      expect(JSON.stringify(findings)).not.toContain(base['MASTER_KEY']!);
    },
    30_000,
  );

  it('is tried with at least twenty faults', () => expect(planted.length).toBeGreaterThanOrEqual(20));

  it('finds that the keys open an event log in use', async () => {
    const findings = await diagnose({ ...base, DATA_DIR: join(directory, 'used'), TEST_WALLET_KEYSTORE: undefined });
    expect(findings).toContainEqual(
      expect.objectContaining({ check: 'sealing-keys', why: 'open what the event log holds' }),
    );
  });

  it('finds a port that is taken, and asks a service that runs for its own checks', async () => {
    const { TEST_WALLET_KEYSTORE: _, ...watchOnly } = base;
    const checks = [{ name: 'chain:live:bsc', state: 'degraded', detail: 'payments of the last 90 s are not known' }];
    const ops = createServer((_, response) => response.end(JSON.stringify({ status: 'ready', checks })));
    await new Promise<void>((resolve) => ops.listen(0, '127.0.0.1', resolve));
    const { port } = ops.address() as AddressInfo;
    try {
      const taken = expect.stringContaining(`fault ports: 127.0.0.1:${port} cannot`);
      expect(found(await diagnose({ ...watchOnly, PORT: String(port) }))).toContainEqual(taken);
      // A service of another installation, since nobody holds the data directory.
      expect(found(await diagnose({ ...watchOnly, OPS_PORT: String(port) }))).toContainEqual(taken);
      const lock = acquireWriterLock(watchOnly['DATA_DIR']!);
      const running = found(await diagnose({ ...watchOnly, OPS_PORT: String(port) }));
      lock.release();
      expect(running).toContainEqual('warning service:chain:live:bsc: payments of the last 90 s are not known');
      expect(running.filter((line) => line.includes('ports'))).toEqual([]);
    } finally {
      ops.close();
    }
  });
});
