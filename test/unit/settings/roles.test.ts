import { expect, test } from 'vitest';
import { checkProductionConfig, startProduction } from '../../../src/composition/production.ts';
import { profileFaults } from '../../../src/settings/roles.ts';
import { snapshotSettings } from '../../../src/look-ups/snapshots/snapshots.ts';
import { readConfig } from '../../../src/config.ts';
import { createLogger } from '../../../src/observability/logger.ts';

const SHARED = { EVENTSTORE_URL: 'esdb://127.0.0.1:2113', REDIS_URL: 'redis://127.0.0.1:6379' };
const KEY = '0123456789abcdef'.repeat(4);
const PRODUCTION = { MASTER_KEY: '11'.repeat(32), PUBLIC_URL: 'https://pay.example', RATE_PROVIDERS: 'coinbase' };

test('the servers of the distributed profile are set together or not at all', () => {
  expect(profileFaults(readConfig({}))).toEqual([]);
  expect(profileFaults(readConfig(SHARED))).toEqual([]);
  for (const name of ['EVENTSTORE_URL', 'REDIS_URL'] as const)
    expect(profileFaults(readConfig({ [name]: SHARED[name] })).join()).toContain(
      'EVENTSTORE_URL and REDIS_URL belong together',
    );
});

test('roles can be split over processes only with shared stores', () => {
  for (const roles of ['api', 'worker', 'signer', 'worker,signer']) {
    expect(profileFaults(readConfig({ ...SHARED, ROLES: roles }))).toEqual([]);
    expect(profileFaults(readConfig({ ROLES: roles })).join()).toContain('the embedded store belongs to one process');
  }
  expect(profileFaults(readConfig({ ROLES: 'api,worker' }))).toEqual([]);
});

test('snapshots of look-ups are for processes that share an event log, and are sealed with a key that all of them have', () => {
  const LOOK_UP_SNAPSHOT_DIR = '/snapshots';
  expect(profileFaults(readConfig({ LOOK_UP_SNAPSHOT_DIR })).join()).toContain(
    'LOOK_UP_SNAPSHOT_DIR is for processes that share an event log',
  );
  expect(profileFaults(readConfig({ ...SHARED, LOOK_UP_SNAPSHOT_DIR }))).toEqual([]);
  const settings = (env: Record<string, string>) =>
    snapshotSettings(readConfig({ ...SHARED, LOOK_UP_SNAPSHOT_DIR, ...env }));
  expect(settings({ WEBHOOK_SECRETS_KEY: KEY, ROLES: 'worker' })).toMatchObject({
    folder: LOOK_UP_SNAPSHOT_DIR,
    everyMs: 21_600_000,
  });
  expect(settings({ ROLES: 'signer' })).toBeNull();
  expect(snapshotSettings(readConfig({ MASTER_KEY: KEY }))).toBeNull();
  expect(() => settings({ ROLES: 'api' })).toThrow(
    'LOOK_UP_SNAPSHOT_DIR: snapshots are sealed with WEBHOOK_SECRETS_KEY or MASTER_KEY',
  );
});

test('production accepts the servers of the distributed profile', () => {
  expect(() => checkProductionConfig(readConfig({ ...PRODUCTION, ...SHARED, ROLES: 'api' }), {})).not.toThrow();
  expect(() => checkProductionConfig(readConfig({ ...PRODUCTION, EVENTSTORE_URL: SHARED.EVENTSTORE_URL }), {})).toThrow(
    'belong together',
  );
  expect(() => checkProductionConfig(readConfig({ ...PRODUCTION, PUBLIC_URL: undefined }), { PUBLC_URL: 'x' })).toThrow(
    /PUBLIC_URL is missing[^]*PUBLC_URL is not a setting and has no effect: did you mean PUBLIC_URL\?/,
  );
  expect(() => checkProductionConfig(readConfig(PRODUCTION), { CRASH_AT: 'after-sign' })).toThrow(
    'CRASH_AT must not be set',
  );
});

test('a process without the role of the signer refuses keys, and takes them out of its environment', async () => {
  const env: Record<string, string | undefined> = { TEST_WALLET_MNEMONIC: 'a secret' };
  const config = readConfig({ ...PRODUCTION, ...SHARED, ROLES: 'api,worker' });
  await expect(startProduction(config, createLogger('silent'), env)).rejects.toThrow('keys do not belong here');
  expect(env).toEqual({});
});
