import { mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import { nodeRandom } from '../../src/adapters/node/random.ts';
import { startHdDerivation } from '../../src/adapters/wallet/hd-derivation.ts';
import { openEmbedded } from '../../src/composition/storage/embedded.ts';
import { rolesOf } from '../../src/settings/roles.ts';
import { startService } from '../../src/composition/service.ts';
import { readConfig } from '../../src/config.ts';
import type { ApiKeyId, MerchantId } from '../../src/domain/values/ids.ts';
import { knownNetwork } from '../../src/domain/networks/known-networks.ts';
import { merchantStream } from '../../src/domain/values/streams.ts';
import { createLogger } from '../../src/observability/logger.ts';
import { createMetrics } from '../../src/composition/outside/observability.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { createSealer, parseMasterKeys } from '../../src/runtime/cryptography/sealing.ts';
import { apiSecretContext, hashOfKey } from '../../src/features/merchants/credentials.ts';
import { BY } from '../../test/support/by-operator.ts';

/*
 * The whole service as `quittance serve` runs it (store, nonces, rate limit, projections, webhooks, metrics), without
 * chains to watch. Its data goes with it, unless it is given a folder and the key that seals what is in there.
 */
const kept = process.env.BENCH_DATA_DIR;
const dataDir = kept ?? mkdtempSync(join(tmpdir(), 'quittance-bench-create-'));
const masterKey = process.env.BENCH_MASTER_KEY ?? Buffer.from(nodeRandom.bytes(32)).toString('hex');
const sealingKeys = parseMasterKeys(masterKey);
const logFile = openSync(join(dataDir, 'service.log'), 'a');
const log = createLogger('info', { write: (line) => void writeSync(logFile, line) });
const config = readConfig({
  DATA_DIR: dataDir,
  PORT: '0',
  OPS_PORT: '0',
  RATE_LIMIT_PER_KEY: '1000000',
});
const storage = await openEmbedded(dataDir, {
  clock: systemClock,
  random: nodeRandom,
  log,
  sealingKeys,
  onFatal: (error) => process.stderr.write(`${error.message}\n`),
});
const xpub = HDKey.fromMasterSeed(Buffer.from(masterKey, 'hex')).derive("m/44'/60'/0'/0").publicExtendedKey;
const derivation = startHdDerivation();
const networks = [knownNetwork('test', 'ethereum'), knownNetwork('test', 'bsc')];
const service = await startService({
  config,
  roles: rolesOf(config),
  storage,
  sealingKeys,
  clock: systemClock,
  random: nodeRandom,
  log,
  metrics: createMetrics(config, systemClock, log),
  derivers: [derivation.deriver('test', 'evm', xpub)],
  chains: [],
  contractChecks: [],
  networks: () => networks,
  rateProviders: ['static'],
  webhookRules: { allowInsecure: true, ownHosts: [] },
  sandbox: false,
  testWallet: null,
});

const known = service.core.merchants.listMerchants().find(({ name }) => name === 'Bench');
const merchantId = known?.id ?? (await register());

async function register(): Promise<MerchantId> {
  const merchant = await service.core.merchants.registerMerchant({ name: 'Bench', mode: 'test' }, BY);
  if (!merchant.ok) throw new Error(merchant.refusal.message);
  const merchantId = merchant.value.id;
  const keyId = 'key_benchbenchbenchbench' as ApiKeyId;
  const sealedSecret = createSealer(sealingKeys).seal(
    'api-secrets',
    Buffer.from(process.env.BENCH_API_SECRET!),
    apiSecretContext(merchantId, keyId),
  );
  const key = {
    merchantId,
    keyId,
    mode: 'test' as const,
    keyHash: hashOfKey(process.env.BENCH_API_KEY!),
    hint: 'sk_test_...',
    sealedSecret,
  };
  await service.core.merchantHandler.execute(
    merchantStream(merchantId),
    { type: 'IssueKey', key },
    { correlationId: 'bench', actor: 'operator' },
  );
  await service.core.directory.catchUp();
  return merchantId;
}

process.on('disconnect', () => {
  void service.close().finally(() => {
    if (kept === undefined)
      for (const folder of [dataDir, `${dataDir}-signer`]) rmSync(folder, { recursive: true, force: true });
    process.exit(0);
  });
});
process.send?.({ port: Number(new URL(service.baseUrl).port), merchantId });
