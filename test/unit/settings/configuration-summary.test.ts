import { expect, it } from 'vitest';
import { configurationSummary } from '../../../src/settings/configuration-summary.ts';
import { readConfig } from '../../../src/config.ts';

it('the summary of the configuration names hosts, roles and limits, and no secret', () => {
  const secrets = {
    MASTER_KEY: 'ab'.repeat(32),
    EVENTSTORE_URL: 'esdb://admin:hunter2@store:2113',
    REDIS_URL: 'redis://user:hunter2@redis:6379',
    ETHEREUM_RPC_URLS: 'https://eth.example/v3/apikey123,https://user:apikey123@other.example?key=apikey123',
    TRON_API_KEY: 'apikey123',
    AUDIT_WITNESS_URL: 'https://user:hunter2@witness.example',
    WALLET_XPUB_EVM: 'xpub-of-ours',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'https://user:hunter2@collector.example',
  };
  const summary = configurationSummary(
    readConfig({ ...secrets, ROLES: 'api,worker', PUBLIC_URL: 'https://pay.example', SECOND_SOURCE_FROM: '50' }),
  );
  const text = JSON.stringify(summary);
  for (const secret of ['abab', 'hunter2', 'apikey123', 'xpub-of-ours', 'store:2113'])
    expect(text).not.toContain(secret);
  expect(summary).toMatchObject({
    version: expect.stringMatching(/^\d+\.\d+/),
    roles: ['api', 'worker'],
    store: 'EventStoreDB and Redis',
    networks: { 'live:ethereum': ['eth.example', 'other.example'] },
    publicHost: 'pay.example',
    settings: { SECOND_SOURCE_FROM: '50', PORT: 8080 },
  });
});
