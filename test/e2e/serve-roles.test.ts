import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nameOfUser, STORE_USERS, type StoreUser } from '../../src/composition/commands/store-access.ts';
import { setStoreUsers } from '../../src/composition/commands/store-users.ts';
import { runWalletTool } from '../../src/key-tools/wallet.ts';
import { addressFamilyOf, NETWORKS, type Network } from '../../src/domain/networks/networks.ts';
import { silentLog } from '../../src/ports/log.ts';
import type { TreasuryAddresses } from '../../src/ports/outgoing/signer.ts';
import { startSandboxChains, type SandboxChains } from '../../src/sandbox/chains.ts';
import { STARTERS } from '../../src/sandbox/starters.ts';
import { Wallet } from '../../src/signer/keys/wallet.ts';
import { transfersSeen } from '../crash/chain-witness.ts';
import { CertificateAuthority } from '../support/certificates.ts';
import { EsdbDouble } from '../support/esdb-double/esdb-double.ts';
import { TARGET } from '../support/esdb-double/esdb-target.ts';
import { RedisServer } from '../support/redis-server.ts';
import { startRunningProduction, TEST_WORDS, type RunningProduction } from '../support/running-production.ts';
import { eventually, signedCall, type ApiAnswer } from '../support/running-sandbox.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/*
 * `quittance serve` as three processes, one role each, on every network: an address is watch-only, the keys are the
 * signer's alone, and each holds the sealing keys of its role and no other, and is the user of its role at an event
 * store that lets it do no more.
 */

/** With it, that server takes part instead of the double. */
const REAL = process.env['EVENTSTORE_URL'];
const WAIT_MS = 120_000;
const LIMITS = { perTransaction: '1000', perHour: '1000', perDay: '1000', approvalFrom: '1000' };
const treasury: TreasuryAddresses = new Wallet(TEST_WORDS).treasury;

let directory: string;
let chains: SandboxChains;
let store: EsdbDouble | null;
let redis: RedisServer;
let api: RunningProduction;
const running: RunningProduction[] = [];
let shop: { readonly api_key: string; readonly api_secret: string };

beforeAll(async () => {
  directory = temporaryFolder('roles');
  [chains, store, redis] = await Promise.all([
    startSandboxChains({ dataDir: directory, log: silentLog, starters: STARTERS }),
    startSecured(),
    RedisServer.start(),
  ]);
  await Promise.all(
    chains.chains.map((chain) => chain.fundTreasury!(treasury[addressFamilyOf(chain.settings.network)])),
  );
  const shared = { ...networkSettings(), REDIS_URL: redis.url, MASTER_KEY: '' };
  const [API_SECRETS_KEY, WEBHOOK_SECRETS_KEY, PERSONAL_DATA_KEY] = Array.from({ length: 3 }, () =>
    randomBytes(32).toString('hex'),
  ) as [string, string, string];
  const exported = await runWalletTool(
    'wallet.export-watch-only',
    { mode: 'test', solanaPool: '50', solanaPoolFile: join(directory, 'pool.txt') },
    { TEST_WALLET_MNEMONIC: TEST_WORDS },
    silentLog,
  );
  const roles = {
    api: { ...(exported as Record<string, string>), API_SECRETS_KEY, WEBHOOK_SECRETS_KEY, PERSONAL_DATA_KEY },
    worker: { WEBHOOK_SECRETS_KEY },
    signer: {
      TEST_WALLET_MNEMONIC: TEST_WORDS,
      SIGNER_JOURNAL_DIR: join(directory, 'journal'),
      PAYOUT_LIMITS: JSON.stringify({ USDT: LIMITS }),
    },
  };
  const nodes = Object.entries(roles).map(([role, own], index) =>
    startRunningProduction({
      ...shared,
      EVENTSTORE_URL: urlOf(nameOfUser(role as StoreUser), PASSWORDS[role as StoreUser]),
      TEST_WALLET_MNEMONIC: '',
      ROLES: role,
      NODE_NUMBER: String(index + 1),
      ...own,
    }).then((node) => {
      running.push(node);
      return node;
    }),
  );
  api = (await Promise.all(nodes))[0]!;
  shop = (await api.cli('merchant', 'create', '--name', 'Shop', '--mode', 'test')) as typeof shop;
});
afterAll(async () => {
  await Promise.all(running.map((node) => node.stop()));
  await Promise.all([chains?.close(), store?.stop(), redis?.stop()]);
});

test.concurrent.each(NETWORKS)(
  `a payment on %s is credited by the worker and refunded by the signer, once (${TARGET})`,
  async (network) => {
    const created = await call('POST', '/api/v1/checkout/sessions/create', {
      amount: '7.00',
      currency: 'USDT',
      order_id: `on-${network}`,
    });
    const options = created.json['payment_options'] as readonly {
      readonly network: Network;
      readonly coin: string;
      readonly address: string;
    }[];
    const to = options.find((option) => option.network === network && option.coin === 'USDT')!.address;
    const { fromAddress } = await chains.pay(network, { coin: 'USDT', to, amount: '7.00' });
    const path = `/api/v1/checkout/sessions/${created.json['id'] as string}`;
    await eventually(
      'the session is paid',
      async () => (await call('GET', path)).json['payment_status'] === 'paid',
      WAIT_MS,
    );
    const asked = await call('POST', '/v1/refunds', { session_id: created.json['id'] });
    expect((await call('GET', `/v1/refunds/${asked.json['id'] as string}`)).status, 'just asked for').toBe(200);
    expect([asked.status, asked.json['to_address']]).toEqual([200, fromAddress]);
    const refund = await eventually(
      'the refund is complete',
      async () => {
        const { json } = await call('GET', `/v1/refunds/${asked.json['id'] as string}`);
        return json['status'] === 'COMPLETED' && json;
      },
      WAIT_MS,
    );
    const { settings, rpcUrl } = chains.chains.find((chain) => chain.settings.network === network)!;
    const { address: token, decimals } = settings.tokens.find(({ coin }) => coin === 'USDT')!;
    const from = treasury[addressFamilyOf(network)];
    const seen = await transfersSeen({
      network,
      rpcUrl,
      token,
      from,
      to: fromAddress,
      tokenUnits: 7n * 10n ** BigInt(decimals),
    });
    expect(seen).toEqual([refund['tx_hash']]);
  },
);

test('no process requested anything from the event store that its role may not do', () => {
  expect(running).toHaveLength(3);
  for (const node of running) expect(node.output()).not.toMatch(/denies it to the user|Access Denied/);
});

const ADMIN = 'the-administrators-own';
const PASSWORDS = Object.fromEntries(STORE_USERS.map((user) => [user, randomBytes(16).toString('hex')])) as Record<
  StoreUser,
  string
>;
const urlOf = (user: string, password: string): string =>
  REAL === undefined
    ? `esdb://${user}:${password}@localhost:${store!.port}?tls=true&tlsCAFile=${join(directory, 'ca.crt')}`
    : REAL.replace(/:\/\/(?:[^@/]*@)?/, `://${user}:${password}@`);

/** An event store with TLS, on which `quittance store users` was run. A real one is empty, and its URL its administrator's. */
async function startSecured(): Promise<EsdbDouble | null> {
  const passwords = Object.fromEntries(
    Object.entries(PASSWORDS).map(([user, password]) => [`EVENTSTORE_${user.toUpperCase()}_PASSWORD`, password]),
  );
  if (REAL !== undefined) {
    // Without TLS a server has no users.
    if (!/[?&]tls=false/i.test(REAL)) await setStoreUsers({ EVENTSTORE_ADMIN_URL: REAL, ...passwords });
    return null;
  }
  const authority = new CertificateAuthority();
  writeFileSync(join(directory, 'ca.crt'), authority.cert);
  const certificate = authority.issue({ name: 'node', hosts: ['localhost', '127.0.0.1'] });
  store = await EsdbDouble.start({ secured: { adminPassword: ADMIN, certificate } });
  await setStoreUsers({ EVENTSTORE_ADMIN_URL: urlOf('admin', ADMIN), ...passwords });
  return store;
}

/** Providers, and the coins of the local chains, as an operator names those of a test network. */
function networkSettings(): Record<string, string> {
  const urls = chains.chains.map(({ settings: { network }, rpcUrl }) => [
    `TEST_${network.toUpperCase()}_${network === 'tron' ? 'API' : 'RPC'}_URLS`,
    rpcUrl,
  ]);
  const networks = chains.chains.map(({ settings: { network, chainId, tokens } }) => [
    network,
    { chain_id: chainId, tokens },
  ]);
  return {
    ...(Object.fromEntries(urls) as Record<string, string>),
    TEST_NETWORKS: JSON.stringify(Object.fromEntries(networks)),
  };
}

const call = (method: string, path: string, body?: unknown): Promise<ApiAnswer> =>
  signedCall(api.baseUrl, shop, method, path, body);
